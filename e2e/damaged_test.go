package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damages are the shapes in which people have found files that a power cut, another program or a hand had been at.
func damages(good string) map[string]string {
	return map[string]string{
		"empty": "", "cut": good[:len(good)/2], "zeros": strings.Repeat("\x00", len(good)), "a list": "[]", "null": "null", "no fields": "{}",
		"another shape": `{"lock":{"host":"a","pid":1}}`, "trailing garbage": good + "x", "byte order mark": "\xef\xbb\xbf" + good,
		"newer": strings.Replace(good, `"format":1`, `"format":2`, 1),
	}
}

// C106, R10: a document in whatever damaged shape refuses the run, by its name, and stays as it is.
func TestC106R10ADamagedDocumentIsRefusedByName(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	generations, _ := filepath.Glob(p.path(".ubunye/batches/sales/clean_orders/*/*.json"))
	p.forged = true
	newest := generations[len(generations)-1]
	good := string(must(os.ReadFile(newest)))
	rows := p.dataFiles("lake")
	refused := func(name string) {
		t.Helper()
		for _, more := range [][]string{nil, {"--rerun"}} {
			r := p.runDay("2026-01-01", more...)
			if r.exit != 1 || !strings.Contains(r.stderr, newest) {
				t.Errorf("%s %v: exit %d, stderr %s", name, more, r.exit, r.stderr)
			}
		}
		same(t, name+": data", p.dataFiles("lake"), rows)
	}
	for name, bad := range damages(good) {
		if bad == good {
			t.Fatalf("%s: the document was not changed", name)
		}
		if err := os.WriteFile(newest, []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		refused(name)
		if now := string(must(os.ReadFile(newest))); now != bad {
			t.Errorf("%s: the evidence was overwritten", name)
		}
	}
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(newest, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("a folder of its name")
	if info, err := os.Stat(newest); err != nil || !info.IsDir() {
		t.Errorf("a folder of its name: %v, %v", info, err)
	}
}

// C106: so does one that may not be read. Whoever runs these tests may be root, so the program is started without the right
// to read what it may not.
func TestC106_ADocumentThatMayNotBeRead(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	p.forged = true
	generations, _ := filepath.Glob(p.path(".ubunye/batches/sales/clean_orders/*/*.json"))
	newest := generations[len(generations)-1]
	if err := os.Chmod(newest, 0); err != nil {
		t.Fatal(err)
	}
	before := p.files(".")
	unprivileged := []string{}
	if os.Getuid() == 0 {
		unprivileged = []string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search"}
	}
	args := append(append(unprivileged, program), dayArgs("2026-01-01", "--rerun")...)
	p.launch(nil, args[0], args[1:]...).wait().must(t, 1).oneLine(t).says(t, newest, "permission denied")
	same(t, "files", p.files("."), before)
}

// C106: the other files that a start relies upon: the ledger's id, a run's record, the target file of an output. Nothing is
// written on the strength of one that cannot be read.
func TestC106_OtherDamagedFiles(t *testing.T) {
	for _, c := range []struct{ name, file string }{
		{"the ledger's id", ".ubunye/id"}, {"the target file", "lake/orders/_ubunye-target"}, {"a record of a run that replaces", ".ubunye/runs/*.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newReplacing(t, "overwrite")
			p.forged = true
			p.runDay("2026-01-01").must(t, 0)
			if strings.Contains(c.file, "*") {
				q := p.start([]string{frozenStaging}, dayArgs("2026-01-01")...)
				if !q.waitStopped() {
					t.Fatalf("it did not stop: %+v", q.wait())
				}
			}
			found, _ := filepath.Glob(p.path(c.file))
			if len(found) != 1 {
				t.Fatalf("%s: %v", c.file, found)
			}
			good := string(must(os.ReadFile(found[0])))
			data := p.dataFiles("lake")
			for shape, bad := range damages(good) {
				if bad == good {
					continue // it has no format to be newer
				}
				if err := os.WriteFile(found[0], []byte(bad), 0o666); err != nil {
					t.Fatal(err)
				}
				r := p.runDay("2026-01-02")
				if r.exit != 1 || !strings.Contains(r.stderr, found[0]) {
					t.Errorf("%s: exit %d: %s", shape, r.exit, r.stderr)
				}
				same(t, shape+": data", p.dataFiles("lake"), data)
				if now, _ := os.ReadFile(found[0]); string(now) != bad {
					t.Errorf("%s: the evidence was overwritten: %q", shape, now)
				}
			}
		})
	}
}

// R10, R51: what a damaged record stands in the way of goes on when the commands that the refusal names are pasted; what
// its run had committed lands.
func TestR51_ADamagedRecordIsGivenUp(t *testing.T) {
	for name, damage := range map[string]func(record string) error{
		"emptied": func(record string) error { return os.Truncate(record, 0) },
		"removed": os.Remove, // and the heartbeat stays
	} {
		t.Run(name, func(t *testing.T) {
			p := newSales(t)
			p.killedLanding("2026-01-01")
			p.forged = true
			records, _ := filepath.Glob(p.path(".ubunye/runs/*.json"))
			if len(records) != 1 {
				t.Fatal(records)
			}
			if err := damage(records[0]); err != nil {
				t.Fatal(err)
			}
			r := p.runDay("2026-01-02").must(t, 1).says(t, strings.TrimSuffix(records[0], ".json"))
			_, hint, _ := strings.Cut(r.stderr, "has certainly ended: ")
			remove, rest, ok := strings.Cut(hint, " ; then ")
			recover, _, closed := strings.Cut(rest, " finishes what it left")
			if !ok || !closed {
				t.Fatalf("no commands in %s", r.stderr)
			}
			p.shell(t.TempDir(), remove).must(t, 0)
			p.shell(t.TempDir(), recover).must(t, 0)
			p.runDay("2026-01-02").must(t, 0)
			same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
		})
	}
}
