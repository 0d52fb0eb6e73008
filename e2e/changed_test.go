package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
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

// R45, R65: a run that replaces the folder is killed after its exchange, and then the pipeline is changed. What it
// replaced is not appended to under any name of the output, because the batch's rows are there; and no run says that
// it replaces what it does not.
func TestR45WhatADeadOverwriteLeftIsNotAppendedTo(t *testing.T) {
	t.Parallel()
	appends := replacingPipeline("append")
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	model := newReplacing(t, "overwrite")
	ops := model.trace(first, dayArgs("2026-01-02")...)
	at := slices.IndexFunc(ops, func(op operation) bool { return op.Kind == "exchange" && strings.HasSuffix(op.To, "/lake/orders") })
	first(model)
	if r := model.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", ops[at].Number+1)}, dayArgs("2026-01-02")...); r.exit != 137 {
		t.Fatalf("not killed: %+v", r)
	}
	for what, pipeline := range map[string]string{"mode": appends, "mode and name": strings.Replace(appends, "      orders:\n", "      renamed:\n", 1)} {
		p := model.copy()
		p.write("pipeline.yaml", pipeline)
		for range 2 { // the first takes over, the second finds the batch free
			p.runDay("2026-01-02").must(t, 1).says(t, "ended before its commit", "would add the batch a second time", "--rerun")
			same(t, what+": rows after the refusal", p.rows("lake/orders"), p.want("3", "4"))
		}
		p.runDay("2026-01-02", "--rerun").must(t, 0)
		same(t, what+": rows that were asked for", p.rows("lake/orders"), p.want("3", "3", "4", "4"))
	}
	for what, pipeline := range map[string]string{"path": strings.Replace(replacingPipeline("overwrite"), "lake/orders", "lake/moved", 1), "ignore": replacingPipeline("ignore")} {
		p := model.copy()
		p.write("pipeline.yaml", pipeline)
		if r := p.runDay("2026-01-02").must(t, 0).says(t, "this run does not replace it, and the rows stay"); strings.Contains(r.stderr, "replaces it again") {
			t.Errorf("%s: %s", what, r.stderr)
		}
		same(t, what+": rows that the dead run left", p.rows("lake/orders"), p.want("3", "4"))
	}
}
