// Package computetest is the suite that every compute engine must pass: the same files and SQL give the same rows,
// values and types, and the same mistakes are refused with the same kind of error, naming the same place.
package computetest

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Harness is an engine under test.
type Harness struct {
	// New gives an engine.
	New func(t *testing.T) compute.Engine
	// Read reads Parquet files without the engine under test, or at least without the session that wrote them.
	Read func(t *testing.T, files []string) Table
}

// Table is the content of Parquet files.
type Table struct {
	Columns []compute.Column // those in the files, types in the spelling of compute.Column
	Rows    [][]string       // values as text, NULL as "NULL", sorted by row
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"CSVValues", csvValues},
		{"CSVByName", csvByName},
		{"CSVGlobAndGzip", csvGlobAndGzip},
		{"CSVCompressedMistakes", csvCompressedMistakes},
		{"CSVQuotesAndNulls", csvQuotesAndNulls},
		{"CSVInferredTypes", csvInferredTypes},
		{"CSVOptions", csvOptions},
		{"CSVHeaderMistakes", csvHeaderMistakes},
		{"CSVValueMistakes", csvValueMistakes},
		{"CSVLineMistakes", csvLineMistakes},
		{"CSVUnusualTexts", csvUnusualTexts},
		{"TextEncodings", textEncodings},
		{"TextEncodingMistakes", textEncodingMistakes},
		{"CSVDialects", csvDialects},
		{"CSVDialectMistakes", csvDialectMistakes},
		{"CSVPreambles", csvPreambles},
		{"CSVLongValues", csvLongValues},
		{"FileMistakes", fileMistakes},
		{"TextsAsFormatted", textsAsFormatted},
		{"FolderValues", folderValues},
		{"UnfinishedFiles", unfinishedFiles},
		{"Rejects", rejects},
		{"RejectsLimits", rejectsLimits},
		{"JSONValues", jsonValues},
		{"JSONNested", jsonNested},
		{"JSONInferredTypes", jsonInferredTypes},
		{"JSONInferredMistakes", jsonInferredMistakes},
		{"JSONValueMistakes", jsonValueMistakes},
		{"JSONLineMistakes", jsonLineMistakes},
		{"JSONOptions", jsonOptions},
		{"JSONNumbersAsWritten", jsonNumbersAsWritten},
		{"CSVKnownTypes", csvKnownTypes},
		{"KnownSets", knownSets},
		{"JSONKnownTypes", jsonKnownTypes},
		{"ParquetKnownTypes", parquetKnownTypes},
		{"KnownPartitions", knownPartitions},
		{"TextPartitions", textPartitions},
		{"InputMissing", inputMissing},
		{"InputBadOptions", inputBadOptions},
		{"CheckInput", checkInput},
		{"ParquetRoundTrip", parquetRoundTrip},
		{"ParquetPartitions", parquetPartitions},
		{"ParquetMistakes", parquetMistakes},
		{"DeltaTables", deltaTables},
		{"Lines", lines},
		{"LinesMistakes", linesMistakes},
		{"StepsAndVariables", stepsAndVariables},
		{"VariablesFromHell", variablesFromHell},
		{"StepMistakes", stepMistakes},
		{"StepReads", stepReads},
		{"Head", head},
		{"ComputedOnce", computedOnce},
		{"CheckRules", checkRules},
		{"CheckTogether", checkTogether},
		{"RuleMistakes", ruleMistakes},
		{"Divide", divide},
		{"Sums", sums},
		{"EncodeFlat", encodeFlat},
		{"EncodeEmpty", encodeEmpty},
		{"EncodePartitioned", encodePartitioned},
		{"EncodeTargetFileSize", encodeTargetFileSize},
		{"EncodeExactSums", encodeExactSums},
		{"EncodeStatistics", encodeStatistics},
		{"EncodeSkipEmpty", encodeSkipEmpty},
		{"EncodeMistakes", encodeMistakes},
		{"EncodeCSVValues", encodeCSVValues},
		{"EncodeCSVRoundTrip", encodeCSVRoundTrip},
		{"EncodeCSVSingleColumn", singleColumn},
		{"EncodeJSONValues", encodeJSONValues},
		{"EncodeJSONRoundTrip", encodeJSONRoundTrip},
		{"EncodeTextFiles", encodeTextFiles},
		{"EncodeTextEmpty", encodeTextEmpty},
		{"EncodeTextMistakes", encodeTextMistakes},
		{"EncodedComesBack", encodedComesBack},
		{"NamedFiles", namedFiles},
		{"PinnedFiles", pinnedFiles},
		{"Windows", windows},
		{"WindowMistakes", windowMistakes},
		{"SourceValues", sourceValues},
		{"SourceFloats", sourceFloats},
		{"SourceBatches", sourceBatches},
		{"SourceDeclared", sourceDeclared},
		{"SourceMistakes", sourceMistakes},
		{"SourceCancelled", sourceCancelled},
		{"EncodeKeepsStrangers", encodeKeepsStrangers},
		{"RowsValues", rowsValues},
		{"RowsWindows", rowsWindows},
		{"Cancel", cancel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, &fixture{t: t, h: h, dir: t.TempDir()}) })
	}
}

