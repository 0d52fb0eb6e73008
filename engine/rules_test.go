package engine_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ubunye-io/ubunye/"

// rootPackage is the one at the root of the repository.
const rootPackage = "github.com/ubunye-io/ubunye"

// mayImport is the whole of what our packages may import of ours, transitively read: down only, and
// siblings never meet. Tests may import more: the suite and the fakes of what they test.
var mayImport = map[string][]string{
	"cmd/ubunye":                      {"engine", "engine/config", "engine/kit", "engine/lockfile", "engine/problem", "engine/report", "engine/scaffold", "engine/store/fsops"},
	"engine":                          {"engine/config", "engine/plan", "engine/ledger", "engine/runstate", "engine/compute", "engine/compute/database", "engine/compute/duckdb", "engine/expect", "engine/writer", "engine/lockfile", "engine/fetch", "engine/outbound", "engine/abi", "engine/report", "engine/store/fsops", "engine/problem"},
	"engine/problem":                  {},
	"engine/outbound":                 {},
	"engine/report":                   {"engine/problem"},
	"engine/config":                   {"engine/problem"},
	"engine/config/gen":               {"engine/config"},
	"engine/plan":                     {"engine/config", "engine/problem"},
	"engine/compute":                  {},
	"engine/compute/database":         {"engine/compute"},
	"engine/compute/duckdb":           {"engine/compute", "engine/deltalog", "engine/deltalog/schema"},
	"engine/compute/computetest":      {"engine/compute"},
	"engine/expect":                   {"engine/compute"},
	"engine/abi":                      {},
	"engine/writer":                   {"engine/abi", "engine/problem", "engine/store/fsops", "engine/writer/internal/bundle", "engine/writer/internal/wire"},
	"engine/ledger":                   {"engine/store", "engine/store/fsops"},
	"engine/ledger/internal/tablelog": {"engine/store/fsops"}, // for tests
	"engine/ledger/sim":               {},                     // tests alone
	"engine/runstate":                 {"engine/store", "engine/store/fsops"},
	"engine/kit":                      {"engine", "engine/abi", "engine/compute/duckdb", "engine/config", "engine/lockfile", "engine/problem", "engine/report", "engine/store/fsops", "engine/writer"},
	"engine/scaffold":                 {"engine/store/fsops", rootPackage},
	rootPackage:                       {}, // the sources of the SDKs
	"plugins/sdk/writertest":          {}, // so that it comes with the SDK
	"engine/lockfile":                 {"engine/store/fsops"},
	"engine/fetch":                    {},
	"engine/store":                    {"engine/store/fsops"},
	"engine/store/fsops":              {},
	"engine/store/storetest":          {"engine/store", "engine/store/fsops"},
	"plugins/sdk":                     {"engine/abi", "plugins/sdk/internal/jsontext"},
	"plugins/sdk/files":               {"engine/abi", "plugins/sdk", "plugins/sdk/internal/jsontext"},
	"plugins/sdk/internal/jsontext":   {"internal/exactjson"},
	"schemas":                         {},
	"schemas/gen":                     {"engine/problem"}, // it reads the source of the others; of problem it asks the exit code of each reason
	"schemas/schematest":              {"schemas"},
	"e2e":                             {"e2e/blackbox"},
	"e2e/blackbox":                    {},
	"torture":                         {"e2e/blackbox"},
	"bench":                           {},
	"mutants":                         {},
	"bench/peer":                      {}, // measures against DuckDB itself

	"engine/deltalog":                  {"engine/deltalog/schema", "internal/exactjson", "engine/deltalog/internal/roaring"},
	"engine/deltalog/schema":           {"internal/exactjson"},
	"engine/deltalog/foreign":          {}, // tests alone
	"internal/cases":                   {}, // for tests
	"internal/serverstest":             {}, // for tests
	"internal/exactjson":               {},
	"engine/deltalog/internal/roaring": {},
}

