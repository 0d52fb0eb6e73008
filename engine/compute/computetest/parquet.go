package computetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

func parquetRoundTrip(t *testing.T, f *fixture) {
	f.prepare("made", compute.Step{Name: "made", SQL: `SELECT CAST(9007199254740993 AS BIGINT) AS b, CAST(12345678901234567890.12 AS DECIMAL(38,2)) AS d,
		DATE '2026-01-31' AS dt, TIMESTAMP '2026-01-31 01:02:03.456789' AS ts, CAST(NULL AS VARCHAR) AS n, 'ä''"' AS s, 0.1::DOUBLE AS x, [1, NULL] AS l, {'k': 1} AS st`})
	dir := f.folder("lake")
	f.encode(compute.Encode{Relation: "made", Dir: dir})
	r, files := f.input(compute.Input{Name: "back", Format: "parquet", Path: filepath.Join(dir, "*.parquet")})
	if len(files) != 1 {
		t.Errorf("files: %v", files)
	}
	f.wantTypes(f.schema(r), "b BIGINT; d DECIMAL(38,2); dt DATE; ts TIMESTAMP; n VARCHAR; s VARCHAR; x DOUBLE; l INTEGER[]; st STRUCT(k INTEGER)")
	f.wantRows(f.rows(r), `9007199254740993|12345678901234567890.12|2026-01-31|2026-01-31 01:02:03.456789|NULL|ä'"|0.1|[1, NULL]|{'k': 1}`)
	declared, _ := f.input(compute.Input{Name: "some", Format: "parquet", Path: dir, Columns: columns("dt date; b bigint")})
	f.wantRows(f.rows(declared), "2026-01-31|9007199254740993")
}

// What Encode writes into partition folders comes back whole, through a folder or a glob.
func parquetPartitions(t *testing.T, f *fixture) {
	f.prepare("made", compute.Step{Name: "made", SQL: `SELECT i AS id, CASE i WHEN 0 THEN 'a/b' WHEN 1 THEN NULL WHEN 2 THEN 'x=%41 y' ELSE 'ü:' END AS p_q, DATE '2026-01-01' + CAST(i % 2 AS INTEGER) AS dt, i * 10 AS n FROM range(4) t(i)`})
	dir := f.folder("lake")
	f.encode(compute.Encode{Relation: "made", Dir: dir, PartitionBy: []string{"dt", "p_q", "n"}})
	// Other programs escape names too.
	folders, err := filepath.Glob(filepath.Join(dir, "*", "p_q=*"))
	if err != nil || len(folders) != 4 {
		t.Fatalf("folders %q (%v)", folders, err)
	}
	for _, folder := range folders {
		if err := os.Rename(folder, strings.Replace(folder, "p_q=", "p%20q=", 1)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"0|2026-01-01|a/b|0", "1|2026-01-02|NULL|10", "2|2026-01-01|x=%41 y|20", "3|2026-01-02|ü:|30"}
	r, _ := f.input(compute.Input{Name: "back", Format: "parquet", Path: dir})
	f.wantTypes(f.schema(r), "id BIGINT; dt DATE; p q VARCHAR; n BIGINT")
	f.wantRows(f.rows(r), want...)
	one, files := f.input(compute.Input{Name: "one", Format: "parquet", Path: filepath.Join(dir, "dt=2026-01-01", "**", "*.parquet")})
	if len(files) != 2 {
		t.Errorf("files: %v", files)
	}
	f.wantTypes(f.schema(one), "id BIGINT; p q VARCHAR; n BIGINT")
	f.wantRows(f.rows(one), "0|a/b|0", "2|x=%41 y|20")
	off, _ := f.input(compute.Input{Name: "off", Format: "parquet", Path: dir, Options: map[string]string{"partitions": "false"}})
	f.wantRows(f.rows(off), "0", "1", "2", "3")

	// What ends the names of staged files may end a value.
	f.prepare("ends", compute.Step{Name: "ends", SQL: "SELECT i AS id, ['a', 'b.staged'][i + 1] AS p FROM range(2) t(i)"})
	dir = f.folder("ends")
	f.encode(compute.Encode{Relation: "ends", Dir: dir, PartitionBy: []string{"p"}})
	for name, path := range map[string]string{"all": dir, "some": filepath.Join(dir, "*", "*.parquet")} {
		r, _ := f.input(compute.Input{Name: name, Format: "parquet", Path: path})
		f.wantRows(f.rows(r), "0|a", "1|b.staged")
	}
}

func parquetMistakes(t *testing.T, f *fixture) {
	f.prepare("a b", compute.Step{Name: "a", SQL: "SELECT 1 AS id, 'x' AS s"}, compute.Step{Name: "b", SQL: "SELECT 1 AS id, 2 AS s"})
	dir := f.folder("lake")
	good := f.encode(compute.Encode{Relation: "a", Dir: dir})
	whole := filepath.Join(dir, good[0].Name)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"cut": string(content[:len(content)/2]), "empty": "", "text": "id,s\n1,x\n"} {
		p := f.write("bad/"+name+".parquet", bad)
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: name, Format: "parquet", Path: p})
		f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: name, File: p, Message: "not a whole Parquet file"})
	}
	other := filepath.Join(dir, f.encode(compute.Encode{Relation: "b", Dir: dir, Suffix: ".z"})[0].Name)
	z := filepath.Join(dir, "z.parquet")
	if err := os.Rename(other, z); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(whole, filepath.Join(dir, "a.parquet")); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.ses.Input(t.Context(), compute.Input{Name: "mixed", Format: "parquet", Path: filepath.Join(dir, "*.parquet")})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "mixed", File: z, Message: "its column s is INTEGER and not VARCHAR"})
	for _, tt := range []struct{ cols, want string }{
		{"id bigint; t varchar", "it has no column t"},
		{"id varchar", "it is INTEGER, and was declared as VARCHAR"},
	} {
		_, _, err = f.ses.Input(t.Context(), compute.Input{Name: "declared", Format: "parquet", Path: filepath.Join(dir, "a.parquet"), Columns: columns(tt.cols)})
		f.wantError(err, compute.Error{Kind: compute.InputInvalid, Message: tt.want})
	}
}

