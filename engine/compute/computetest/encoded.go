package computetest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// typedRows has a column of each type that files can hold, columns to partition by among them.
const typedRows = `SELECT * FROM (VALUES
	(1, 10::TINYINT, 'a'::VARCHAR, DATE '2026-01-31', 1234567890123456789012::HUGEINT, 'sad'::ENUM('happy', 'sad'), '{"k":1.50}'::JSON, '101'::BIT, 12345678901234567890123456789012345678901234567890::BIGNUM,
		TIMESTAMP_NS '2026-01-31 01:02:03.123456789', TIMESTAMP_S '2026-01-31 01:02:03', TIMESTAMP_MS '2026-01-31 01:02:03.123', TIMESTAMPTZ '2026-01-31 01:00:00+02', 1.50::DECIMAL(5, 2), 0.1::FLOAT, '\xAA'::BLOB, TIME '01:02:03.5', '00000000-0000-0000-0000-000000000001'::UUID, true, NULL),
	(2, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 10, '007', DATE '2026-02-01', -1, 'happy', '[]', '1', -1,
		TIMESTAMP_NS '1970-01-01 00:00:00', TIMESTAMP_S '1970-01-01 00:00:00', TIMESTAMP_MS '1970-01-01 00:00:00', TIMESTAMPTZ '1970-01-01 00:00:00Z', 0, 1e30, '', TIME '00:00:00', '00000000-0000-0000-0000-00000000000a', false, NULL)
) AS t(id, tiny, s, d, huge, e, j, b, bn, ns, sec, ms, tz, dec, f, bin, tm, u, ok, n)`

const nestedRows = `SELECT 1 AS id, [1, NULL]::INTEGER[] AS l, {'a': 1.50::DECIMAL(5, 2), 'b': ['x']} AS st, MAP {'k': DATE '2026-01-31'} AS m, [1.5, 2.5]::DOUBLE[2] AS fixed, [TIMESTAMP_NS '2026-01-31 01:02:03.123456789'] AS nss`

// What was encoded comes back as it was when the columns of the relation are declared: each value with its type, those in the
// names of folders too, in the order of the relation. Only the files that are named are read.
func encodedComesBack(t *testing.T, f *fixture) {
	f.prepare("r r r r r r nested nested nested nested", compute.Step{Name: "r", SQL: typedRows}, compute.Step{Name: "nested", SQL: nestedRows})
	n := 0
	back := func(e compute.Encode) {
		n++
		e.Dir = f.folder(fmt.Sprint("out", n, "/tiny=7/d=none")) // names of folders above say nothing
		var names []string
		for _, file := range f.encode(e) {
			names = append(names, file.Name)
		}
		f.write(fmt.Sprintf("out%d/tiny=7/d=none/stranger.%s", n, e.Format), "neither rows nor a header\x00")
		cols := f.schema(e.Relation)
		r, files := f.input(compute.Input{Name: fmt.Sprint("back", n), Format: e.Format, Path: e.Dir, Files: names, Columns: cols, Options: e.Options, Encoded: true})
		if got := f.schema(r); !reflect.DeepEqual(got, cols) {
			t.Errorf("%s %v: columns\n got %v\nwant %v", e.Format, e.PartitionBy, got, cols)
		}
		f.same(e.Relation, r)
		if len(files) != len(names) || files[0].Path != filepath.Join(e.Dir, filepath.FromSlash(names[0])) {
			t.Errorf("pinned %v, want %q", files, names)
		}
	}
	for _, format := range []string{"parquet", "csv", "json"} {
		back(compute.Encode{Relation: "r", Format: format})
		back(compute.Encode{Relation: "r", Format: format, PartitionBy: []string{"d", "tiny"}})
		if format != "csv" {
			back(compute.Encode{Relation: "nested", Format: format})
		}
	}
}

// One file of several, none, and one that is gone.
func namedFiles(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: "SELECT i AS id, i % 3 AS p FROM range(9) t(i)"})
	dir := f.folder("out")
	var names []string
	for _, file := range f.encode(compute.Encode{Relation: "r", Format: "csv", Dir: dir, PartitionBy: []string{"p"}}) {
		names = append(names, file.Name)
	}
	slices.SortFunc(names, strings.Compare)
	in := compute.Input{Name: "one", Format: "csv", Path: dir, Files: names[1:2], Columns: f.schema("r"), Encoded: true}
	one, _ := f.input(in)
	f.prepare("", compute.Step{Name: "want", SQL: "SELECT * FROM r WHERE p = 1"})
	f.same("want", one)
	for _, format := range []string{"parquet", "csv", "json"} {
		in.Name, in.Format, in.Files = "none of "+format, format, []string{}
		none, files := f.input(in)
		if len(files) != 0 {
			t.Errorf("pinned %v", files)
		}
		f.count(none, 0)
		f.wantTypes(f.schema(none), "id BIGINT; p BIGINT")
		in.Name, in.Files = "gone of "+format, []string{"p=1/gone." + format}
		_, _, err := f.ses.Input(t.Context(), in)
		f.wantError(err, compute.Error{Kind: compute.InputMissing, Input: in.Name, File: filepath.Join(dir, "p=1", "gone."+format), Message: "the file is gone"})
	}
	in.Name, in.Columns, in.Files = "untyped", nil, []string{}
	_, _, err := f.ses.Input(t.Context(), in)
	f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "untyped", Message: "with declared columns"})
}
