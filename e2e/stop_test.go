package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// C064: a run that is told to stop at any of its changes ends in one of two ways: nothing of the batch is there and
// nobody holds it, or it is committed, has landed whole, and the run says that all is well.
func TestC064ToldToStopAtEveryOperation(t *testing.T) {
	t.Parallel()
	ops := newSales(t).trace(nil, dayArgs("2026-01-01")...)
	dropped, landed := 0, 0
	for k := 1; k <= len(ops); k++ {
		at := fmt.Sprintf("stop at %d (%v)", k, op(ops, k))
		p := newSales(t)
		q := p.start([]string{fmt.Sprintf("UBUNYE_FAULT=stop:%d", k)}, dayArgs("2026-01-01")...)
		if !q.waitStopped() {
			t.Fatalf("%s: it did not stop: %+v", at, q.wait())
		}
		q.signal(syscall.SIGTERM)
		q.signal(cont)
		r := q.wait()
		doc := p.document("clean_orders", "")
		if held(doc) {
			t.Fatalf("%s: the batch is still held: %s", at, r.stderr)
		}
		if committed(doc) {
			landed++
			r.must(t, 0)
			same(t, at+": files", p.dataFiles("lake/orders"), claims(doc))
		} else {
			dropped++
			r.must(t, 143).says(t, "interrupted")
			same(t, at+": files", p.files("lake"), nil)
		}
		same(t, at+": staging", p.dataFiles(".ubunye/staging"), nil)
		same(t, at+": temporary files", p.files(".ubunye/tmp"), nil)
	}
	t.Logf("%d operations: %d dropped, %d landed", len(ops), dropped, landed)
	if dropped == 0 || landed == 0 {
		t.Fatalf("%d dropped, %d landed", dropped, landed)
	}
}

// R02, R04, R60: starts of the same and of other batches, from two pipelines that share an output, all at once.
// Whoever reads the folder meanwhile sees whole rows, each at most once a pipeline, and no error.
func TestTwoPipelinesFillOneFolderUnderAReader(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.write("other.yaml", strings.Replace(salesPipeline, "name: sales", "name: returns", 1))
	p.write("landing/2026-01-03/a.csv", "id,dt,amount\n5,2026-01-03,50.00\n6,2026-01-03,60.00\n")
	days := []string{"2026-01-01", "2026-01-02", "2026-01-03"}
	want := map[string]bool{}
	for _, row := range p.salesRows(days...) {
		want[row] = true
	}
	exits := map[string]int{}
	running := map[*process]string{}
	for _, file := range []string{"pipeline.yaml", "other.yaml"} {
		for _, day := range days {
			for range 3 {
				running[p.start(nil, "run", "-c", file, "--dt", day)] = file + " " + day
			}
		}
	}
	for len(running) > 0 {
		seen := map[string]int{}
		for _, row := range p.rows("lake/orders") {
			if seen[row]++; !want[row] || seen[row] > 2 {
				t.Fatalf("a reader sees %s, %d times", row, seen[row])
			}
		}
		for q, name := range running {
			select {
			case <-q.done:
				delete(running, q)
				if r := q.wait(); r.exit == 0 {
					exits[name]++
				} else {
					r.must(t, 1).says(t, "refused")
				}
			default:
			}
		}
	}
	for name, won := range exits {
		if won != 1 {
			t.Errorf("%s: %d starts landed it", name, won)
		}
	}
	var twice []string
	for _, row := range p.salesRows(days...) {
		twice = append(twice, row, row)
	}
	same(t, "rows", p.rows("lake/orders"), twice)
	same(t, "runs that are left", p.files(".ubunye/runs"), nil)
}
