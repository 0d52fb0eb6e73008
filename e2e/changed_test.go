package e2e

import (
	"os"
	"testing"
	"time"
)

// A file that changes after a task has opened it and before its rows are written: what was read is not
// one state of the file, so nothing of it may land.
func TestAnInputThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	const more = "id,dt,amount\n1,2026-01-01,10.00\n4,2026-01-01,40.00\n"
	for name, change := range map[string]func(p *project, path string) error{
		"longer":      func(p *project, path string) error { p.write("landing/2026-01-01/a.csv", more); return nil },
		"cut":         func(p *project, path string) error { return os.Truncate(path, 32) }, // after a whole line
		"empty":       func(p *project, path string) error { return os.Truncate(path, 0) },
		"removed":     func(p *project, path string) error { return os.Remove(path) },
		"same length": func(p *project, path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) },
		"replaced": func(p *project, path string) error {
			p.write("new", more)
			return os.Rename(p.path("new"), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSales(t)
			p.runDay("2026-01-02").must(t, 0)
			before := p.files("lake")
			run := p.stopAtStaging() // the input is open, and nothing is encoded yet
			path := p.path("landing/2026-01-01/a.csv")
			if err := change(p, path); err != nil {
				t.Fatal(err)
			}
			run.signal(cont)
			run.wait().must(t, 4).says(t, path, "task clean_orders", "raw", "nothing became visible")
			same(t, "lake", p.files("lake"), before)
			if doc := p.document("clean_orders", "2026-01-01"); held(doc) || committed(doc) {
				t.Fatalf("held %v, committed %v", held(doc), committed(doc))
			}
			p.write("landing/2026-01-01/a.csv", more)
			p.runDay("2026-01-01").must(t, 0)
			same(t, "rows", p.rowsOf("2026-01-01"), p.salesRows("2026-01-01"))
		})
	}
}
