package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/compute/duckdb"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// newTargetFiles are those of a new target, with a hook that sees every change.
func newTargetFiles(t *testing.T, hook fsops.Hook) *targetFiles {
	t.Helper()
	dir := t.TempDir()
	session, err := duckdb.Engine{}.Open(t.Context(), compute.Settings{Threads: 1, Spill: filepath.Join(dir, "spill")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	root, staging := filepath.Join(dir, "lake", "t"), filepath.Join(dir, "staging")
	for _, d := range []string{root, staging} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	b := &batch{run: &run{Engine: &Engine{FS: fsops.New(hook)}}, session: session}
	return &targetFiles{batch: b, root: root, staging: func() string { return staging }}
}

func (f *targetFiles) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(f.place(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// leftovers are the temporary files.
func (f *targetFiles) leftovers(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(f.staging())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func codeOf(err error) string {
	var f *abi.Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return fmt.Sprint(err)
}

func TestANewFileIsMadeOnce(t *testing.T) {
	trace := &fsops.Trace{}
	f := newTargetFiles(t, trace)
	for i, want := range []abi.PutOutcome{abi.PutCreated, abi.PutExists} {
		outcome, err := f.PutNew(t.Context(), abi.PutNewRequest{Path: "_log/sub/1.json", Bytes: fmt.Appendf(nil, "%d", i)})
		if outcome != want || err != nil {
			t.Errorf("%s, %v", outcome, err)
		}
	}
	if got := f.text(t, "_log/sub/1.json"); got != "0" {
		t.Errorf("it holds %q", got)
	}
	// It is durable when it is said to be there: its contents before it has its name, and then its name, and those of the folders.
	var did []string
	for _, op := range trace.Ops() {
		did = append(did, op.Kind+" "+strings.TrimPrefix(filepath.Base(op.Path), "put-")[:1]+filepath.Ext(op.Path))
	}
	want := []string{"create", "write", "sync", "mkdir", "syncdir", "mkdir", "syncdir", "link", "syncdir", "remove"}
	for i, kind := range want {
		if !strings.HasPrefix(did[i], kind) {
			t.Fatalf("did %q, want %q", did, want)
		}
	}
	if left := f.leftovers(t); len(left) != 1 { // of the one that was too late, which goes with the staging folder
		t.Errorf("left %q", left)
	}
}

// Whatever becomes of any change, what a writer is told of a new file is so: it is there, it is not, or nobody knows.
func TestFaultsWhileAFileIsMade(t *testing.T) {
	for _, kind := range []string{"enospc", "lost"} {
		seen := map[string]int{}
		for n := 1; n <= 11; n++ {
			fault, err := fsops.ParseFault(fmt.Sprintf("%s:%d", kind, n))
			if err != nil {
				t.Fatal(err)
			}
			f := newTargetFiles(t, fault)
			outcome, err := f.PutNew(t.Context(), abi.PutNewRequest{Path: "_log/sub/1.json", Bytes: []byte("x")})
			_, look := os.Stat(f.place("_log/sub/1.json"))
			there := look == nil
			switch {
			case outcome == abi.PutCreated && err == nil && there && f.text(t, "_log/sub/1.json") == "x":
			case outcome == abi.PutUnknown && err == nil && f.unsure:
			case outcome == "" && codeOf(err) == abi.CodeNotPut && !there:
			default:
				t.Errorf("%s at %d: %q, %v; it is there: %t", kind, n, outcome, err, there)
			}
			seen[fmt.Sprint(outcome, codeOf(err))]++
		}
		if len(seen) < 3 {
			t.Errorf("%s: only %v were seen", kind, seen)
		}
	}
}

// Another disk may have no links: then the file is renamed, by a call that refuses a taken name.
func TestAFileWithoutLinks(t *testing.T) {
	f := newTargetFiles(t, noLinks{})
	for i, want := range []abi.PutOutcome{abi.PutCreated, abi.PutExists} {
		outcome, err := f.PutNew(t.Context(), abi.PutNewRequest{Path: "_log/1.json", Bytes: fmt.Appendf(nil, "%d", i)})
		if outcome != want || err != nil {
			t.Errorf("%s, %v", outcome, err)
		}
	}
	if got := f.text(t, "_log/1.json"); got != "0" {
		t.Errorf("it holds %q", got)
	}
}

type noLinks struct{}

func (noLinks) Before(op fsops.Op) error {
	if op.Kind == "link" {
		return errors.ErrUnsupported
	}
	return nil
}

func (noLinks) After(_ fsops.Op, err error) error { return err }

// A run whose staging was dropped puts nothing any more.
func TestNothingIsPutWithoutStaging(t *testing.T) {
	f := newTargetFiles(t, nil)
	if err := os.RemoveAll(f.staging()); err != nil {
		t.Fatal(err)
	}
	_, err := f.PutNew(t.Context(), abi.PutNewRequest{Path: "_log/1.json"})
	if codeOf(err) != abi.CodeNotPut {
		t.Error(err)
	}
	if _, err := f.Put(t.Context(), abi.PutRequest{Path: "_log/_last"}); codeOf(err) != abi.CodeNotPut {
		t.Error(err)
	}
	if _, err := f.CreateRows(t.Context(), abi.RowsCreateRequest{Path: "_log/1.parquet", Format: "parquet"}); codeOf(err) != abi.CodeNotPut {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(f.root); len(entries) > 0 {
		t.Errorf("%v", entries)
	}
}

// I7: only what is certainly not there is not found, and nothing outside of the target is seen or made.
func TestI7_OnlyWhatIsNotThereIsNotFound(t *testing.T) {
	f := newTargetFiles(t, nil)
	outside := filepath.Join(filepath.Dir(f.root), "outside")
	if err := errors.Join(os.MkdirAll(outside, 0o777), os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o666), os.Symlink(outside, f.place("_link")),
		os.WriteFile(f.place("file"), []byte("abc"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"gone": abi.CodeNotFound, "_log/gone": abi.CodeNotFound, "_link/secret": abi.CodeNotRead, "file/below": abi.CodeNotRead, "_link": abi.CodeNotRead} {
		if _, err := f.Get(t.Context(), abi.GetRequest{Path: name, Length: 9}); codeOf(err) != want {
			t.Errorf("get %s: %v", name, err)
		}
		if _, err := f.List(t.Context(), abi.ListRequest{Folder: name}, 9); codeOf(err) != want {
			t.Errorf("list %s: %v", name, err)
		}
		if _, err := f.ReadRows(t.Context(), abi.ReadRowsRequest{Path: name, Format: "parquet", Columns: []string{"a"}}); codeOf(err) != want {
			t.Errorf("read_rows %s: %v", name, err)
		}
	}
	if _, err := f.PutNew(t.Context(), abi.PutNewRequest{Path: "_link/new"}); codeOf(err) != abi.CodeNotPut {
		t.Errorf("put_new by way of a link: %v", err)
	}
	if names, _ := filepath.Glob(outside + "/*"); len(names) != 1 {
		t.Errorf("outside there are %q", names)
	}
	if _, err := f.ReadRows(t.Context(), abi.ReadRowsRequest{Path: "file", Format: "parquet", Columns: []string{"a"}}); codeOf(err) != abi.CodeNotRead {
		t.Errorf("a file that is no Parquet: %v", err)
	}
	if _, err := f.ReadRows(t.Context(), abi.ReadRowsRequest{Path: "file", Format: "orc"}); codeOf(err) != abi.CodeInvalid {
		t.Errorf("a format that is not known: %v", err)
	}
	if err := os.RemoveAll(f.root); err != nil {
		t.Fatal(err)
	}
	if _, err := f.List(t.Context(), abi.ListRequest{}, 9); codeOf(err) != abi.CodeNotFound {
		t.Errorf("a target that is not there: %v", err)
	}
}

func TestPartsOfFilesAndFolders(t *testing.T) {
	f := newTargetFiles(t, nil)
	for _, name := range []string{"a", "b", "B", "c"} {
		if err := os.WriteFile(f.place(name), []byte("0123456789"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(f.place("d"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, 4, "0123"}, {8, 4, "89"}, {10, 4, ""}, {99, 4, ""}} {
		a, err := f.Get(t.Context(), abi.GetRequest{Path: "a", Offset: c.offset, Length: c.length})
		if err != nil || string(a.Bytes) != c.want || a.Bytes == nil || a.Size != 10 {
			t.Errorf("%+v: %q of %d, %v", c, a.Bytes, a.Size, err)
		}
	}
	for _, c := range []struct {
		after string
		most  int
		want  string
		more  bool
	}{{"", 9, "B a b c", false}, {"a", 9, "b c", false}, {"", 2, "B a", true}, {"", 4, "B a b c", false}, {"c", 9, "", false}} {
		a, err := f.List(t.Context(), abi.ListRequest{After: c.after}, c.most)
		var names []string
		for _, e := range a.Entries {
			names = append(names, e.Name)
			if e.Size != 10 || e.Modified == 0 {
				t.Errorf("%+v", e)
			}
		}
		if err != nil || strings.Join(names, " ") != c.want || a.More != c.more {
			t.Errorf("%+v: %q, more %t, %v", c, names, a.More, err)
		}
	}
}

// A file of rows is there when it is closed, whole, and reads as the lines it was made of.
func TestAFileOfRows(t *testing.T) {
	f := newTargetFiles(t, nil)
	req := abi.RowsCreateRequest{Path: "_log/1.parquet", Format: "parquet", Columns: []abi.Column{{Name: "id", Type: "BIGINT"}, {Name: "tags", Type: "MAP(VARCHAR, VARCHAR)"}}}
	file, err := f.CreateRows(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{`{"id":1,"ta`, `gs":{"k":"v"}}` + "\n" + `{"id":2}`, "\n"} {
		if _, err := io.WriteString(file, piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(f.place(req.Path)); err == nil {
		t.Error("it is there before it is closed")
	}
	if outcome, err := file.Close(t.Context()); outcome != abi.PutCreated || err != nil {
		t.Fatal(outcome, err)
	}
	rows, err := f.ReadRows(t.Context(), abi.ReadRowsRequest{Path: req.Path, Format: "parquet", Columns: []string{"id", "tags"}})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	lines, err := rows.Next(t.Context())
	if err != nil || string(bytes.TrimSpace(lines)) != `{"id":1,"tags":{"k":"v"}}`+"\n"+`{"id":2,"tags":null}` {
		t.Errorf("%s, %v", lines, err)
	}
	if _, err := rows.Next(t.Context()); err != io.EOF {
		t.Error(err)
	}

	again, err := f.CreateRows(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := again.Close(t.Context()); outcome != abi.PutExists || err != nil {
		t.Errorf("a name that is taken: %s, %v", outcome, err)
	}
	forgotten, err := f.CreateRows(t.Context(), abi.RowsCreateRequest{Path: "_log/2.parquet", Format: "parquet"})
	if err != nil {
		t.Fatal(err)
	}
	forgotten.Abandon()
	wrong, err := f.CreateRows(t.Context(), abi.RowsCreateRequest{Path: "_log/3.parquet", Format: "parquet", Columns: []abi.Column{{Name: "id", Type: "NOTYPE"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Close(t.Context()); codeOf(err) != abi.CodeInvalid {
		t.Errorf("a type that is not known: %v", err)
	}
	if left := f.leftovers(t); len(left) != 1 { // the Parquet file that was too late
		t.Errorf("left %q", left)
	}
}

// What is said of a log is made durable, with the folders in which it was found.
func TestWhatWasReadIsMadeDurable(t *testing.T) {
	trace := &fsops.Trace{}
	f := newTargetFiles(t, trace)
	if err := errors.Join(os.Mkdir(f.place("_log"), 0o777), os.WriteFile(f.place("_log/1"), nil, 0o666), os.WriteFile(f.place("_log/2"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(t.Context(), abi.GetRequest{Path: "_log/1", Length: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(t.Context(), abi.GetRequest{Path: "_log/2", Length: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.place("_log/2")); err != nil { // logs are cleaned up
		t.Fatal(err)
	}
	if err := f.durable(); err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, op := range trace.Ops() {
		did = append(did, op.Kind+" "+filepath.Base(op.Path))
	}
	if want := []string{"syncdir _log", "sync 1"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
}