// doors names, for each third-party library, the one package (and what lies below it) that may import it.
var doors = map[string]string{
	"gopkg.in/yaml.v3":                      "engine/config",
	"github.com/knadh/koanf":                "engine/config",
	"github.com/tetratelabs/wazero":         "engine/writer",
	"github.com/duckdb/duckdb-go":           "engine/compute/duckdb",
	"github.com/jackc/pgx":                  "engine/compute/database",
	"github.com/go-sql-driver/mysql":        "engine/compute/database",
	"modernc.org/sqlite":                    "engine/compute/database",
	"github.com/mattn/go-runewidth":         "engine/report",
	"golang.org/x/term":                     "cmd/ubunye",
	"github.com/spf13/cobra":                "cmd/ubunye",
	"github.com/spf13/pflag":                "cmd/ubunye",
	"github.com/santhosh-tekuri/jsonschema": "engine/writer",
	"oras.land/oras-go":                     "engine/fetch",
}

// helpers of tests, and what measures, may use any library.
var helpers = []string{"bench/peer", "schemas/schematest"}

type listed struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

// packages reads `go list`, for this machine and for the plugins' target.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles", rootPackage+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func TestImportsGoDownOnly(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := rule(name)
		if !known {
			t.Errorf("%s has no import rule; say in mayImport what it may know", name)
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module); ok || imp == rootPackage {
				seen++
				if !slices.Contains(allowed, ours) {
					t.Errorf("%s imports %s, which it must not know", name, ours)
				}
				continue
			}
			for lib, door := range doors {
				if (imp == lib || strings.HasPrefix(imp, lib+"/")) && name != door && !slices.Contains(helpers, name) && !strings.HasPrefix(name, door+"/") {
					t.Errorf("%s imports %s, whose one door is %s", name, imp, door)
				}
			}
			if (name == "engine/abi" || name == "internal/exactjson" || strings.HasPrefix(name, "engine/deltalog")) && strings.Contains(imp, ".") {
				t.Errorf("%s imports %s; it is standard library only", name, imp)
			}
			if heavy := []string{"fmt", "encoding/json", "net/url"}; (name == "internal/exactjson" || strings.HasPrefix(name, "engine/deltalog")) && slices.Contains(heavy, imp) {
				t.Errorf("%s imports %s, which would make the modules that link it larger and slower to start", name, imp)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d imports of ours seen: the test reads nothing", seen)
	}
}

// rule gives what a package may import. A built-in writer knows the SDK and the messages alone.
func rule(name string) ([]string, bool) {
	if allowed, ok := mayImport[name]; ok {
		return allowed, true
	}
	switch {
	case name == "plugins/hostile/dump": // makes files of the hostile modules, for tests
		return []string{"plugins/hostile"}, true
	case name == "plugins/builtin": // the built-in writers of files share one module
		return []string{"plugins/sdk", "plugins/csv", "plugins/json", "plugins/parquet"}, true
	case name == "plugins/builtin/tables":
		return []string{"plugins/sdk", "plugins/delta"}, true
	case name == "plugins/delta":
		return []string{"plugins/sdk", "plugins/sdk/files", "engine/abi", "engine/deltalog", "engine/deltalog/schema", "internal/exactjson", "plugins/delta/predicate"}, true
	case name == "plugins/delta/predicate":
		return []string{"engine/deltalog/schema"}, true
	case strings.HasPrefix(name, "plugins/"), strings.HasPrefix(name, "configs/"): // examples of plugins are plugins
		return []string{"plugins/sdk", "plugins/sdk/files", "plugins/sdk/sdktest", "engine/abi"}, true
	case strings.HasPrefix(name, "engine/writer/"):
		return []string{"engine/abi", "engine/store/fsops", "engine/writer", "engine/writer/internal/bundle", "engine/writer/internal/wire"}, true
	}
	return nil, false
}

