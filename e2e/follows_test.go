package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a task makes of a slice of an incremental one is there once, whatever was read again: a slice that was committed again
// replaces what was made of it, with --rerun and without, and one that was never read is added, with --rerun too.
func TestR66_AReaderOfAnIncrementalTask(t *testing.T) {
	t.Parallel()
	pipeline := fmt.Sprintf(growing, byFiles) + "  read:\n    inputs: {orders: {from: load.raw}, n: {format: csv, path: n.csv, columns: {n: bigint}}}\n" +
		"    transform: {copy: 'SELECT orders.* FROM orders, n'}\n    outputs: {copy: {format: parquet, path: lake/copy}}\n" +
		"  last:\n    inputs: {copy: {from: read.copy}}\n    outputs: {copy: {format: parquet, path: lake/last}}\n"
	const killed = "killed"
	fails, works := "n\nx\n", "n\n1\n"
	for name, test := range map[string]func(p *project, grow func(...string) result){
		"rerun of all": func(p *project, grow func(...string) result) { grow("--rerun").must(t, 0) },
		"a slice that was never read, by a rerun": func(p *project, grow func(...string) result) {
			p.land("b", 4, 2)
			p.write("n.csv", fails)
			grow().must(t, 4)
			p.write("n.csv", works)
			grow("--rerun").must(t, 0)
		},
		"a rerun that fails, and a plain start": func(p *project, grow func(...string) result) {
			p.write("n.csv", fails)
			grow("--rerun").must(t, 4)
			p.write("n.csv", works)
			grow().must(t, 0)
		},
		"a rerun that is killed, and a plain start": func(p *project, grow func(...string) result) {
			if r := grow(killed); r.exit != 137 {
				t.Errorf("exit %d: %s", r.exit, r.stderr)
			}
			grow().must(t, 0)
		},
	} {
		for _, batch := range [][]string{{}, {"--dt", "2026-01-01"}} {
			what := name + " " + strings.Join(batch, " ")
			p := newProject(t, pipeline)
			grow := func(more ...string) result {
				if slices.Contains(more, killed) {
					return p.runEnv([]string{"UBUNYE_FAULT=kill:~lake/orders"}, slices.Concat(growingArgs, batch, []string{"--rerun"})...)
				}
				return p.grow(append(more, batch...)...)
			}
			p.land("a", 1, 3)
			p.write("n.csv", works)
			grow().must(t, 0)
			test(p, grow)
			p.land("c", 6, 1)
			grow().must(t, 0)
			same(t, what+": rows of the reader", p.rows("lake/copy"), p.rows("lake/orders"))
			same(t, what+": rows of its reader", p.rows("lake/last"), p.rows("lake/orders"))
		}
	}
}

// A run that is accepted although a task has not read a slice says so, and the command that it names has it read.
func TestAcceptNamesASliceThatWasNotRead(t *testing.T) {
	p := newProject(t, fmt.Sprintf(growing, byFiles)+"  read:\n    inputs: {orders: {from: load.raw}, n: {format: csv, path: n.csv, columns: {n: bigint}}}\n"+
		"    transform: {copy: 'SELECT orders.* FROM orders, n'}\n    outputs: {copy: {format: parquet, path: lake/copy}}\n")
	p.land("a", 1, 3)
	p.write("n.csv", "n\nx\n")
	p.grow().must(t, 4)
	p.write("n.csv", "n\n1\n")
	r := p.run("state", "accept", "1", "-c", "pipeline.yaml", "--reason", "a test").must(t, 0)
	_, command, found := strings.Cut(r.stdout, "was not read by read, and no later run passes it on; to have it read, write it again before another start: ")
	if !found {
		t.Fatalf("accept says: %s", r.stdout)
	}
	command, _, _ = strings.Cut(command, "\n")
	p.shell(program, command).must(t, 0)
	same(t, "rows of the reader", p.rows("lake/copy"), p.rows("lake/orders"))
	p.wantLanded("rows", "a")
}