func encodeFlat(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: "SELECT i AS id, i % 3 AS k FROM range(1000) t(i)"})
	dir := f.folder("out")
	files := f.encode(compute.Encode{Relation: "r", Dir: dir, Suffix: ".staged", OrderBy: []string{"k DESC", "id"},
		Options: map[string]string{"compression": "zstd", "compression_level": "3", "row_group_size": "2048"}})
	if len(files) != 1 || files[0].Rows != 1000 || files[0].Partition != nil || files[0].Columns != nil {
		t.Fatalf("files: %+v", files)
	}
	if name := files[0].Name; !strings.HasPrefix(name, "part-") || !strings.HasSuffix(name, ".parquet.staged") || strings.Contains(name, "/") {
		t.Errorf("name: %s", name)
	}
	if got := f.read(dir, files); len(got.Rows) != 1000 || got.Rows[999][0] != "999" {
		t.Errorf("rows: %d", len(got.Rows))
	}
	again := f.encode(compute.Encode{Relation: "r", Dir: dir, Suffix: ".staged"})
	if again[0].Name == files[0].Name {
		t.Errorf("a name was used twice: %s", files[0].Name)
	}
}

func encodeEmpty(t *testing.T, f *fixture) {
	f.prepare("none", compute.Step{Name: "none", SQL: "SELECT CAST(1 AS BIGINT) AS id, 'x' AS p WHERE false"})
	dir := f.folder("flat")
	files := f.encode(compute.Encode{Relation: "none", Dir: dir})
	if len(files) != 1 || files[0].Rows != 0 {
		t.Fatalf("files: %+v", files)
	}
	got := f.read(dir, files)
	f.wantTypes(got.Columns, "id BIGINT; p VARCHAR")
	f.wantRows(got)
	if files := f.encode(compute.Encode{Relation: "none", Dir: f.folder("parts"), PartitionBy: []string{"p"}}); len(files) != 0 {
		t.Errorf("files: %+v", files)
	}
}

func encodePartitioned(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: `SELECT i AS id, CASE i % 8 WHEN 0 THEN 'a/b' WHEN 1 THEN 'c:d %41' WHEN 2 THEN 'k=v' WHEN 3 THEN NULL WHEN 4 THEN 'Ünï ''q"' WHEN 5 THEN '..' WHEN 6 THEN '*?[x]' ELSE chr(10) END AS p, CAST(i % 2 AS INTEGER) AS n FROM range(40) t(i)`})
	dir := f.folder("out")
	files := f.encode(compute.Encode{Relation: "r", Dir: dir, PartitionBy: []string{"n", "P"}, Suffix: ".staged"})
	if len(files) != 8 {
		t.Fatalf("%d files: %+v", len(files), files)
	}
	wantP := map[string]string{"0": "a/b", "1": "c:d %41", "2": "k=v", "4": `Ünï 'q"`, "5": "..", "6": "*?[x]", "7": "\n"}
	for _, file := range files {
		got := f.read(dir, []compute.Encoded{file})
		f.wantTypes(got.Columns, "id BIGINT")
		first := got.Rows[0][0] // sorted as text: the least id stands first, but for 13, 15, …
		id := strings.TrimLeft(first, "0")
		i := 0
		for _, c := range id {
			i = i*10 + int(c-'0')
		}
		key := string(rune('0' + i%8))
		p, has := file.Partition["p"]
		if want, ok := wantP[key]; ok != has || p != want {
			t.Errorf("%s: partition is %q, want p = %q", file.Name, file.Partition, want)
		}
		if want := string(rune('0' + i%2)); file.Partition["n"] != want {
			t.Errorf("%s: n is %q, want %q", file.Name, file.Partition["n"], want)
		}
		if parts := strings.Split(file.Name, "/"); len(parts) != 3 || !strings.HasPrefix(parts[0], "n=") || !strings.HasPrefix(parts[1], "p=") {
			t.Errorf("name: %s", file.Name)
		}
		if !has && !strings.Contains(file.Name, "p=__HIVE_DEFAULT_PARTITION__/") {
			t.Errorf("NULL went to %s", file.Name)
		}
		if file.Rows != 5 {
			t.Errorf("%s has %d rows", file.Name, file.Rows)
		}
	}
}

