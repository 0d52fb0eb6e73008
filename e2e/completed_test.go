package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// killedLanding starts a day and kills it before the first of its files has its final name: it has committed.
func (p *project) killedLanding(day string) {
	p.t.Helper()
	for k, o := range p.trace(func(*project) {}, dayArgs(day)...) {
		if o.Kind == "rename" && strings.HasSuffix(o.To, ".parquet") {
			p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k+1)}, dayArgs(day)...).must(p.t, 137)
			return
		}
	}
	p.t.Fatal("no file was landed")
}

// R30: a batch that a dead run had committed and could not say so counts as done, once, if nothing has changed since. A changed
// input, or another task, is an ordinary finished batch: refused.
func TestR30_CompletedIfNothingHasChanged(t *testing.T) {
	t.Parallel()
	const done, refused = "died before it could say so; nothing has changed since", "finished since"
	for _, c := range []struct {
		name   string
		change func(p *project)
		more   []string
		exit   int
		says   string
	}{
		{"nothing", func(*project) {}, nil, 0, done},
		{"another batch was started", func(p *project) { p.runDay("2026-01-02").must(t, 0) }, nil, 0, done},
		{"rerun", func(*project) {}, []string{"--rerun"}, 0, "done in"},
		{"an input has more rows", func(p *project) {
			p.write("landing/2026-01-01/a.csv", "id,dt,amount\n1,2026-01-01,10.00\n2,2026-01-01,20.50\n9007199254740993,2026-01-01,0.01\n5,2026-01-01,5.00\n")
		}, nil, 1, refused},
		{"an input was written again", func(p *project) {
			now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(p.path("landing/2026-01-01/a.csv"), now, now); err != nil {
				t.Error(err)
			}
		}, nil, 1, refused},
		{"there is another input", func(p *project) { p.write("landing/2026-01-01/b.csv", "id,dt,amount\n") }, nil, 1, refused},
		{"the input is gone", func(p *project) {
			if err := os.Remove(p.path("landing/2026-01-01/a.csv")); err != nil {
				t.Error(err)
			}
		}, nil, 1, refused},
		{"the task is another", func(p *project) {
			p.write("pipeline.yaml", strings.Replace(salesPipeline, "IS NOT NULL", "IS NOT NULL AND id > 1", 1))
		}, nil, 1, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newSales(t)
			p.killedLanding("2026-01-01")
			want := p.salesRows("2026-01-01")
			c.change(p)
			if plan := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01"); c.more == nil && (c.exit == 0) != strings.Contains(plan.stdout, "complete") {
				t.Errorf("plan says: %s%s", plan.stdout, plan.stderr)
			}
			r := p.runDay("2026-01-01", c.more...).must(t, c.exit)
			if !strings.Contains(r.stderr, c.says) {
				t.Errorf("it says: %s", r.stderr)
			}
			same(t, "rows", p.rowsOf("2026-01-01"), want)
			if r := p.runDay("2026-01-01").must(t, 1); !strings.Contains(r.stderr, refused) {
				t.Errorf("once more: %s", r.stderr)
			}
			same(t, "rows, once more", p.rowsOf("2026-01-01"), want)
		})
	}
}

// R30: also where the commit keeps how many rows were rejected, and what columns were found.
func TestR30_CompletedWithRejectsAndFoundColumns(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"rejects": `{format: csv, path: "in/{{ dt }}.csv", columns: {id: bigint, v: varchar}, rejects: bad}`,
		"columns": `{format: csv, path: "in/{{ dt }}.csv"}`,
	} {
		t.Run(name, func(t *testing.T) {
			bad := ""
			rows := "id,v\n1,a\n2,b\n"
			want := []string{`{"id": "1", "v": "a"}`, `{"id": "2", "v": "b"}`}
			if name == "rejects" {
				bad, rows = "\n      bad: {format: csv, path: lake/bad}", rows+"x,c\n"
			}
			p := newProject(t, "name: load\nvariables: {dt: {type: date, required: true}}\ntasks:\n  load:\n    inputs:\n      raw: "+raw+"\n    outputs:\n      raw: {format: parquet, path: lake/raw}"+bad+"\n")
			p.write("in/2026-01-01.csv", rows)
			p.killedLanding("2026-01-01")
			p.runDay("2026-01-01").must(t, 0).says(t, "nothing has changed since")
			same(t, "rows", p.rows("lake/raw"), want)
		})
	}
}

// R30: a commit whose files somebody removed, where they were staged or where they had landed, does not count as done:
// the start is refused, and the commands that the hints name write the rows again.
func TestR30_FilesThatAreGoneAreNotCompleted(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(p *project){
		"staged":              func(p *project) { os.RemoveAll(p.path(".ubunye/staging")) },
		"staged, and noticed": func(p *project) { os.RemoveAll(p.path(".ubunye/staging")); p.runDay("2026-01-02").must(p.t, 0) },
		"landed by another start": func(p *project) {
			p.runDay("2026-01-02").must(p.t, 0)
			os.RemoveAll(p.path("lake/orders/dt=2026-01-01"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSales(t)
			p.killedLanding("2026-01-01")
			want := p.salesRows("2026-01-01")
			remove(p)
			if r := p.runDay("2026-01-01").must(t, 1).says(t, "finished since", "--rerun"); strings.Contains(r.stderr, "left to be removed") {
				t.Errorf("it says that it removed something: %s", r.stderr)
			}
			p.runDay("2026-01-01", "--rerun").must(t, 1).says(t, "are gone", "--rerun=anyway")
			p.runDay("2026-01-01", "--rerun", "--rerun=anyway").must(t, 0)
			same(t, "rows", p.rowsOf("2026-01-01"), want)
		})
	}
}

// R30: so with a folder that a committed run had replaced and somebody removed: the start writes it again.
func TestR30_AReplacedFolderThatIsGoneIsNotCompleted(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		p := newReplacing(t, "overwrite")
		p.runEnv([]string{"UBUNYE_FAULT=kill:~/orders.drop"}, dayArgs("2026-01-01")...).must(t, 137)
		if doc := p.document("clean_orders", "2026-01-01"); !committed(doc) {
			t.Fatal("killed before its commit")
		}
		if gone {
			os.RemoveAll(p.path("lake/orders"))
		}
		r := p.runDay("2026-01-01").must(t, 0)
		same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
		if strings.Contains(r.stderr, "nothing has changed since") == gone {
			t.Errorf("gone %v: %s", gone, r.stderr)
		}
	}
}

// R30: a ledger that was moved away from the outputs lands what was committed where the same words lead from there; that is
// not where the task writes, so it does not count as done.
func TestR30_WhatLandsElsewhereIsNotCompleted(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.killedLanding("2026-01-01")
	if err := os.MkdirAll(p.path("state/of"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.path(".ubunye"), p.path("state/of/ledger")); err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(salesPipeline, "tasks:\n", "ledger: {path: state/of/ledger}\ntasks:\n", 1)
	if moved == salesPipeline {
		t.Fatal("the pipeline is as it was")
	}
	p.write("pipeline.yaml", moved)
	p.runDay("2026-01-01").must(t, 1)
}

// R30: with --json it is an event, and the exit code is that of a run which did it all.
func TestR30_CompletedIsAnEvent(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.killedLanding("2026-01-01")
	r := p.runDay("2026-01-01", "--json").must(t, 0)
	if n := strings.Count(r.stdout, `"event":"task_completed"`); n != 1 || strings.Contains(r.stdout, "task_started") || !strings.Contains(r.stdout, `"exit":0`) {
		t.Errorf("%d events in %s", n, r.stdout)
	}
}
