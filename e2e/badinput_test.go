package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// badPipeline reads in.csv, or whatever a test puts in its place.
const badPipeline = `name: bad
tasks:
  load:
    inputs:
      raw:
        format: csv
        path: in.csv
        columns: {id: bigint, txt: varchar, amount: "decimal(9,2)"}
    transform:
      orders: SELECT * FROM raw
    outputs:
      orders:
        format: parquet
        path: lake/orders
`

const goodCSV = "id,txt,amount\n1,a,1.00\n2,b,2.00\n"

func compressed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// manyLines is a CSV file whose line 100000 is the one given.
func manyLines(line string) string {
	var b strings.Builder
	b.WriteString("id,txt,amount\n")
	for i := 2; i < 100_000; i++ {
		fmt.Fprintf(&b, "%d,x,1.00\n", i)
	}
	b.WriteString(line + "\n")
	return b.String()
}

// Every kind of bad input gets one line that names the place, makes nothing visible and leaves nothing staged.
func TestBadInput(t *testing.T) {
	long := manyLines("7,x,much")
	cut := compressed(t, long)
	for _, tt := range []struct {
		name    string
		replace []string          // in the pipeline: old, new, old, new …
		files   map[string]string // beside the pipeline; in.csv is good without
		args    []string
		exit    int
		at      string // the place that the line begins with, below the project's folder when it is a data file
		data    bool   // at names a data file, by its whole path
		says    []string
	}{
		{name: "input missing", replace: []string{"in.csv", "nowhere/in.csv"}, exit: 4, at: "pipeline.yaml:7:15",
			says: []string{"input raw", "nowhere/in.csv", "no such file", "nowhere does not exist", "nothing became visible"}},
		{name: "glob without a match", replace: []string{"in.csv", "in-*.csv"}, exit: 4, at: "pipeline.yaml:7:15",
			says: []string{"input raw", "in-*.csv", "no file matches", "nothing became visible"}},
		{name: "glob that is no pattern", replace: []string{"in.csv", `"in[.csv"`}, exit: 2, at: "pipeline.yaml:7:15",
			says: []string{"in[.csv", "close the bracket"}},
		{name: "unknown key at the top", replace: []string{"name: bad", "name: bad\nledgr: {path: x}"}, exit: 2, at: "pipeline.yaml:2:1",
			says: []string{`unknown key "ledgr"`, `did you mean "ledger"?`}},
		{name: "unknown key of an input", replace: []string{"        path: in.csv", "        path: in.csv\n        onempty: ok"}, exit: 2, at: "pipeline.yaml:8:9",
			says: []string{`unknown key "onempty" in tasks.load.inputs.raw`, `did you mean "on_empty"?`}},
		{name: "unknown key of an output", replace: []string{"        path: lake/orders", "        path: lake/orders\n        moed: append"}, exit: 2, at: "pipeline.yaml:15:9",
			says: []string{`unknown key "moed" in tasks.load.outputs.orders`, `did you mean "mode"?`}},
		{name: "undefined variable in a template", replace: []string{"in.csv", `"{{ dt }}/in.csv"`}, exit: 2, at: "pipeline.yaml:7:19",
			says: []string{`there is no variable "dt"`, "declare it under variables"}},
		{name: "undefined variable in SQL", replace: []string{"FROM raw", "FROM raw WHERE id = $dt"}, exit: 2, at: "pipeline.yaml:10:15",
			says: []string{"step orders", "the variable $dt is not defined"}},
		{name: "undefined variable on the command line", args: []string{"--dt", "2026-01-01"}, exit: 2, at: "--dt",
			says: []string{`the pipeline has no variable "dt"`}},
		{name: "column type that does not exist", replace: []string{"txt: varchar", "txt: varchr"}, exit: 2, at: "pipeline.yaml:8:31",
			says: []string{"column txt", `"varchr" is not a type`, "varchar"}},
		{name: "value in the first line", files: map[string]string{"in.csv": "id,txt,amount\none,a,1.00\n"}, exit: 4, at: "in.csv:2", data: true,
			says: []string{"input raw", "column id", `"one" is not a BIGINT`, "nothing became visible"}},
		{name: "value in line 100000", files: map[string]string{"in.csv": long}, exit: 4, at: "in.csv:100000", data: true,
			says: []string{"column amount", `"much" is not a DECIMAL(9,2)`}},
		{name: "value in a gz file", replace: []string{"in.csv", "in.csv.gz"}, files: map[string]string{"in.csv.gz": cut}, exit: 4, at: "in.csv.gz:100000", data: true,
			says: []string{"column amount", `"much" is not a DECIMAL(9,2)`}},
		{name: "value after line ends within quotes", files: map[string]string{"in.csv": "id,txt,amount\n1,\"a\nb\nc\",1.00\n2,\"d\r\ne\",1.005\n"}, exit: 4, at: "in.csv:6", data: true,
			says: []string{"column amount", `"1.005" is not a DECIMAL(9,2)`}},
		{name: "value in the second file", replace: []string{"in.csv", "in*.csv"}, files: map[string]string{"in2.csv": "id,txt,amount\n3,c,3.00\n4,d,-\n"}, exit: 4, at: "in2.csv:3", data: true,
			says: []string{"column amount", `"-" is not a DECIMAL(9,2)`}},
		{name: "gz file that is cut short", replace: []string{"in.csv", "in.csv.gz"}, files: map[string]string{"in.csv.gz": compressed(t, manyLines("7,x,1.00"))[:50_000]}, exit: 4, at: "in.csv.gz", data: true,
			says: []string{"input raw", "gzip data is cut short", "nothing became visible"}},
		{name: "header that is another", files: map[string]string{"in.csv": "id,text,amount\n1,a,1.00\n"}, exit: 4, at: "in.csv:1", data: true,
			says: []string{"it has no column txt", `"text"`}},
		{name: "header in UTF-16", files: map[string]string{"in.csv": "\xff\xfei\x00d\x00\n\x00"}, exit: 4, at: "in.csv", data: true,
			says: []string{"it is UTF-16", "encoding to utf-16"}},
		{name: "header that a terminal would obey", files: map[string]string{"in.csv": "id,\x1b[2Jtxt,amount\n"}, exit: 4, at: "in.csv:1", data: true,
			says: []string{"(the file has: id,  [2Jtxt, amount)"}},
		{name: "header that is not UTF-8", files: map[string]string{"in.csv": "id,\xfe,amount\n"}, exit: 4, at: "in.csv:1", data: true,
			says: []string{"not UTF-8: the byte 0xfe at byte offset 3", "option encoding"}},
		{name: "SQL that is wrong", replace: []string{"SELECT * FROM raw", "SELEC * FROM raw"}, exit: 2, at: "pipeline.yaml:10:15",
			says: []string{"step orders", "syntax error"}},
		{name: "SQL with a comma within braces", replace: []string{"    transform:\n      orders: SELECT * FROM raw", "    transform: {orders: SELECT id, txt FROM raw}"}, exit: 2, at: "pipeline.yaml:9:36",
			says: []string{`"txt FROM raw" in tasks.load.transform`, "a comma ends a value within { }: quote SQL"}},
		{name: "hour that does not exist", replace: []string{"name: bad", "name: bad\nvariables: {dt: hour}"}, args: []string{"--dt", "2026-01-01T24"}, exit: 2, at: "--dt",
			says: []string{`"2026-01-01T24" is not an hour that exists`}},
		{name: "value that fails in SQL", replace: []string{"SELECT *", "SELECT CAST(txt AS INT) AS n"}, exit: 4, at: "pipeline.yaml:10:15",
			says: []string{"step orders", "'a'", "nothing became visible"}},
		{name: "output that a file is in the way of", replace: []string{"path: lake/orders", "path: pipeline.yaml/orders"}, exit: 4, at: "pipeline.yaml:14:15",
			says: []string{"output orders", "pipeline.yaml/orders", "not a directory", "a file is where a folder must be", "nothing became visible"}},
		{name: "ledger that a file is in the way of", replace: []string{"name: bad", "name: bad\nledger: {path: in.csv/ledger}"}, exit: 1, at: "pipeline.yaml:2:16",
			says: []string{"refused", "in.csv/ledger", "not a directory"}},
		{name: "plugin missing", replace: []string{"format: parquet", "format: parqet"}, exit: 2, at: "pipeline.yaml:13:17",
			says: []string{"task load, output orders", `no writer for the format "parqet"`, `did you mean "parquet"?`}},
		{name: "partition column missing", replace: []string{"        path: lake/orders", "        path: lake/orders\n        partition_by: [day]"}, exit: 2, at: "pipeline.yaml:12:7",
			says: []string{"output orders", `"day"`, "id, txt, amount"}},
		{name: "partition value too long", replace: []string{"        path: lake/orders", "        path: lake/orders\n        partition_by: [txt]", "SELECT *", "SELECT id, repeat(txt, 300) AS txt"}, exit: 4, at: "pipeline.yaml:12:7",
			says: []string{"column txt", "304 bytes, and 255 is the most"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pipeline := badPipeline
			for i := 0; i < len(tt.replace); i += 2 {
				if !strings.Contains(pipeline, tt.replace[i]) {
					t.Fatalf("the pipeline has no %q", tt.replace[i])
				}
				pipeline = strings.ReplaceAll(pipeline, tt.replace[i], tt.replace[i+1])
			}
			p := newProject(t, pipeline)
			p.write("in.csv", goodCSV)
			for name, text := range tt.files {
				p.write(name, text)
			}
			before := p.visible()
			r := p.run(append([]string{"run", "-c", "pipeline.yaml"}, tt.args...)...).must(t, tt.exit)
			if r.stdout != "" {
				t.Errorf("stdout: %s", r.stdout)
			}
			at := tt.at
			if tt.data {
				at = p.path(at)
			}
			told := complaint(t, r)
			if at != "" && !strings.HasPrefix(told, "ubunye: "+at+":") {
				t.Errorf("the line does not begin with %s: %s", at, told)
			}
			result{stderr: told}.says(t, tt.says...)
			same(t, "what is visible", p.visible(), before)
			if staged := p.files(".ubunye/staging"); len(staged) != 0 {
				t.Errorf("staged files are left: %v", staged)
			}
			if doc := p.document("load", ""); held(doc) || committed(doc) {
				t.Errorf("the batch is %v", doc)
			}
		})
	}
}

