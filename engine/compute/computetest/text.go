package computetest

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// everyType is a row of each type that text files hold, and one of NULLs.
const everyType = `SELECT * FROM (VALUES
	(CAST(-9223372036854775808 AS BIGINT), CAST(18446744073709551615 AS UBIGINT), 170141183460469231731687303715884105727::HUGEINT,
	 12345678901234567890.12::DECIMAL(38,2), 1234567890123456.78::DECIMAL(18,2), -0.5::DECIMAL(3,3), 1e22::DOUBLE, 0.1::DOUBLE, 0.1::FLOAT,
	 true, E'a"b,c;\r\nd\te''\\ ä🎉', '', DATE '0001-01-31', TIME '23:59:59.5', TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMPTZ '2026-01-31 01:00:00+02',
	 '\x00\xFF'::BLOB, UUID '6f1c4d0e-2b5a-4b7e-9a51-0d7f8c3e2a11'),
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
	t(i, u, h, wide, d18, part, big, x, f, ok, s, e, dt, tm, ts, tz, bin, id)`

func encodeCSVValues(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: everyType})
	dir := f.folder("out")
	files := f.encode(compute.Encode{Relation: "r", Format: "csv", Dir: dir, Suffix: ".staged", OrderBy: []string{"i NULLS LAST"}})
	if len(files) != 1 || files[0].Rows != 2 || files[0].Columns != nil || !strings.HasSuffix(files[0].Name, ".csv.staged") {
		t.Fatalf("files: %+v", files)
	}
	text := plain(t, dir, files[0])
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{strings.Fields("i u h wide d18 part big x f ok s e dt tm ts tz bin id"),
		{"-9223372036854775808", "18446744073709551615", "170141183460469231731687303715884105727", "12345678901234567890.12", "1234567890123456.78", "-0.500", "1e+22", "0.1", "0.1",
			"true", "a\"b,c;\nd\te'\\ ä🎉", "", "0001-01-31", "23:59:59.5", "9999-12-31 23:59:59.999999", "2026-01-30 23:00:00+00", "AP8=", "6f1c4d0e-2b5a-4b7e-9a51-0d7f8c3e2a11"},
		make([]string, 18)} // encoding/csv takes \r\n in a value for \n
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("rows:\n got %q\nwant %q", rows, want)
	}
	if !strings.Contains(text, "ä🎉\",\"\",0001-01-31") || !strings.HasSuffix(text, "\n"+strings.Repeat(",", 17)+"\n") {
		t.Errorf("the empty text and NULL are not told apart: %q", text)
	}
}

