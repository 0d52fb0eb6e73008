package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// built copies a file that `make` has built into the project, and gives its SHA-256.
func (p *project) built(from, to string) string {
	p.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		p.t.Fatalf("%v: `make test` builds it", err)
	}
	p.write(to, string(data))
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

const (
	builtinModule    = "../.build/builtin.wasm"
	fixedWidthModule = "../configs/fixedwidth/fixedwidth.wasm"
)

func hostileModule(name string) string { return "../.build/hostile/" + name + ".wasm" }

// The module of a built-in writer, loaded as a file under another name, lands the same rows in as many files.
func TestABuiltinAsAThirdPartysFile(t *testing.T) {
	ours := newSales(t)
	ours.runDay("2026-01-01").must(t, 0)
	theirs := newSales(t)
	digest := theirs.built(builtinModule, "plugins/mine.wasm")
	theirs.write("pipeline.yaml", strings.Replace(salesPipeline, "format: parquet", "format: mine", 1)+
		"plugins: {mine: {path: plugins/mine.wasm, sha256: "+digest+", writer: parquet}}\n")
	theirs.runDay("2026-01-01").must(t, 0)
	same(t, "rows", theirs.rows("lake/orders"), ours.rows("lake/orders"))
	if got, want := len(theirs.dataFiles("lake/orders")), len(ours.dataFiles("lake/orders")); got != want || want == 0 {
		t.Errorf("%d files and folders, the built-in makes %d", got, want)
	}
	theirs.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "is finished")
	theirs.runDay("2026-01-01", "--rerun").must(t, 0)
	same(t, "rows after the rerun", theirs.rows("lake/orders"), ours.rows("lake/orders"))
}

// A plugin under a built-in's name stands in its place.
func TestAPluginReplacesABuiltin(t *testing.T) {
	p := newSales(t)
	digest := p.built(hostileModule("reports"), "mine.wasm")
	p.write("pipeline.yaml", salesPipeline+"plugins: {parquet: {path: mine.wasm, sha256: "+digest+"}}\n")
	p.runDay("2026-01-01").must(t, 4).says(t, "task clean_orders, output orders: plugin parquet: plan: no [1mgood [0m today at all", "(try tomorrow)")
}

func TestPluginsThatAreRefused(t *testing.T) {
	p := newSales(t)
	pipeline := func(format, plugin string) {
		p.write("pipeline.yaml", strings.Replace(salesPipeline, "format: parquet", "format: "+format, 1)+"plugins:\n  mine: {"+plugin+"}\n")
	}
	fixed := p.built(fixedWidthModule, "fixed.wasm")
	database := p.built(hostileModule("wants-sql"), "database.wasm")
	table := p.built(hostileModule("numbered"), "numbered.wasm")
	wrong := strings.Repeat("0", 64)
	for _, c := range []struct{ what, format, plugin, says string }{
		{"no digest", "mine", "path: fixed.wasm", "pipeline.yaml:19:3: plugins.mine has no sha256: what a plugin decides is trusted with the data, " +
			"so the file must be the one that was meant (for the file that is there now, write sha256: " + fixed + ")"},
		{"another digest", "mine", "path: fixed.wasm, sha256: '" + wrong + "'", "fixed.wasm has SHA-256 " + fixed + "; " + wrong + " is pinned; nothing was read or written"},
		{"no file", "mine", "path: gone.wasm, sha256: " + fixed, "pipeline.yaml:19:16: task clean_orders, output orders: plugin mine: load: the module cannot be read"},
		{"a capability that is not granted", "mine", "path: fixed.wasm, sha256: " + fixed,
			"pipeline.yaml:19:3: task clean_orders, output orders: plugin mine asks for the capability files, which the pipeline does not grant (if it is to have it, write allow: {files: true})"},
		{"a capability that is not in this version", "mine", "path: database.wasm, sha256: " + database,
			"plugin mine asks for the capability sql, which is not in this version (use a plugin that asks for relation, files, table and http only)"},
		{"a table that is not granted", "mine", "path: numbered.wasm, sha256: " + table,
			"pipeline.yaml:19:3: task clean_orders, output orders: plugin mine asks for the capability table, which the pipeline does not grant (if it is to have it, write allow: {table: true})"},
		{"no such writer", "mine", "path: fixed.wasm, sha256: " + fixed + ", writer: excel", `plugin mine: describe: the module has no writer "excel"; it has fixedwidth; nothing was read or written (say which is meant: plugins: {mine: {writer: fixedwidth}})`},
		{"no such format", "mind", "path: fixed.wasm, sha256: " + fixed, `there is no writer for the format "mind" (did you mean "mine"?)`},
	} {
		t.Run(c.what, func(t *testing.T) {
			pipeline(c.format, c.plugin)
			before := p.files(".")
			p.run("validate", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, c.says)
			p.runDay("2026-01-01").must(t, 2).oneLine(t).says(t, c.says)
			same(t, "files after the refusal", p.files("."), before)
		})
	}
}

