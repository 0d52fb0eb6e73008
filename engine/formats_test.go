package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// What is wrong with options and types is told by validate, plan and run alike, at the option itself and all at once, and
// before there is a ledger.
func TestOptionsAreCheckedWithThePlan(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	text := `name: p
variables: {sep: {type: text, required: true}}
tasks:
  t:
    inputs:
      a:
        format: csv
        path: none.csv
        options: {delimeter: ";", header: "{{ sep }}", decimal: "1"}
        columns: {id: bigintt, n: "decimal(18,2)", x: "{{ sep }}", d: interval}
      b: {from: u.b}
    outputs:
      a: {format: parquet, path: out, options: {compression: zstdd, compresion: zstd}}
      c: {from: a, format: csv, path: out2, options: {delimiter: "{{ sep }}"}}
      e: {from: a, format: parquett, path: out3, options: {any: x}}
  u:
    inputs: {b: {format: json, path: b.json, options: {layout: rows}}}
    outputs: {b: {format: json, path: out4}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := New(fsops.New(nil), nobody{})
	ctx := context.Background()
	_, looked := e.Validate(ctx, Options{File: file})
	given := Options{File: file}
	given.Vars = map[string]string{"sep": "no type"}
	_, planned := e.Plan(ctx, given)
	const valued = "with a value: "
	all := []string{
		`15:28: task t, output e: there is no writer for the format "parquett" (did you mean "parquet"?)`,
		`9:19: task t: input a: csv has no option delimeter (did you mean delimiter?)`,
		valued + `9:35: task t: input a: option header: "no type" is not true or false`,
		`9:56: task t: input a: option decimal: "1" is not one character, as , or .`,
		`10:19: task t: input a: column id: "bigintt" is not a type (did you mean bigint?)`,
		valued + `10:52: task t: input a: column x: "no type" is not a type (for example: bigint, varchar, decimal(18,2), date)`,
		`10:68: task t: input a: column d: text cannot be read as the type INTERVAL (declare it as varchar and convert it in a step)`,
		`13:69: task t, output a: options.compresion: the writer has no such option (did you mean "compression"?)`,
		`13:49: task t, output a: options.compression: "zstdd" is not one of its values (did you mean "zstd"?)`,
		valued + `14:55: task t, output c: options.delimiter: "no type" is too long: it wants at most 1 character`,
		`17:56: task u: input b: option layout: "rows" is not lines, array or auto`,
	}
	for _, c := range []struct {
		name  string
		err   error
		value bool
	}{{"validate", looked, false}, {"plan", planned, true}, {"run", e.Run(ctx, given), true}} {
		var want []string
		for _, line := range all {
			line, needs := strings.CutPrefix(line, valued)
			if !needs || c.value {
				want = append(want, file+":"+line)
			}
		}
		if c.err == nil || c.err.Error() != strings.Join(want, "\n") || problem.Exit(c.err) != problem.ExitUsage {
			t.Errorf("%s: exit %d:\n%v\nwant 2:\n%s", c.name, problem.Exit(c.err), c.err, strings.Join(want, "\n"))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