// visible is all that lies in the project outside its ledger.
func (p *project) visible() []string {
	var names []string
	for _, name := range p.files(".") {
		if !strings.HasPrefix(name, ".ubunye/") {
			names = append(names, name)
		}
	}
	return names
}

// complaint is the one line of stderr that is not about the course of a task.
func complaint(t *testing.T, r result) string {
	t.Helper()
	var told []string
	for line := range strings.Lines(r.stderr) {
		if line != "load: started\n" {
			told = append(told, line)
		}
	}
	if len(told) != 1 || !strings.HasSuffix(told[0], "\n") {
		t.Fatalf("want one line beside the task's:\n%s", r.stderr)
	}
	return told[0]
}

func TestWrongCommandLine(t *testing.T) {
	p := newProject(t, badPipeline)
	for _, tt := range []struct{ args, says string }{
		{"runn", `there is no command "runn" (did you mean "run"?)`},
		{"nothing", `there is no command "nothing"`},
		{"run", "no pipeline file is named"},
		{"run -c nowhere.yaml", "nowhere.yaml: the pipeline file cannot be read: no such file"},
		{"run -c pipeline.yaml --rerun anyway", `takes flags only, not the word "anyway"`},
		{"run -c pipeline.yaml --rerun=never", "write --rerun or --rerun=anyway"},
		{"run -c pipeline.yaml --rerrun", "unknown flag: --rerrun"},
		{"run -c pipeline.yaml --threads many", `--threads: "many" is not a whole number`},
		{"run -c pipeline.yaml --memory lots", `--memory: engine.memory: "lots" is not a size with its unit`},
		{"run -c pipeline.yaml --var dt", "--var dt has no value"},
		{"run -c pipeline.yaml --task laod", `the pipeline has no task of that name (did you mean "load"?)`},
		{"run -c pipeline.yaml --profile prod", "--profile prod: the pipeline has no profile of that name"},
		{"show -c pipeline.yaml --limit few", `--limit: "few" is not a whole number`},
	} {
		r := p.run(strings.Fields(tt.args)...).must(t, 2).oneLine(t).says(t, tt.says)
		if r.stdout != "" {
			t.Errorf("%s: stdout: %s", tt.args, r.stdout)
		}
	}
	same(t, "files", p.files("."), []string{"pipeline.yaml"})
}