// C114: what a module needs and does not get, or has not and must have, is told by validate as by a run, all of it at once.
func TestC114_ModulesThatDoNotFitTheEngine(t *testing.T) {
	const header = "\x00asm\x01\x00\x00\x00"
	twoImports := header + "\x01\x04\x01\x60\x00\x00" + "\x02\x11\x02" + "\x03env\x01b\x00\x00" + "\x03env\x01a\x00\x00"
	const nothing = "load: it is no writer: no export ubunye_abi_1 (found no ubunye_abi_…); it lacks exports: _initialize, describe, plan, stage; it exports no memory named memory"
	for _, c := range []struct{ module, bytes, says string }{
		{"command", "", "load: it is a command (export _start), not a reactor (export _initialize): build it with -buildmode=c-shared, or as a cdylib"},
		{"foreign-import", "", "load: it imports what the engine does not provide: env.launch"},
		{"other-version", "", "load: it is made for another version of the engine: ubunye_abi_1 wanted, ubunye_abi_2 found"},
		{"no-stage", "", "load: it lacks exports: stage"},
		{"no-memory", "", "load: it exports no memory named memory"},
		{"no-marker", "", "load: it is no writer: no export ubunye_abi_1"},
		{"not-wasm", "", "load: it is no WebAssembly module"},
		{"empty", "", "load: the file is empty"},
		{"with nothing in it", header, nothing},
		{"with two imports", twoImports, nothing + "; it imports what the engine does not provide: env.a, env.b"},
	} {
		t.Run(c.module, func(t *testing.T) {
			p := newSales(t)
			digest := fmt.Sprintf("%x", sha256.Sum256([]byte(c.bytes)))
			if p.write("bad.wasm", c.bytes); c.bytes == "" {
				digest = p.built(hostileModule(c.module), "bad.wasm")
			}
			p.write("pipeline.yaml", strings.Replace(salesPipeline, "format: parquet", "format: bad", 1)+"plugins: {bad: {path: bad.wasm, sha256: \""+digest+"\"}}\n")
			before := p.files(".")
			for _, r := range []result{p.run("validate", "-c", "pipeline.yaml"), p.runDay("2026-01-01")} {
				r.must(t, 4).oneLine(t).says(t, "pipeline.yaml:", "task clean_orders, output orders: plugin bad: "+c.says, "nothing was read or written")
			}
			same(t, "files after the refusal", p.files("."), before)
		})
	}
}

// Which options there are is said by the schema that a plugin describes itself with, at the place of the option; what they cannot
// be, by the plugin, at the place of the output.
func TestAPluginChecksItsOptions(t *testing.T) {
	p := newSales(t)
	digest := p.built(fixedWidthModule, "fixed.wasm")
	for options, says := range map[string][]string{
		"{width: id=5}": {`pipeline.yaml:16:19: task clean_orders, output orders: options.width: the writer has no such option (did you mean "widths"?)`,
			"options.widths: the writer wants it, and it is not given"},
		"{widths: id=none}": {"task clean_orders, output orders: partition_by: these files are not partitioned", "options.widths: "},
	} {
		p.write("pipeline.yaml", strings.Replace(salesPipeline, "format: parquet", "format: mine\n        options: "+options, 1)+
			"plugins: {mine: {path: fixed.wasm, sha256: "+digest+", allow: {files: true}}}\n")
		p.runDay("2026-01-01").must(t, 2).says(t, says...)
	}
}

// The example of configs/fixedwidth lands every row of its month, each value in its place.
func TestFixedWidth(t *testing.T) {
	pipeline, err := os.ReadFile("../configs/fixedwidth/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	weather, err := os.ReadFile("../configs/quickstart/seattle-weather.csv")
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, "")
	p.write("fixedwidth/pipeline.yaml", string(pipeline))
	p.write("quickstart/seattle-weather.csv", string(weather))
	digest := p.built(fixedWidthModule, "fixedwidth/fixedwidth.wasm")
	args := []string{"run", "-c", "fixedwidth/pipeline.yaml", "--dt", "2012-02"}
	p.run(args...).must(t, 2).says(t, "pipeline.yaml:12:17: ", "FIXEDWIDTH_SHA256")
	p.env = []string{"FIXEDWIDTH_SHA256=" + digest}
	p.run(args...).must(t, 0)

	var want []string
	for _, row := range p.csvRows("quickstart/seattle-weather.csv") {
		var v map[string]string
		if err := json.Unmarshal([]byte(row), &v); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(v["date"], "2012-02-") {
			want = append(want, fmt.Sprintf("%-12s%-8s%8s%8s%8s", v["date"], v["weather"], v["precipitation"], v["temp_min"], v["temp_max"]))
		}
	}
	sort.Strings(want)
	got := p.lines("fixedwidth/lake/weather")
	if len(want) != 29 {
		t.Fatalf("February 2012 has %d days", len(want))
	}
	same(t, "lines", got, want)
}