// fixture is one test's folder and session.
type fixture struct {
	t   *testing.T
	h   Harness
	dir string
	ses compute.Session
}

func (f *fixture) open(variables ...compute.Variable) compute.Session {
	f.t.Helper()
	ses, err := f.h.New(f.t).Open(f.t.Context(), compute.Settings{Spill: filepath.Join(f.dir, "spill"), Threads: 2, Variables: variables, Rename: os.Rename})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := ses.Close(); err != nil {
			f.t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(f.dir, "spill")); !os.IsNotExist(err) {
			f.t.Errorf("the spill folder is left behind: %v", err)
		}
	})
	f.ses = ses
	return ses
}

// write makes a file below the test's folder and gives its path.
func (f *fixture) write(name, content string) string {
	f.t.Helper()
	p := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
		f.t.Fatal(err)
	}
	return p
}

// folder makes a folder below the test's folder.
func (f *fixture) folder(name string) string {
	f.t.Helper()
	p := filepath.Join(f.dir, name)
	if err := os.MkdirAll(p, 0o777); err != nil {
		f.t.Fatal(err)
	}
	return p
}

func (f *fixture) input(in compute.Input) (compute.Relation, []compute.File) {
	f.t.Helper()
	if f.ses == nil {
		f.open()
	}
	r, files, err := f.ses.Input(f.t.Context(), in)
	if err != nil {
		f.t.Fatalf("input %s: %v", in.Name, err)
	}
	if listed, err := f.h.New(f.t).Files(f.t.Context(), in); err != nil || !reflect.DeepEqual(listed, files) {
		f.t.Errorf("input %s reads %v, and is said to read %v, %v", in.Name, files, listed, err)
	}
	return r, files
}

func (f *fixture) prepare(consumed string, steps ...compute.Step) {
	f.t.Helper()
	if f.ses == nil {
		f.open()
	}
	var c []compute.Relation
	for _, name := range strings.Fields(consumed) {
		c = append(c, compute.Relation(name))
	}
	if err := f.ses.Prepare(f.t.Context(), steps, c); err != nil {
		f.t.Fatalf("prepare: %v", err)
	}
}

// encode writes a relation into a new folder.
func (f *fixture) encode(e compute.Encode) []compute.Encoded {
	f.t.Helper()
	if e.Format == "" {
		e.Format = "parquet"
	}
	if e.Dir == "" {
		e.Dir = f.folder("out-" + string(e.Relation))
	}
	files, err := f.ses.Encode(f.t.Context(), e)
	if err != nil {
		f.t.Fatalf("encode %s: %v", e.Relation, err)
	}
	return files
}