// What is written as csv comes back as it was, when the types are declared and NULL is told from the empty text.
func encodeCSVRoundTrip(t *testing.T, f *fixture) {
	f.prepare("r r", compute.Step{Name: "r", SQL: everyType})
	for i, options := range []map[string]string{
		{}, {"delimiter": ";", "quote": "'", "null": "NULL"}, {"delimiter": "\t", "escape": `\`}, {"header": "false", "delimiter": "|", "compression": "zstd"},
		{"compression": "gzip", "date_format": "%d/%m/%Y", "timestamp_format": "%d/%m/%Y %H-%M-%S.%f"},
	} {
		dir := f.folder(fmt.Sprintf("out%d", i))
		f.encode(compute.Encode{Relation: "r", Format: "csv", Dir: dir, Options: options})
		in := map[string]string{"quoted_null": "false"}
		for k, v := range options {
			if k != "compression" {
				in[k] = v
			}
		}
		back, _ := f.input(compute.Input{Name: fmt.Sprintf("back%d", i), Format: "csv", Path: filepath.Join(dir, "*"), Options: in,
			Columns: columns("i bigint; u ubigint; h hugeint; wide decimal(38,2); d18 decimal(18,2); part decimal(3,3); big double; x double; f float; ok boolean; s varchar; e varchar; dt date; tm time; ts timestamp; tz timestamptz; bin blob; id uuid")})
		f.same("r", back)
	}
}

// same fails the test unless two relations have the same columns and rows.
func (f *fixture) same(a, b compute.Relation) {
	f.t.Helper()
	f.prepare("", compute.Step{Name: "less_" + string(b), SQL: fmt.Sprintf(`(SELECT * FROM "%[1]s" EXCEPT ALL SELECT * FROM "%[2]s") UNION ALL (SELECT * FROM "%[2]s" EXCEPT ALL SELECT * FROM "%[1]s")`, a, b)})
	diff, err := f.ses.Head(f.t.Context(), compute.Relation("less_"+string(b)), 4)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, row := range diff {
		var texts []string
		for _, v := range row {
			if v == nil {
				texts = append(texts, "NULL")
			} else {
				texts = append(texts, fmt.Sprintf("%q", *v))
			}
		}
		f.t.Errorf("%s and %s differ by %s", a, b, strings.Join(texts, " "))
	}
}

func encodeJSONValues(t *testing.T, f *fixture) {
	f.prepare("r nested", compute.Step{Name: "r", SQL: everyType}, compute.Step{Name: "nested", SQL: `SELECT 1 AS "k""é", [1.50::DECIMAL(9,2), NULL] AS l, CAST(NULL AS INTEGER[]) AS nl,
		{'a': 'x', 'b': [{'c': TIMESTAMPTZ '2026-01-01 00:00:00Z', 'd': '\xAA'::BLOB}], 'n': NULL::DATE, 'h': 170141183460469231731687303715884105727::HUGEINT} AS st,
		MAP {'p q': [0.5::DECIMAL(2,2)], 'z': NULL} AS m, [[1], [], NULL] AS ll, CAST(E'{"n":12345678901234567890.120,\n"t":"a\\nb"}' AS JSON) AS j, {'j': [CAST('{"n":1.50}' AS JSON)]} AS sj`})
	for _, layout := range []string{"lines", "array"} {
		dir := f.folder(layout)
		files := f.encode(compute.Encode{Relation: "r", Format: "json", Dir: dir, Suffix: ".staged", OrderBy: []string{"i NULLS LAST"}, Options: map[string]string{"layout": layout}})
		if len(files) != 1 || files[0].Rows != 2 || !strings.HasSuffix(files[0].Name, ".json.staged") {
			t.Fatalf("files: %+v", files)
		}
		objects := decode(t, layout, plain(t, dir, files[0]))
		want := map[string]any{"i": json.Number("-9223372036854775808"), "u": json.Number("18446744073709551615"), "h": json.Number("170141183460469231731687303715884105727"),
			"wide": json.Number("12345678901234567890.12"), "d18": json.Number("1234567890123456.78"), "part": json.Number("-0.500"), "big": json.Number("1e+22"), "x": json.Number("0.1"), "f": json.Number("0.1"),
			"ok": true, "s": "a\"b,c;\r\nd\te'\\ ä🎉", "e": "", "dt": "0001-01-31", "tm": "23:59:59.5", "ts": "9999-12-31T23:59:59.999999", "tz": "2026-01-30T23:00:00Z", "bin": "AP8=", "id": "6f1c4d0e-2b5a-4b7e-9a51-0d7f8c3e2a11"}
		nulls := map[string]any{}
		for k := range want {
			nulls[k] = nil
		}
		if !reflect.DeepEqual(objects, []any{want, nulls}) {
			t.Errorf("%s: objects:\n got %v\nwant %v", layout, objects, want)
		}
	}
	dir := f.folder("nested")
	text := plain(t, dir, f.encode(compute.Encode{Relation: "nested", Format: "json", Dir: dir})[0])
	want := `{"k\"é":1,"l":[1.50,null],"nl":null,"st":{"a":"x","b":[{"c":"2026-01-01T00:00:00Z","d":"qg=="}],"n":null,"h":170141183460469231731687303715884105727},` +
		`"m":{"p q":[0.50],"z":null},"ll":[[1],[],null],"j":{"n":12345678901234567890.120, "t":"a\nb"},"sj":{"j":[{"n":1.50}]}}` + "\n"
	if text != want {
		t.Errorf("nested:\n got %s\nwant %s", text, want)
	}
}

// What is written as json comes back as it was, when the types are declared.
func encodeJSONRoundTrip(t *testing.T, f *fixture) {
	f.prepare("r r deep deep", compute.Step{Name: "r", SQL: everyType},
		compute.Step{Name: "deep", SQL: `SELECT [{'k "q"': 12345678901234567890.12::DECIMAL(38,2), 'ts': [TIMESTAMPTZ '2026-01-31 01:00:00.5+02', NULL]}] AS l, MAP {'ä': '\xAA'::BLOB} AS m`})
	for i, options := range []map[string]string{{}, {"layout": "array", "compression": "gzip"}, {"compression": "zstd", "date_format": "%d/%m/%Y", "timestamp_format": "%d/%m/%Y %H-%M-%S.%f"}} {
		in := map[string]string{}
		for _, name := range []string{"date_format", "timestamp_format"} {
			if v, ok := options[name]; ok {
				in[name] = v
			}
		}
		for r, cols := range map[compute.Relation]string{
			"r":    "i bigint; u ubigint; h hugeint; wide decimal(38,2); d18 decimal(18,2); part decimal(3,3); big double; x double; f float; ok boolean; s varchar; e varchar; dt date; tm time; ts timestamp; tz timestamptz; bin blob; id uuid",
			"deep": `l struct("k ""q""" decimal(38,2), ts timestamptz[])[]; m map(varchar, blob)`,
		} {
			dir := f.folder(fmt.Sprint("out", i, r))
			f.encode(compute.Encode{Relation: r, Format: "json", Dir: dir, Options: options})
			back, _ := f.input(compute.Input{Name: fmt.Sprintf("back%d%s", i, r), Format: "json", Path: filepath.Join(dir, "*"), Options: in, Columns: columns(cols)})
			f.same(r, back)
		}
	}
}

// Compressed or not, partitioned or not: names, rows of each file, and every row once.
func encodeTextFiles(t *testing.T, f *fixture) {
	f.prepare("r r", compute.Step{Name: "r", SQL: `SELECT i AS id, CASE i % 4 WHEN 0 THEN 'a/b' WHEN 1 THEN NULL WHEN 2 THEN 'Ü =%41' ELSE '*' END AS p, CASE WHEN i % 2 = 0 THEN E'x"\ny' END AS s, md5(CAST(i AS VARCHAR)) AS h FROM range(60000) t(i)`})
	for _, format := range []string{"csv", "json"} {
		for ending, compression := range map[string]string{"": "none", ".gz": "gzip", ".zst": "zstd"} {
			for _, e := range []compute.Encode{{PartitionBy: []string{"p"}}, {TargetFileSize: 1 << 19}, {OrderBy: []string{"id DESC"}}} {
				e.Relation, e.Format, e.Suffix, e.Options = "r", format, ".staged", map[string]string{"compression": compression}
				if format == "json" && len(e.PartitionBy) > 0 {
					e.Options["layout"] = "array"
				}
				e.Dir = f.folder(fmt.Sprintf("%s%s-%d-%d", format, ending, len(e.PartitionBy), e.TargetFileSize))
				files := f.encode(e)
				checkTextFiles(t, e, files, "."+format+ending+".staged")
				f.readBack(e, files)
			}
		}
	}
}

// readBack lands what Encode wrote, and reads it as such.
func (f *fixture) readBack(e compute.Encode, files []compute.Encoded) {
	f.t.Helper()
	for _, file := range files {
		name := filepath.Join(e.Dir, filepath.FromSlash(file.Name))
		if err := os.Rename(name, strings.TrimSuffix(name, e.Suffix)); err != nil {
			f.t.Fatal(err)
		}
	}
	in := compute.Input{Name: "back of " + filepath.Base(e.Dir), Format: e.Format, Path: e.Dir, Options: e.Options, Encoded: true}
	r, _ := f.input(in)
	cols := f.schema(r)
	last := cols[len(cols)-1].Name
	if len(cols) != 4 || (last == "p") != (len(e.PartitionBy) > 0) {
		f.t.Errorf("%s: columns %v", in.Name, cols)
	}
	f.prepare("", compute.Step{Name: in.Name + " in order", SQL: `SELECT id, p, s, h FROM "` + in.Name + `"`})
	f.same("r", compute.Relation(in.Name+" in order"))
}

func checkTextFiles(t *testing.T, e compute.Encode, files []compute.Encoded, ending string) {
	t.Helper()
	what := filepath.Base(e.Dir)
	least := map[bool]int{true: 4, false: 1}[len(e.PartitionBy) > 0 || e.TargetFileSize > 0 && e.Options["compression"] == "none"]
	if len(files) < least {
		t.Errorf("%s: %d files", what, len(files))
	}
	var ids []int
	for _, file := range files {
		if base := filepath.Base(file.Name); !strings.HasPrefix(base, "part-") || !strings.HasSuffix(base, ending) || strings.Count(base, ".") != strings.Count(ending, ".") {
			t.Errorf("%s: name %s", what, file.Name)
		}
		info, err := os.Stat(filepath.Join(e.Dir, file.Name))
		if err != nil || info.Size() != file.Bytes {
			t.Errorf("%s: %v, %d bytes said", file.Name, err, file.Bytes)
		}
		rows := objectsOf(t, e, file)
		if int64(len(rows)) != file.Rows {
			t.Errorf("%s: %d rows, said were %d", file.Name, len(rows), file.Rows)
		}
		for _, row := range rows {
			var id int
			if _, err := fmt.Sscan(row["id"], &id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			if len(e.PartitionBy) > 0 {
				want, ok := map[int]string{0: "a/b", 2: "Ü =%41", 3: "*"}[id%4]
				if p, has := file.Partition["p"]; p != want || has != ok {
					t.Fatalf("%s: row %d is in the partition %q", file.Name, id, file.Partition)
				}
			}
		}
	}
	if len(e.OrderBy) > 0 && !sort.SliceIsSorted(ids, func(i, j int) bool { return ids[i] > ids[j] }) {
		t.Errorf("%s: not sorted", what)
	}
	sort.Ints(ids)
	for i, id := range ids {
		if id != i {
			t.Fatalf("%s: row %d is %d", what, i, id)
		}
	}
	if len(ids) != 60000 {
		t.Errorf("%s: %d rows", what, len(ids))
	}
	left, err := filepath.Glob(filepath.Join(e.Dir, "**", "_*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%s: files were left: %v (%v)", what, left, err)
	}
}

// objectsOf reads a file: the texts of each row by column.
func objectsOf(t *testing.T, e compute.Encode, file compute.Encoded) []map[string]string {
	t.Helper()
	text := plain(t, e.Dir, file)
	var out []map[string]string
	if e.Format == "csv" {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		for _, row := range rows[1:] {
			m := map[string]string{}
			for i, name := range rows[0] {
				m[name] = row[i]
			}
			out = append(out, m)
		}
		return out
	}
	for _, o := range decode(t, e.Options["layout"], text) {
		m := map[string]string{}
		for k, v := range o.(map[string]any) {
			m[k] = fmt.Sprint(v)
		}
		out = append(out, m)
	}
	return out
}

func decode(t *testing.T, layout, text string) []any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var all []any
	if layout == "array" {
		if err := d.Decode(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var v any
		if err := d.Decode(&v); err != nil || !json.Valid([]byte(line)) {
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		}
		all = append(all, v)
	}
	return all
}

// plain gives the text of a file, decompressed as its name says.
func plain(t *testing.T, dir string, file compute.Encoded) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.Name)))
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(data)
	switch name := strings.TrimSuffix(file.Name, ".staged"); filepath.Ext(name) {
	case ".gz":
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	case ".zst":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An empty result is a csv file of the header alone, an empty line of JSON, an empty array. Inputs take none of them for a file that
// is still being written.
func encodeTextEmpty(t *testing.T, f *fixture) {
	f.prepare("none", compute.Step{Name: "none", SQL: "SELECT CAST(1 AS BIGINT) AS id, 'x' AS p WHERE false"})
	for i, tt := range []struct {
		e    compute.Encode
		want string
	}{
		{compute.Encode{Format: "csv"}, "id,p\n"},
		{compute.Encode{Format: "csv", TargetFileSize: 1 << 20}, "id,p\n"},
		{compute.Encode{Format: "csv", Options: map[string]string{"header": "false", "compression": "gzip"}}, ""},
		{compute.Encode{Format: "json", Options: map[string]string{"compression": "zstd"}}, "\n"},
		{compute.Encode{Format: "json", TargetFileSize: 1 << 20}, "\n"},
		{compute.Encode{Format: "json", Options: map[string]string{"layout": "array"}}, "[\n\n]\n"},
	} {
		tt.e.Relation, tt.e.Dir = "none", f.folder(fmt.Sprint("out", i))
		files := f.encode(tt.e)
		if len(files) != 1 || files[0].Rows != 0 {
			t.Fatalf("%+v: files: %+v", tt.e, files)
		}
		if got := plain(t, tt.e.Dir, files[0]); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.want)
		}
		if info, err := os.Stat(filepath.Join(tt.e.Dir, files[0].Name)); err != nil || info.Size() != files[0].Bytes {
			t.Errorf("%+v: %v, %v", files[0], info, err)
		}
		if tt.e.Options["header"] == "false" {
			continue
		}
		name := fmt.Sprint("again", i)
		f.input(compute.Input{Name: name, Format: tt.e.Format, Path: tt.e.Dir, Columns: []compute.Column{{Name: "id", Type: "BIGINT"}, {Name: "p", Type: "VARCHAR"}}})
		if n, err := f.ses.Count(t.Context(), compute.Relation(name)); err != nil || n != 0 {
			t.Errorf("%+v: read again: %d rows, %v", tt.e, n, err)
		}
	}
	for _, format := range []string{"csv", "json"} {
		if files := f.encode(compute.Encode{Relation: "none", Format: format, Dir: f.folder("parts" + format), PartitionBy: []string{"p"}}); len(files) != 0 {
			t.Errorf("%s: files: %+v", format, files)
		}
	}
}

func encodeTextMistakes(t *testing.T, f *fixture) {
	f.prepare("nested one nan old far deep mark", compute.Step{Name: "mark", SQL: "SELECT 'p' AS p, chr(65279) || 'x' AS s, 1 AS id"},
		compute.Step{Name: "nested", SQL: "SELECT 1 AS id, [1] AS l"},
		compute.Step{Name: "one", SQL: "SELECT CASE WHEN i <> 3 THEN i END AS v, 'p' AS p FROM range(5) t(i)"},
		compute.Step{Name: "nan", SQL: "SELECT 1 AS id, 'nan'::DOUBLE AS x"}, compute.Step{Name: "deep", SQL: "SELECT 1 AS id, ['inf'::DOUBLE] AS x"},
		compute.Step{Name: "old", SQL: "SELECT 1 AS id, DATE '0044-03-15 (BC)' AS d"}, compute.Step{Name: "far", SQL: "SELECT 1 AS id, TIMESTAMP 'infinity' AS t"})
	for i, tt := range []struct {
		e    compute.Encode
		want compute.Error
	}{
		{compute.Encode{Format: "csv", Relation: "nested"}, compute.Error{Kind: compute.OutputInvalid, Column: "l", Message: "csv cannot hold INTEGER[]"}},
		{compute.Encode{Format: "csv", Relation: "one", PartitionBy: []string{"p"}}, compute.Error{Kind: compute.OutputInvalid, Column: "v", Message: "empty line"}},
		{compute.Encode{Format: "csv", Relation: "mark", PartitionBy: []string{"p"}, Options: map[string]string{"header": "false"}}, compute.Error{Kind: compute.OutputInvalid, Column: "s", Message: "byte order mark"}},
		{compute.Encode{Format: "json", Relation: "nan"}, compute.Error{Kind: compute.OutputInvalid, Column: "x", Message: "JSON has no number for nan"}},
		{compute.Encode{Format: "json", Relation: "deep"}, compute.Error{Kind: compute.Failed, Message: "JSON has no number for NaN and Infinity"}},
		{compute.Encode{Format: "json", Relation: "old"}, compute.Error{Kind: compute.OutputInvalid, Column: "d", Message: "0044-03-15 (BC) lies outside the years 1 to 9999"}},
		{compute.Encode{Format: "csv", Relation: "far"}, compute.Error{Kind: compute.OutputInvalid, Column: "t", Message: "infinity lies outside the years 1 to 9999"}},
		{compute.Encode{Format: "json", Relation: "nan", Options: map[string]string{"layout": "pretty"}}, compute.Error{Kind: compute.BadOption, Message: "lines or array"}},
		{compute.Encode{Format: "json", Relation: "nan", Options: map[string]string{"delimiter": ","}}, compute.Error{Kind: compute.BadOption, Message: "json has no option delimiter"}},
		{compute.Encode{Format: "csv", Relation: "nan", Options: map[string]string{"compression": "snappy"}}, compute.Error{Kind: compute.BadOption, Message: "gzip, none, zstd"}},
		{compute.Encode{Format: "csv", Relation: "nan", Options: map[string]string{"delimiter": `"`}}, compute.Error{Kind: compute.BadOption, Message: "option quote"}},
		{compute.Encode{Format: "csv", Relation: "nan", Options: map[string]string{"null": ","}}, compute.Error{Kind: compute.BadOption, Message: "option null"}},
		{compute.Encode{Format: "csv", Relation: "nan", Options: map[string]string{"quote": ""}}, compute.Error{Kind: compute.BadOption, Message: "option quote"}},
	} {
		tt.e.Dir = f.folder(fmt.Sprint("out", i))
		_, err := f.ses.Encode(t.Context(), tt.e)
		f.wantError(err, tt.want)
	}
	// With a text for NULL, one column is enough.
	dir := f.folder("null")
	if got := plain(t, dir, f.encode(compute.Encode{Format: "csv", Relation: "one", Dir: dir, PartitionBy: []string{"p"}, Options: map[string]string{"null": "NULL"}})[0]); got != "v\n0\n1\n2\nNULL\n4\n" {
		t.Errorf("one column: %q", got)
	}
}
