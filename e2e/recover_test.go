package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recovered is what ubunye recover --json prints, as far as tests look at it.
type recovered struct {
	Exists   bool
	SetAside *struct {
		Readable     bool
		Kept, Before string
		Document     string
		Missed       []string
		Finished     *struct{ Run string }
	} `json:"set_aside"`
	Batches []struct {
		Landed, Dropped int
		CommittedBy     string                `json:"committed_by"`
		TakenFrom       *struct{ Run string } `json:"taken_from"`
		Doubtful        []struct{ Output, Run string }
	}
	Held      []struct{ Run, Life string }
	Left      []struct{ Run, Do, Reason string }
	Forgotten []struct {
		Do    string
		Names []string
	}
	Stray []string
	Runs  []struct{ Run, Status, By string }
}

// statusOf is what ubunye status --json prints, as far as tests look at it.
type statusOf struct {
	Batches []struct {
		State string
		Held  *struct {
			Run, Life string
			Staged    []work
		}
		Todo     []work
		Doubtful []struct{ Output, Run string }
	}
	Recover string
}

type work struct {
	Do, Run, Stuck, Forget string
	Files                  int
}

func (p *project) recover(exit int, more ...string) (r recovered, said result) {
	p.t.Helper()
	said = p.run(append([]string{"recover", "-c", "pipeline.yaml", "--json"}, more...)...).must(p.t, exit)
	if err := json.Unmarshal([]byte(said.stdout), &r); err != nil {
		p.t.Fatalf("%v: %s", err, said.stdout)
	}
	return r, said
}