// The hint of a refusal can be pasted: it names the program as it was typed, and quotes what a shell would split.
func TestTheHintNamesTheProgramAsTyped(t *testing.T) {
	p := newSales(t)
	p.write("my pipelines/it's.yaml", strings.ReplaceAll(salesPipeline, "landing/", "../landing/"))
	if err := os.Symlink(filepath.Dir(program), p.path("my bin")); err != nil {
		t.Fatal(err)
	}
	line := `'my bin/` + filepath.Base(program) + `' run -c 'my pipelines/it'\''s.yaml' --dt 2026-01-01`
	p.shell("/nowhere", line).must(t, 0)
	p.shell("/nowhere", line).must(t, 1).oneLine(t).says(t, "to replace it: "+line+" --rerun ")
	r := p.shell("/nowhere", line+" --rerun").must(t, 0)
	if !strings.Contains(r.stdout, "replacing 1 file") {
		t.Errorf("stdout: %s", r.stdout)
	}
}

// Whoever reads the output may go away at any time, as head does: the run goes on to its end.
func TestReaderOfTheOutputGoesAway(t *testing.T) {
	p := newSales(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	cmd := exec.CommandContext(t.Context(), program, dayArgs("2026-01-01")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, write, write
	cmd.Env = []string{"HOME=" + p.home, "XDG_CACHE_HOME=" + filepath.Join(p.home, ".cache")}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	if doc := p.document("clean_orders", ""); held(doc) || !committed(doc) {
		t.Errorf("the batch is %v", doc)
	}
	same(t, "records of runs", p.files(".ubunye/runs"), nil)
}

// A result that could not be printed is an error, whatever was done.
func TestResultThatCannotBePrinted(t *testing.T) {
	p := newSales(t)
	r := p.shell(filepath.Dir(program), filepath.Base(program)+" status -c pipeline.yaml >/dev/full").must(t, 4).oneLine(t)
	r.says(t, "the result could not be printed", "no space left on device")
}

// A signal ends all tasks: it is told once, no task begins any more, and every batch is given back.
func TestSignalWithTasksToCome(t *testing.T) {
	p := newProject(t, threeTasks)
	p.write("in.csv", "id\n1\n")
	q := p.start([]string{"UBUNYE_FAULT=stop:~/.ubunye/staging/2"}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	q.signal(syscall.SIGTERM)
	q.signal(cont)
	r := q.wait().must(t, 143)
	var lines []string
	for line := range strings.Lines(r.stderr) {
		before, _, _ := strings.Cut(line, ";")
		lines = append(lines, strings.TrimSpace(before))
	}
	same(t, "stderr", lines, []string{"c dt=2026-01-01: started", "ubunye: task c: interrupted by SIGTERM"})
	for _, task := range []string{"c", "a", "b"} {
		doc := p.document(task, "")
		if held(doc) || committed(doc) {
			t.Errorf("task %s: the batch is %v", task, doc)
		}
	}
	same(t, "staged files", p.files(".ubunye/staging"), nil)
	same(t, "output folders", p.files("lake"), nil)
}

// While the files that a rerun replaces cannot be removed, readers see both; the message says so, and the next start
// removes them.
func TestReplacedFilesThatCannotBeRemoved(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	old := p.dataFiles("lake/orders")
	r := p.start([]string{"UBUNYE_FAULT=enospc:~" + filepath.Base(old[0])}, dayArgs("2026-01-01", "--rerun")...).wait().must(t, 4)
	r.says(t, "task clean_orders, output orders", "is committed and landed", "could not be removed", "readers see the old rows beside the new ones", "every start of the pipeline tries again")
	if now := p.dataFiles("lake/orders"); len(now) != 2 {
		t.Fatalf("files: %v", now)
	}
	p.runDay("2026-01-01").must(t, 0).says(t, "continuing run 2 as attempt 2", "nothing is left to be done")
	p.runDay("2026-01-01").must(t, 1).says(t, "finished")
	if now := p.dataFiles("lake/orders"); len(now) != 1 || now[0] == old[0] {
		t.Errorf("files %v, were %v", now, old)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

// C061: a file that grows while it is read may have been read in part: nothing of it lands.
func TestC061_InputThatChangesWhileItIsRead(t *testing.T) {
	p := newSales(t)
	q := p.stopAtStaging() // the input has been opened, its rows have not been read
	file := p.path("landing/2026-01-01/a.csv")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.write("landing/2026-01-01/a.csv", string(text)+"4,2026-01-01,40.00\n")
	q.signal(cont)
	r := q.wait().must(t, 4).says(t, file+": task clean_orders: input raw: it changed while the task read it: ")
	if left := p.files("lake"); r.stdout != "" || len(left) != 0 {
		t.Fatalf("stdout %q, left %v", r.stdout, left)
	}
	p.runDay("2026-01-01").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}