func encodeTargetFileSize(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: "SELECT i AS id, md5(CAST(i AS VARCHAR)) AS s FROM range(400000) t(i)"})
	dir := f.folder("out")
	files := f.encode(compute.Encode{Relation: "r", Dir: dir, TargetFileSize: 4 << 20, Suffix: ".staged"})
	if len(files) < 2 {
		t.Errorf("%d files", len(files))
	}
	var n int64
	for _, file := range files {
		n += file.Rows
		if !strings.HasSuffix(file.Name, ".parquet.staged") {
			t.Errorf("name: %s", file.Name)
		}
	}
	if n != 400000 {
		t.Errorf("%d rows", n)
	}
}

// Sums of integers are wider than 64 bits in some engines; files hold them exactly or not at all.
func encodeExactSums(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: "SELECT sum(x) AS s FROM (VALUES (9223372036854775807), (9223372036854775807)) t(x)"})
	f.wantRows(f.rows("r"), "18446744073709551614")
}

func encodeStatistics(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: `SELECT CAST(i AS INTEGER) AS "a b", CASE WHEN i > 2 THEN 's' || i END AS s FROM range(5) t(i)`})
	files := f.encode(compute.Encode{Relation: "r", Statistics: true})
	if len(files) != 1 || len(files[0].Columns) != 2 {
		t.Fatalf("files: %+v", files)
	}
	a, s := files[0].Columns[0], files[0].Columns[1]
	if a.Name != "a b" || a.Nulls != 0 || *a.Min != "0" || *a.Max != "4" {
		t.Errorf("statistics: %+v", a)
	}
	if s.Name != "s" || s.Nulls != 3 || *s.Min != "s3" || *s.Max != "s4" {
		t.Errorf("statistics: %+v", s)
	}
}

// Nothing is made of no rows when that is asked for, and of rows what is made otherwise.
func encodeSkipEmpty(t *testing.T, f *fixture) {
	f.prepare("some none", compute.Step{Name: "some", SQL: "SELECT 1 AS id, 'x' AS p"}, compute.Step{Name: "none", SQL: "SELECT 1 AS id, 'x' AS p WHERE false"})
	for _, format := range []string{"parquet", "csv", "json"} {
		for i, e := range []compute.Encode{{}, {TargetFileSize: 1 << 20}, {PartitionBy: []string{"p"}}} {
			e.Format, e.SkipEmpty = format, true
			for relation, want := range map[compute.Relation]int{"some": 1, "none": 0} {
				e.Relation, e.Dir = relation, f.folder(fmt.Sprint(format, i, relation))
				files := f.encode(e)
				there, err := os.ReadDir(e.Dir)
				if err != nil || len(files) != want || len(there) != want {
					t.Errorf("%+v: %d files, %d entries, %v; want %d", e, len(files), len(there), err, want)
				}
			}
		}
	}
}