// rows encodes a relation and reads it back.
func (f *fixture) rows(r compute.Relation) Table {
	f.t.Helper()
	dir := f.folder("rows-" + string(r))
	files := f.encode(compute.Encode{Relation: r, Dir: dir})
	return f.read(dir, files)
}

func (f *fixture) read(dir string, files []compute.Encoded) Table {
	f.t.Helper()
	var names []string
	var n int64
	for _, file := range files {
		p := filepath.Join(dir, filepath.FromSlash(file.Name))
		info, err := os.Stat(p)
		if err != nil {
			f.t.Fatal(err)
		}
		if info.Size() != file.Bytes {
			f.t.Errorf("%s has %d bytes, said were %d", file.Name, info.Size(), file.Bytes)
		}
		n += file.Rows
		names = append(names, p)
	}
	table := f.h.Read(f.t, names)
	if int64(len(table.Rows)) != n {
		f.t.Errorf("%d rows are in the files, said were %d", len(table.Rows), n)
	}
	return table
}

func (f *fixture) wantRows(got Table, want ...string) {
	f.t.Helper()
	rows := make([]string, len(got.Rows))
	for i, r := range got.Rows {
		rows[i] = strings.Join(r, "|")
	}
	if len(want) == 0 {
		want = []string{}
	}
	if !reflect.DeepEqual(rows, want) {
		f.t.Errorf("rows:\n got %q\nwant %q", rows, want)
	}
}

func (f *fixture) wantTypes(cols []compute.Column, want string) {
	f.t.Helper()
	var got []string
	for _, c := range cols {
		got = append(got, c.Name+" "+c.Type)
	}
	if strings.Join(got, "; ") != want {
		f.t.Errorf("columns:\n got %s\nwant %s", strings.Join(got, "; "), want)
	}
}

func (f *fixture) schema(r compute.Relation) []compute.Column {
	f.t.Helper()
	cols, err := f.ses.Schema(f.t.Context(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	return cols
}

func (f *fixture) count(r compute.Relation, want int64) {
	f.t.Helper()
	n, err := f.ses.Count(f.t.Context(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	if n != want {
		f.t.Errorf("%s has %d rows, want %d", r, n, want)
	}
}

// wantError checks an error's structure; empty fields of want are not compared, and Message needs only be contained
// in the message or the hint. It gives the error for more checks.
func (f *fixture) wantError(err error, want compute.Error) *compute.Error {
	f.t.Helper()
	var e *compute.Error
	if !errors.As(err, &e) {
		f.t.Fatalf("error is %v, want a *compute.Error with %q", err, want.Message)
	}
	for _, field := range []struct {
		name      string
		got, want any
		check     bool
	}{
		{"kind", e.Kind, want.Kind, true},
		{"input", e.Input, want.Input, want.Input != ""},
		{"step", e.Step, want.Step, want.Step != ""},
		{"file", e.File, want.File, want.File != ""},
		{"line", e.Line, want.Line, want.Line != 0},
		{"col", e.Col, want.Col, want.Col != 0},
		{"column", e.Column, want.Column, want.Column != ""},
	} {
		if field.check && field.got != field.want {
			f.t.Errorf("%s is %v, want %v: %v", field.name, field.got, field.want, err)
		}
	}
	if !strings.Contains(e.Hint, want.Hint) {
		f.t.Errorf("hint is %q, want %q in it: %v", e.Hint, want.Hint, err)
	}
	if !strings.Contains(e.Message+" ("+e.Hint+")", want.Message) {
		f.t.Errorf("message is %q (hint %q), want %q in it", e.Message, e.Hint, want.Message)
	}
	if strings.Contains(e.Error()+e.Hint, "\n") {
		f.t.Errorf("the error has more than one line: %q", e.Error())
	}
	return e
}

func columns(spec string) []compute.Column {
	var cols []compute.Column
	for part := range strings.SplitSeq(spec, ";") {
		name, typ, _ := strings.Cut(strings.TrimSpace(part), " ")
		cols = append(cols, compute.Column{Name: name, Type: typ})
	}
	return cols
}