// changes are the functions that change a file system: only store/fsops may call them, so that a
// fault can be injected at each.
var changes = map[string][]string{
	"os": {"Rename", "Remove", "RemoveAll", "Mkdir", "MkdirAll", "MkdirTemp", "WriteFile", "Create", "CreateTemp", "OpenFile",
		"Link", "Symlink", "Chmod", "Chtimes", "Chown", "Truncate"},
	"syscall": {"Rename", "Unlink", "Mkdir", "Rmdir", "Link", "Fsync"},
	"unix":    {"Rename", "Renameat2", "Unlink", "Mkdir", "Rmdir", "Link", "Fsync", "Syncfs"},
}

func TestOnlyFsopsChangesFileSystems(t *testing.T) {
	eachCall(t, func(pkg, file string, sel *ast.SelectorExpr) {
		// Guests have no file system, tools of the build are no part of the product.
		// storetest's disk makes what a power cut leaves, cases unpacks test data.
		if pkg == "engine/store/fsops" || pkg == "engine/store/storetest" || pkg == "internal/cases" || pkg == "engine/writer/internal/pack" || pkg == "mutants" || pkg == "torture" || strings.HasPrefix(pkg, "bench") || strings.HasPrefix(pkg, "plugins/") {
			return
		}
		if id, ok := sel.X.(*ast.Ident); ok && slices.Contains(changes[id.Name], sel.Sel.Name) {
			t.Errorf("%s: %s.%s is called outside store/fsops", file, id.Name, sel.Sel.Name)
		}
	})
}

// What the ledger makes durable it does in one place, which is told the reason.
func TestTheLedgerSyncsInOnePlace(t *testing.T) {
	seen := 0
	eachCall(t, func(pkg, file string, sel *ast.SelectorExpr) {
		if pkg != "engine/ledger" || !slices.Contains([]string{"Sync", "SyncFile", "SyncDir", "SyncFS"}, sel.Sel.Name) {
			return
		}
		if seen++; file != "engine/ledger/durable.go" {
			t.Errorf("%s: %s is called outside durable.go", file, sel.Sel.Name)
		}
	})
	if seen < 3 {
		t.Fatalf("%d calls seen: the test reads nothing", seen)
	}
}

// Only the program's edge ends the process, and it does so in one place.
func TestOnlyMainExits(t *testing.T) {
	exits := 0
	eachCall(t, func(pkg, file string, sel *ast.SelectorExpr) {
		id, ok := sel.X.(*ast.Ident)
		if !ok || !(id.Name == "os" && sel.Sel.Name == "Exit" || id.Name == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal")) {
			return
		}
		if pkg == "cmd/ubunye" {
			exits++
		} else if !isProgram(pkg) {
			t.Errorf("%s: %s.%s ends the process", file, id.Name, sel.Sel.Name)
		}
	})
	if exits != 1 {
		t.Errorf("cmd/ubunye ends the process in %d places, want 1", exits)
	}
}

// isProgram tells whether a package is a small program of its own beside the product's.
func isProgram(pkg string) bool {
	return pkg == "engine/config/gen" || pkg == "schemas/gen" || pkg == "mutants" || pkg == "torture" || strings.HasPrefix(pkg, "bench") || strings.HasPrefix(pkg, "engine/writer/") || strings.HasPrefix(pkg, "plugins/") || pkg == "configs/plugins/httpjson/host"
}

// Whether a run lives is judged by looking: a signal, also number 0, may reach a process that took its pid. The plugin
// host and the kit that tests writers end the children that they started, a fault ends its own process, and the torture is no part of the product.
func TestR09_NothingSignalsAnotherProcess(t *testing.T) {
	signals := []string{"Kill", "Signal", "FindProcess", "PidfdOpen", "PidfdSendSignal"}
	seen := 0
	eachCall(t, func(pkg, file string, sel *ast.SelectorExpr) {
		if !slices.Contains(signals, sel.Sel.Name) {
			return
		}
		seen++
		if pkg != "engine/writer" && pkg != "engine/store/fsops" && pkg != "engine/kit" && pkg != "torture" {
			t.Errorf("%s: %s reaches another process", file, sel.Sel.Name)
		}
	})
	if seen == 0 {
		t.Fatal("the plugin host's own kill is not seen: the test reads nothing")
	}
}