func encodeMistakes(t *testing.T, f *fixture) {
	f.prepare("r empty hive null nested names", compute.Step{Name: "names", SQL: `SELECT 1 AS id, 1 AS "a b", 1 AS _x, DATE '0044-03-15 (BC)' AS far, TIMESTAMP_NS 'infinity' AS ever`},
		compute.Step{Name: "r", SQL: "SELECT 1 AS id, 'x' AS p"},
		compute.Step{Name: "empty", SQL: "SELECT i AS id, CASE WHEN i = 4 THEN '' ELSE 'x' || i END AS p FROM range(5) t(i)"},
		compute.Step{Name: "hive", SQL: "SELECT 1 AS id, '__HIVE_DEFAULT_PARTITION__' AS p"},
		compute.Step{Name: "null", SQL: "SELECT 1 AS id, 'Null' AS p"},
		compute.Step{Name: "nested", SQL: "SELECT 1 AS id, [1] AS p"})
	dir := f.folder("out")
	for _, tt := range []struct {
		e    compute.Encode
		want compute.Error
	}{
		{compute.Encode{Relation: "rr"}, compute.Error{Kind: compute.QueryInvalid, Message: "did you mean r?"}},
		{compute.Encode{Relation: "r", Format: "orc"}, compute.Error{Kind: compute.BadOption, Message: "orc"}},
		{compute.Encode{Relation: "r", Options: map[string]string{"compresion": "zstd"}}, compute.Error{Kind: compute.BadOption, Message: "did you mean compression?"}},
		{compute.Encode{Relation: "r", Options: map[string]string{"compression": "zip"}}, compute.Error{Kind: compute.BadOption, Message: "zip"}},
		{compute.Encode{Relation: "r", Options: map[string]string{"compression_level": "99"}}, compute.Error{Kind: compute.BadOption, Message: "compression_level"}},
		{compute.Encode{Relation: "r", PartitionBy: []string{"pp"}}, compute.Error{Kind: compute.OutputInvalid, Column: "pp", Message: "did you mean p?"}},
		{compute.Encode{Relation: "r", PartitionBy: []string{"p", "P"}}, compute.Error{Kind: compute.OutputInvalid, Message: "twice"}},
		{compute.Encode{Relation: "r", PartitionBy: []string{"id", "p"}}, compute.Error{Kind: compute.OutputInvalid, Message: "every column"}},
		{compute.Encode{Relation: "r", PartitionBy: []string{"p"}, TargetFileSize: 1}, compute.Error{Kind: compute.BadOption, Message: "target_file_size"}},
		{compute.Encode{Relation: "r", OrderBy: []string{"idd"}}, compute.Error{Kind: compute.BadOption, Message: "idd"}},
		{compute.Encode{Relation: "r", OrderBy: []string{"id LIMIT 0"}}, compute.Error{Kind: compute.BadOption, Message: "not an order term"}},
		{compute.Encode{Relation: "empty", PartitionBy: []string{"p"}}, compute.Error{Kind: compute.OutputInvalid, Column: "p", Message: "the empty text cannot name a partition"}},
		{compute.Encode{Relation: "hive", PartitionBy: []string{"p"}}, compute.Error{Kind: compute.OutputInvalid, Column: "p", Message: "__HIVE_DEFAULT_PARTITION__"}},
		{compute.Encode{Relation: "null", PartitionBy: []string{"p"}}, compute.Error{Kind: compute.OutputInvalid, Column: "p", Message: "the text Null cannot name a partition"}},
		{compute.Encode{Relation: "nested", PartitionBy: []string{"p"}}, compute.Error{Kind: compute.OutputInvalid, Column: "p", Message: "cannot name folders"}},
		{compute.Encode{Relation: "names", PartitionBy: []string{"a b"}}, compute.Error{Kind: compute.OutputInvalid, Column: "a b", Message: "of this name cannot name folders"}},
		{compute.Encode{Relation: "names", PartitionBy: []string{"_x"}}, compute.Error{Kind: compute.OutputInvalid, Column: "_x", Message: "of this name cannot name folders"}},
		{compute.Encode{Relation: "names", PartitionBy: []string{"far"}}, compute.Error{Kind: compute.OutputInvalid, Column: "far", Message: "0044-03-15 (BC) lies outside"}},
		{compute.Encode{Relation: "names", PartitionBy: []string{"ever"}}, compute.Error{Kind: compute.OutputInvalid, Column: "ever", Message: "infinity lies outside"}},
		{compute.Encode{Relation: "r", Dir: filepath.Join(f.dir, "nowhere")}, compute.Error{Kind: compute.OutputFailed, Message: "does not exist"}},
	} {
		if tt.e.Format == "" {
			tt.e.Format = "parquet"
		}
		if tt.e.Dir == "" {
			tt.e.Dir = dir
		}
		_, err := f.ses.Encode(t.Context(), tt.e)
		f.wantError(err, tt.want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("refused outputs left %v (%v)", entries, err)
	}
}

// Other files of the folder, the markers of a staging folder among them, stay as they are.
func encodeKeepsStrangers(t *testing.T, f *fixture) {
	marker := f.write("out/.ubunye-staging", "mine")
	stranger := f.write("out/p=1/old.parquet", "not ours")
	f.prepare("r", compute.Step{Name: "r", SQL: "SELECT i AS id, 1 AS p FROM range(3) t(i)"})
	dir := filepath.Join(f.dir, "out")
	f.encode(compute.Encode{Relation: "r", Dir: dir, PartitionBy: []string{"p"}})
	f.encode(compute.Encode{Relation: "r", Dir: dir})
	for p, want := range map[string]string{marker: "mine", stranger: "not ours"} {
		if got, err := os.ReadFile(p); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
}