// lines reads all text files under a folder, in the order of their names.
func (p *project) lines(folder string) []string {
	p.t.Helper()
	var all []string
	for _, name := range p.dataFiles(folder) {
		data, err := os.ReadFile(filepath.Join(p.path(folder), name))
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
	return all
}

// Many rows pass through a plugin in a small memory, into several files, each row once.
func TestManyRowsThroughAPlugin(t *testing.T) {
	p := newProject(t, "")
	const rows = 300_000
	var csv strings.Builder
	csv.WriteString("id,name\n")
	for i := range rows {
		fmt.Fprintf(&csv, "%d,row %d\n", i, i)
	}
	p.write("in.csv", csv.String())
	digest := p.built(fixedWidthModule, "fixed.wasm")
	p.write("pipeline.yaml", "name: many\nplugins: {fixed: {path: fixed.wasm, sha256: "+digest+", memory: 32MiB, allow: {files: true}}}\n"+
		"tasks: {t: {inputs: {r: {format: csv, path: in.csv}}, outputs: {r: {format: fixed, path: lake, target_file_size: 2MiB, options: {widths: id=8 name=12}}}}}\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	got := p.lines("lake")
	sort.Strings(got)
	if files := len(p.dataFiles("lake")); files < 2 || len(got) != rows {
		t.Fatalf("%d rows in %d files", len(got), files)
	}
	for i, line := range got {
		if want := fmt.Sprintf("%8d%-12s", i, fmt.Sprint("row ", i)); line != want {
			t.Fatalf("row %d is %q, want %q", i, line, want)
		}
	}
}

func TestPluginInspect(t *testing.T) {
	p := newProject(t, "")
	digest := p.built(fixedWidthModule, "fixed.wasm")
	p.built(hostileModule("wants-sql"), "database.wasm")
	p.built(hostileModule("other-version"), "other.wasm")
	info, err := os.Stat(fixedWidthModule)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`fixedwidth, version 1: Text files of fixed width, a line a row
  module        ./fixed.wasm, %.1f MiB, ABI 1
  sha256        %s
  asks for      relation, files
  mode          append: delivery claims
  option        widths (string, required): The columns of a line in their order, each with its width in characters, as "day=10 sky=8".
  in a pipeline plugins: {fixedwidth: {path: ./fixed.wasm, sha256: %[2]s, allow: {files: true}}}
`, float64(info.Size())/(1<<20), digest)
	if r := p.run("plugin", "inspect", "./fixed.wasm").must(t, 0); r.stdout != want {
		t.Errorf("got\n%swant\n%s", r.stdout, want)
	}
	var told []struct {
		Name, Version, SHA256 string
		Size                  int64
		ABI                   int
		Capabilities          []string
		Modes                 []struct{ Name, Class string }
		Options               []struct{ Name, Type string }
	}
	r := p.run("plugin", "inspect", "parquet", "--json").must(t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &told); err != nil || len(told) != 1 || told[0].Name != "parquet" || len(told[0].SHA256) != 64 || told[0].Size < 1<<20 ||
		told[0].ABI != 1 || told[0].Modes[0].Name != "append" || told[0].Modes[0].Class != "claims" || fmt.Sprint(told[0].Options[0]) != "{compression zstd | snappy | gzip | lz4 | brotli | none}" {
		t.Errorf("%+v, %v", told, err)
	}
	if r := p.run("plugin", "inspect", "database.wasm").must(t, 0); !strings.Contains(r.stdout, "\n  refused       plugin hostile asks for the capability sql, which is not in this version") {
		t.Errorf("%s", r.stdout)
	}
	p.run("plugin", "inspect", "other.wasm").must(t, 4).oneLine(t).says(t, "ubunye: plugin other.wasm: load: it is made for another version of the engine: ubunye_abi_1 wanted, ubunye_abi_2 found\n")
	p.run("plugin", "inspect", "parket").must(t, 2).oneLine(t).says(t, `no writer "parket"`, `did you mean "parquet"?`)
	p.run("plugin", "inspect").must(t, 2).oneLine(t)
}

func TestPluginList(t *testing.T) {
	p := newSales(t)
	digest := p.built(fixedWidthModule, "fixed.wasm")
	write := func(digest string) {
		p.write("pipeline.yaml", salesPipeline+"plugins:\n  fixed: {path: fixed.wasm, sha256: \""+digest+"\"}\n  parquet: {path: fixed.wasm, sha256: "+p.built(fixedWidthModule, "fixed.wasm")+"}\n")
	}
	list := func(r result) (rows []string) {
		for line := range strings.Lines(r.stdout) {
			rows = append(rows, strings.Join(strings.Fields(line)[:3], " "))
		}
		return rows
	}
	if got := list(p.run("plugin", "list").must(t, 0)); !contains(got, "parquet 1 built") {
		t.Errorf("%q", got)
	}
	write(digest)
	got := list(p.run("plugin", "list", "-c", "pipeline.yaml").must(t, 0))
	if !contains(got, "fixed 1 "+p.path("fixed.wasm")) || !contains(got, "parquet 1 "+p.path("fixed.wasm")) || contains(got, "parquet 1 built") {
		t.Errorf("%q", got)
	}
	// One that cannot be used does not hide the others.
	write(strings.Repeat("0", 64))
	r := p.run("plugin", "list", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "pipeline.yaml:19:", "plugin fixed: load: ", "is pinned")
	if got := list(r); !contains(got, "parquet 1 "+p.path("fixed.wasm")) {
		t.Errorf("%q", got)
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}