func (p *project) status() (s statusOf) {
	p.t.Helper()
	r := p.run("status", "-c", "pipeline.yaml", "--json").must(p.t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// record reads a run's record.
func (p *project) record(run string) (r struct {
	Status, By string
	Doubtful   []string
}) {
	p.t.Helper()
	data, err := os.ReadFile(p.path(".ubunye/runs/" + run + ".json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// R21, R29: a run is killed at its operations; recover does what status had listed, and nothing is left that a run would
// have to do. The rows are the batch's or none.
func TestR29RecoverDoesWhatStatusListed(t *testing.T) {
	t.Parallel()
	ops := newSales(t).trace(nil, dayArgs("2026-01-01")...)
	took, landed := 0, 0
	for k := 9; k <= len(ops); k += 4 {
		what := fmt.Sprintf("kill at %d (%s)", k, op(ops, k))
		p := newSales(t)
		if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, dayArgs("2026-01-01")...); r.exit != 137 {
			t.Fatalf("%s: %+v", what, r)
		}
		dead, files, drops := "", 0, 0
		for _, b := range p.status().Batches {
			if b.Held != nil {
				if b.Held.Life != "dead" {
					t.Fatalf("%s: %+v", what, b.Held)
				}
				dead, drops = b.Held.Run, drops+len(b.Held.Staged)
			}
			for _, w := range b.Todo {
				if w.Stuck != "" {
					t.Errorf("%s: %+v", what, w)
				}
				if w.Do == "land" {
					files += w.Files
				} else {
					drops++
				}
			}
		}
		did, said := p.recover(0)
		gotFrom, gotFiles, gotDrops := "", 0, 0
		for _, b := range did.Batches {
			if b.TakenFrom != nil {
				gotFrom = b.TakenFrom.Run
			}
			gotFiles, gotDrops = gotFiles+b.Landed, gotDrops+b.Dropped
		}
		if gotFrom != dead || gotFiles != files || gotDrops != drops || len(did.Left)+len(did.Held) > 0 {
			t.Fatalf("%s: status listed %q, %d, %d; recover: %s", what, dead, files, drops, said.stdout)
		}
		want := []string(nil)
		if doc := p.document("clean_orders", ""); committed(doc) {
			landed++
			want = p.salesRows("2026-01-01")
		} else if dead != "" {
			took++
			if r := p.record(dead); r.Status != "interrupted" || r.By == "" {
				t.Fatalf("%s: the record of the dead run: %+v", what, r)
			}
		}
		same(t, what+": rows", p.rows("lake/orders"), want)
		same(t, what+": staging", p.dataFiles(".ubunye/staging"), nil)
		if r := p.run("recover", "-c", "pipeline.yaml").must(t, 0); !strings.Contains(r.stdout, "nothing to do") && did.Exists {
			t.Fatalf("%s: again: %s", what, r.stdout)
		}
	}
	if took < 3 || landed < 2 {
		t.Fatalf("%d taken from dead runs, %d landed", took, landed)
	}
}

// R22: recover too names what a dead run had replaced without a commit, in its record and until the batch is run again.
func TestR22RecoverNamesDoubtfulOutputs(t *testing.T) {
	t.Parallel()
	p := newReplacing(t, "overwrite")
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	first(p)
	ops := newReplacing(t, "overwrite").trace(first, dayArgs("2026-01-02")...)
	at := 0
	for _, o := range ops {
		if o.Kind == "exchange" && strings.HasSuffix(o.To, "/lake/orders") {
			at = o.Number + 1
		}
	}
	if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", at)}, dayArgs("2026-01-02")...); r.exit != 137 {
		t.Fatalf("%+v", r)
	}
	did, said := p.recover(0)
	if len(did.Batches) != 1 || len(did.Batches[0].Doubtful) != 1 || did.Batches[0].Doubtful[0].Output != "orders" || did.Batches[0].TakenFrom == nil {
		t.Fatalf("%s", said.stdout)
	}
	dead := did.Batches[0].TakenFrom.Run
	if r := p.record(dead); r.Status != "interrupted" || len(r.Doubtful) != 1 || r.Doubtful[0] != "clean_orders.orders" {
		t.Fatalf("%+v", r)
	}
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	doubtful := func() int {
		n := 0
		for _, b := range p.status().Batches {
			n += len(b.Doubtful)
		}
		return n
	}
	if doubtful() != 1 {
		t.Fatal("status does not name it")
	}
	p.runDay("2026-01-02").must(t, 0)
	if doubtful() != 0 {
		t.Fatal("it is named although the batch was run again")
	}
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
}

// What a living run holds is left alone, unless a person says that it is dead: then it loses its work, and no row is
// doubled when it wakes up.
func TestRecoverAndALivingRun(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	if did, _ := p.recover(0); did.Exists || len(p.files(".ubunye")) > 0 {
		t.Fatal("recover made a ledger")
	}
	q := p.stopAtStaging()
	did, said := p.recover(0)
	if len(did.Held) != 1 || did.Held[0].Life != "alive" || len(did.Batches) > 0 {
		t.Fatal(said.stdout)
	}
	p.run("recover", "-c", "pipeline.yaml", "--dead", did.Held[0].Run+"x").must(t, 2).says(t, "knows nothing of a run")
	if did, said = p.recover(0, "--dead", did.Held[0].Run); len(did.Batches) != 1 || did.Batches[0].TakenFrom == nil {
		t.Fatal(said.stdout)
	}
	p.runDay("2026-01-01").must(t, 0)
	q.signal(cont)
	q.wait().must(t, 5)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

// pasted gives the command of a hint that calls recover with a flag.
func pasted(t *testing.T, text, flag string) string {
	t.Helper()
	m := regexp.MustCompile(`: (\S*ubunye\S* recover [^;()]*` + flag + ` [^ ;()]+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no command with %s in: %s", flag, text)
	}
	return m[1]
}

// R23, R32, R51: a file that can never land refuses its batch and no other. Status says why, and the command that it
// names gives it up, with its name.
func TestR23R32ForgetGivesUpWhatCannotLand(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	ops := newSales(t).trace(nil, dayArgs("2026-01-01")...)
	first := 0
	for _, o := range ops {
		if first == 0 && o.Kind == "rename" && strings.Contains(o.To, "/lake/orders/dt=") {
			first = o.Number
		}
	}
	if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", first)}, dayArgs("2026-01-01")...); r.exit != 137 {
		t.Fatalf("%+v", r)
	}
	name := claims(p.document("clean_orders", ""))[0]
	p.write("lake/orders/"+name+"/taken", "")
	s := p.status()
	if len(s.Batches) != 1 || len(s.Batches[0].Todo) != 1 || !strings.Contains(s.Batches[0].Todo[0].Stuck, "taken") {
		t.Fatalf("%+v", s)
	}
	r := p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "cannot be finished", name)
	p.runDay("2026-01-02").must(t, 0).says(t, "warning")
	did, said := p.recover(1)
	if len(did.Left) != 1 || did.Left[0].Do != "land" || !strings.Contains(said.stderr, `"reason":"WorkLeft"`) {
		t.Fatalf("%s%s", said.stdout, said.stderr)
	}
	command := pasted(t, r.stderr, "--forget")
	if command != s.Batches[0].Todo[0].Forget {
		t.Fatalf("%q, and status says %q", command, s.Batches[0].Todo[0].Forget)
	}
	if r := p.shell("/nowhere", command).must(t, 0); !strings.Contains(r.stdout, "given up") || !strings.Contains(r.stdout, name) {
		t.Fatal(r.stdout)
	}
	if err := os.RemoveAll(p.path("lake/orders/" + name)); err != nil {
		t.Fatal(err)
	}
	p.runDay("2026-01-01", "--rerun=anyway").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
}

// R10, R51: a damaged document is set aside by the command that the refusal names: what counts again is said, the
// damaged file is kept, and files that it may have claimed are named.
func TestR10SetAside(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.forged = true
	p.runDay("2026-01-01").must(t, 0)
	p.runDay("2026-01-01", "--rerun").must(t, 0)
	all, _ := filepath.Glob(p.path(".ubunye/batches/sales/clean_orders/*/*.json"))
	newest := all[len(all)-1]
	key := filepath.Base(filepath.Dir(newest))
	if did, _ := p.recover(0, "--set-aside", key); !did.SetAside.Readable {
		t.Fatalf("%+v", did)
	}
	p.run("recover", "-c", "pipeline.yaml", "--set-aside", "0123").must(t, 2).says(t, "no batch has the key")
	const bad = `{"format":1,"id":"0123456789abcdef0123456789abcdef","ancestors":[],"epoch":"seven"}`
	if err := os.WriteFile(newest, []byte(bad), 0o666); err != nil {
		t.Fatal(err)
	}
	command := pasted(t, p.runDay("2026-01-01").must(t, 1).says(t, newest).stderr, "--set-aside")
	if r := p.run("recover", "-c", "pipeline.yaml").must(t, 1); !strings.Contains(r.stderr, command) {
		t.Fatal(r.stderr)
	}
	p.write(".ubunye/runs/20260101T000000Z-00000000.json", fmt.Sprintf(`{"format":1,"run":"20260101T000000Z-00000000","pipeline":"sales","state":"","host":"elsewhere","machine":"",
		"boot":"","pidns":0,"pid":1,"started":"","since":"2026-01-01T00:00:00Z","batches":[{"pipeline":"sales","task":"clean_orders","variables":{},"profile":"","key":%q,"named":true}],"targets":[],"status":"running"}`, key))
	p.shell("/nowhere", command).must(t, 1).says(t, "run 20260101T000000Z-00000000", "host elsewhere")
	if err := os.Remove(p.path(".ubunye/runs/20260101T000000Z-00000000.json")); err != nil {
		t.Fatal(err)
	}
	r := p.shell("/nowhere", command).must(t, 0)
	for _, text := range []string{"counts again", "is kept as " + newest + ".damaged"} {
		if !strings.Contains(r.stdout, text) {
			t.Fatalf("no %q in %s", text, r.stdout)
		}
	}
	if data, err := os.ReadFile(newest + ".damaged"); err != nil || string(data) != bad {
		t.Fatalf("%s, %v", data, err)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	p.runDay("2026-01-01", "--rerun").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

// R10, R51: where no generation of a document can be used, the refusal says what is not known any more, and has the command by which the
// batch counts as new.
func TestR10NothingIsLeftToSetAside(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	all, _ := filepath.Glob(p.path(".ubunye/batches/sales/clean_orders/*/*.json"))
	for _, generation := range all {
		if err := os.WriteFile(generation, []byte("{"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := pasted(t, p.runDay("2026-01-01").must(t, 1).stderr, "--set-aside")
	said := p.shell("/nowhere", command).must(t, 1).says(t, filepath.Dir(all[0]), "look there first").stderr
	move := regexp.MustCompile(`by (mv [^()]*)\)`).FindStringSubmatch(said)
	if move == nil {
		t.Fatal(said)
	}
	if err := os.RemoveAll(p.path("lake/orders/dt=2026-01-01")); err != nil { // as a person who has looked
		t.Fatal(err)
	}
	p.shell("/nowhere", move[1]).must(t, 0)
	p.runDay("2026-01-01").must(t, 0)
	p.run("status", "-c", "pipeline.yaml").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

// R12: --wait queues behind a run that lives, and takes the batch over when that is killed meanwhile.
func TestR12WaitQueuesAndTakesOver(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		p := newSales(t)
		first := p.stopAtStaging()
		second := p.start(nil, dayArgs("2026-01-01", "--wait", "10m", "--json")...)
		p.awaitWaiting(second)
		exit := 1 // the first one lands it, so the second is refused as finished
		if kill {
			exit = 0
			first.signal(syscall.SIGKILL)
		} else {
			first.signal(cont)
		}
		first.wait()
		r := second.wait().must(t, exit)
		if !strings.Contains(r.stdout, `"event":"run_waiting"`) || kill != strings.Contains(r.stdout, `"event":"batch_taken"`) || kill == strings.Contains(r.stdout, `"reason":"BatchFinished"`) {
			t.Fatalf("kill %v: %s", kill, r.stdout)
		}
		same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	}
}

// awaitWaiting waits until a start's record says that it waits.
func (p *project) awaitWaiting(q *process) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-q.done:
			p.t.Fatalf("it did not wait: %+v", q.wait())
		case <-tick.C:
		}
		records, _ := filepath.Glob(p.path(".ubunye/runs/*.json"))
		for _, path := range records {
			if data, _ := os.ReadFile(path); strings.Contains(string(data), `"status":"waiting"`) {
				return
			}
		}
	}
}

// R12: who waited in vain is refused with a reason of its own; who is told to stop while waiting ends at once.
func TestR12WaitingEnds(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	first := p.stopAtStaging()
	before := p.files(".")
	p.runDay("2026-01-01", "--wait", "100ms").must(t, 1).says(t, "waiting up to 100ms", "refused", "waited", "nothing was read or written")
	if r := p.runDay("2026-01-01", "--wait", "1ms", "--json").must(t, 1); !strings.Contains(r.stdout, `"reason":"WaitTimedOut"`) {
		t.Fatal(r.stdout)
	}
	p.runDay("2026-01-01", "--wait", "soon").must(t, 2).says(t, "10m")
	for s, exit := range map[os.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		q := p.start(nil, dayArgs("2026-01-01", "--wait", "10m")...)
		p.awaitWaiting(q)
		told := time.Now()
		q.signal(s)
		q.wait().must(t, exit).says(t, "nothing was read or written")
		if took := time.Since(told); took > time.Second && !testing.Short() {
			t.Errorf("%v: it took %v to end", s, took)
		}
	}
	same(t, "files", p.files("."), before)
	r := p.runDay("2026-01-01").must(t, 1)
	command := regexp.MustCompile(`wait for it to end: (.* --wait=10m) ;`).FindStringSubmatch(r.stderr)
	if command == nil {
		t.Fatal(r.stderr)
	}
	first.signal(syscall.SIGKILL)
	first.wait()
	p.shell("/nowhere", command[1]).must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}