// C035: some shared disks grant every lock of the operating system to everybody. None of ours keeps two runs apart: a name
// that only one can take does.
func TestC035_NoLockOfTheSystemIsUsed(t *testing.T) {
	locks := regexp.MustCompile(`^(Flock|Lockf|FcntlFlock|LockFile(Ex)?|F_(OFD_)?SETLKW?|LOCK_EX|LOCK_SH|O_EXLOCK)$`)
	links := 0
	eachFile(t, func(pkg, file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			switch {
			case ok && locks.MatchString(id.Name):
				t.Errorf("%s: %s is a lock that may exclude nobody", file, id.Name)
			case ok && id.Name == "Link" && pkg == "engine/store":
				links++
			}
			return true
		})
	})
	if links == 0 {
		t.Fatal("the store takes no name by link: the test reads nothing")
	}
}

func TestNoInitFunctions(t *testing.T) {
	eachFile(t, func(pkg, file string, f *ast.File) {
		if (strings.HasPrefix(pkg, "plugins/") || strings.HasPrefix(pkg, "configs/")) && f.Name.Name == "main" {
			return // a module that is called has no main that runs; it offers its writers when it is initialised
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init() hides what happens at start", file)
			}
		}
	})
}

// eachFile parses every Go file of ours that is no test, whatever its build tags.
func eachFile(t *testing.T, visit func(pkg, file string, f *ast.File)) {
	t.Helper()
	files := 0
	for _, p := range packages(t) {
		names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files++
			pkg := strings.TrimPrefix(p.ImportPath, module)
			if pkg == "e2e" || strings.HasSuffix(pkg, "test") {
				continue
			}
			visit(pkg, pkg+"/"+filepath.Base(name), f)
		}
	}
	if files < 10 {
		t.Fatalf("only %d files seen: the test reads nothing", files)
	}
}

func eachCall(t *testing.T, visit func(pkg, file string, sel *ast.SelectorExpr)) {
	t.Helper()
	eachFile(t, func(pkg, file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					visit(pkg, file, sel)
				}
			}
			return true
		})
	})
}

// A built-in writer is a plugin like any other: nothing in engine/ but the compute engines, which encode
// formats, may know one by name.
func TestNoBuiltinIsKnownByName(t *testing.T) {
	builtins := builtinNames(t)
	eachFile(t, func(pkg, file string, f *ast.File) {
		if !strings.HasPrefix(pkg, "engine") || strings.HasPrefix(pkg, "engine/compute") || strings.HasPrefix(pkg, "engine/deltalog") || pkg == "engine/config" {
			return // config says which words are formats of inputs, and which are not in this version; deltalog names the files of its protocol
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false // encoding/json is no writer
			case *ast.Field:
				n.Tag = nil
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
					if of, ok := sel.X.(*ast.SelectorExpr); ok && of.Sel.Name == "Tag" {
						return false // a field's tag is read
					}
				}
			case *ast.BasicLit:
				for _, name := range builtins {
					word := `(?i)(^|[^a-z])` + name + `($|[^a-z])`
					if name == "json" { // the ledger's own documents are JSON: only the bare name would be the writer's
						word = `^.json.$`
					}
					if n.Kind == token.STRING && regexp.MustCompile(word).MatchString(n.Value) {
						t.Errorf("%s knows the built-in writer %s: %s", file, name, n.Value)
					}
				}
			}
			return true
		})
	})
}

// builtinNames are the folders of the writers that are built in.
func builtinNames(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, module+"plugins/builtin", module+"plugins/builtin/tables").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for imp := range strings.FieldsSeq(string(out)) {
		if name, ok := strings.CutPrefix(imp, module+"plugins/"); ok && name != "sdk" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatal("no built-in writer found: the test reads nothing")
	}
	return names
}
