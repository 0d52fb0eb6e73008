package computetest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// known is what an input is told of earlier times.
func known(sets ...string) (all [][]compute.Column) {
	for _, s := range sets {
		if s != "" {
			all = append(all, columns(s))
		}
	}
	return all
}

// A column has the type that it had where that holds all its values and is what one more of the old ones would have given; else
// the one that its values have.
func csvKnownTypes(t *testing.T, f *fixture) {
	p := f.write("k.csv", "n,i,big,zip,d,z,b,f,gone\n,1,9007199254740993,123,2026-01-01,2026-01-01T10:00:00Z,true,1.5,x\n,-2,1,4,2026-01-02,2026-01-01T10:00:00Z,false,2,y\n")
	for _, tt := range []struct{ name, was, want string }{
		{"nothing", "", "n VARCHAR; i BIGINT; big BIGINT; zip BIGINT; d DATE; z TIMESTAMP WITH TIME ZONE; b BOOLEAN; f DOUBLE; gone VARCHAR"},
		{"wider", "N DATE; i DOUBLE; zip VARCHAR; d TIMESTAMP; b VARCHAR; z VARCHAR; f VARCHAR; more BIGINT",
			"n DATE; i DOUBLE; big BIGINT; zip VARCHAR; d TIMESTAMP; z VARCHAR; b VARCHAR; f VARCHAR; gone VARCHAR"},
		{"too narrow", "n BOOLEAN; big BOOLEAN; i DATE; d BIGINT; z TIMESTAMP; b BIGINT; f BIGINT; gone BIGINT",
			"n BOOLEAN; i BIGINT; big BIGINT; zip BIGINT; d DATE; z TIMESTAMP WITH TIME ZONE; b BOOLEAN; f DOUBLE; gone VARCHAR"},
		{"zone", "d TIMESTAMP WITH TIME ZONE", "n VARCHAR; i BIGINT; big BIGINT; zip BIGINT; d DATE; z TIMESTAMP WITH TIME ZONE; b BOOLEAN; f DOUBLE; gone VARCHAR"},
		{"no type", "n INT)--; i NONSENSE", "n VARCHAR; i BIGINT; big BIGINT; zip BIGINT; d DATE; z TIMESTAMP WITH TIME ZONE; b BOOLEAN; f DOUBLE; gone VARCHAR"},
	} {
		r, _ := f.input(compute.Input{Name: tt.name, Format: "csv", Path: p, Known: known(tt.was)})
		f.wantTypes(f.schema(r), tt.want)
		f.wantMissing(r)
		f.count(r, 2)
	}
	f.input(compute.Input{Name: "text", Format: "csv", Path: p, Known: known("i DOUBLE; zip VARCHAR; d TIMESTAMP; big VARCHAR; n DATE; z VARCHAR; b BOOLEAN; f DOUBLE; gone VARCHAR")})
	f.prepare("some", compute.Step{Name: "some", SQL: "SELECT n, i, zip, d, big, z FROM text"})
	f.wantRows(f.rows("some"), "NULL|-2.0|4|2026-01-02 00:00:00|1|2026-01-01T10:00:00Z", "NULL|1.0|123|2026-01-01 00:00:00|9007199254740993|2026-01-01T10:00:00Z")
}

// Of several sets the first counts that the input can have as a whole, else the last.
func knownSets(t *testing.T, f *fixture) {
	p := f.write("s.csv", "a,b\n1,2\n")
	for _, tt := range []struct {
		name string
		was  []string
		want string
	}{
		{"first", []string{"b DOUBLE; a BIGINT", "a VARCHAR; b VARCHAR"}, "a BIGINT; b DOUBLE"},
		{"last", []string{"a BIGINT", "a VARCHAR; b VARCHAR"}, "a VARCHAR; b VARCHAR"},
		{"type", []string{"a BOOLEAN; b VARCHAR", "a VARCHAR; b BIGINT"}, "a VARCHAR; b BIGINT"},
		{"neither", []string{"a VARCHAR", "b VARCHAR"}, "a BIGINT; b VARCHAR"},
	} {
		r, _ := f.input(compute.Input{Name: tt.name, Format: "csv", Path: p, Known: known(tt.was...)})
		f.wantTypes(f.schema(r), tt.want)
	}
}

func jsonKnownTypes(t *testing.T, f *fixture) {
	p := f.write("k.json", `{"i":1,"big":9007199254740993,"huge":18446744073709551617,"d":"2026-01-01","t":"123","n":null,"l":[],"st":{"a":1},"e":{},"b":true,"deep":[{"x":[1]}]}`+"\n"+`{"i":2}`)
	const plain = "i BIGINT; big BIGINT; huge DECIMAL(38,0); d DATE; t VARCHAR; n VARCHAR; l VARCHAR[]; st STRUCT(a BIGINT); e JSON; b BOOLEAN; deep STRUCT(x BIGINT[])[]"
	for _, tt := range []struct{ name, was, want string }{
		{"nothing", "", plain},
		{"wider", "i DOUBLE; big DECIMAL(38,0); d TIMESTAMP; n DATE; l BIGINT[]; st STRUCT(b VARCHAR, a DOUBLE); e STRUCT(k BIGINT); deep STRUCT(y VARCHAR, x DOUBLE[])[]",
			"i DOUBLE; big DECIMAL(38,0); huge DECIMAL(38,0); d TIMESTAMP; t VARCHAR; n DATE; l BIGINT[]; st STRUCT(b VARCHAR, a DOUBLE); e STRUCT(k BIGINT); b BOOLEAN; deep STRUCT(y VARCHAR, x DOUBLE[])[]"},
		{"text", "d VARCHAR; i VARCHAR; b VARCHAR; st VARCHAR", strings.Replace(plain, "d DATE", "d VARCHAR", 1)},
		{"loses digits", "big DOUBLE; huge DOUBLE; i BOOLEAN; t BIGINT; st STRUCT(b BIGINT); deep BIGINT[]", plain},
		{"no type", "n INT)--; l NONSENSE", plain},
	} {
		r, _ := f.input(compute.Input{Name: tt.name, Format: "json", Path: p, Known: known(tt.was)})
		f.wantTypes(f.schema(r), tt.want)
		f.wantMissing(r)
		f.count(r, 2)
	}
	r, _ := f.input(compute.Input{Name: "whole", Format: "json", Path: p, Known: known("i DOUBLE; st STRUCT(b VARCHAR, a DOUBLE); d TIMESTAMP; opt DECIMAL(38,0); more STRUCT(z BIGINT)")})
	f.wantMissing(r, "opt", "more")
	f.prepare("some", compute.Step{Name: "some", SQL: "SELECT i, st, d, opt, more FROM whole"})
	f.wantRows(f.rows("some"), "1.0|{'b': NULL, 'a': 1.0}|2026-01-01 00:00:00|NULL|NULL", "2.0|NULL|NULL|NULL|NULL")
	f.wantTypes(f.schema("some"), "i DOUBLE; st STRUCT(b VARCHAR, a DOUBLE); d TIMESTAMP; opt DECIMAL(38,0); more STRUCT(z BIGINT)")
}

func parquetKnownTypes(t *testing.T, f *fixture) {
	f.prepare("made", compute.Step{Name: "made", SQL: "SELECT 1::INTEGER AS i, 2::BIGINT AS b, 1.5::DECIMAL(9,2) AS d, 'x' AS s, 0.5::FLOAT AS f, NULL::INTEGER AS n"})
	dir := f.folder("lake")
	f.encode(compute.Encode{Relation: "made", Dir: dir})
	for _, tt := range []struct{ name, was, want, row string }{
		{"nothing", "", "i INTEGER; b BIGINT; d DECIMAL(9,2); s VARCHAR; f FLOAT; n INTEGER", "1|2|1.50|x|0.5|NULL"},
		{"wider", "s VARCHAR; i BIGINT; b BIGINT; d DECIMAL(18,4); f DOUBLE; N STRUCT(a BIGINT)", "i BIGINT; b BIGINT; d DECIMAL(18,4); s VARCHAR; f DOUBLE; n STRUCT(a BIGINT)", "1|2|1.5000|x|0.5|NULL"},
		{"not held", "i VARCHAR; b DOUBLE; d DECIMAL(9,4); s BIGINT; f BIGINT; gone BIGINT; n INT)--", "i INTEGER; b BIGINT; d DECIMAL(9,2); s VARCHAR; f FLOAT; n INTEGER", "1|2|1.50|x|0.5|NULL"},
	} {
		r, _ := f.input(compute.Input{Name: tt.name, Format: "parquet", Path: dir, Known: known(tt.was)})
		f.wantTypes(f.schema(r), tt.want)
		f.wantMissing(r)
		f.wantRows(f.rows(r), tt.row)
	}
}

// Values in the names of folders are text, whatever those of today look like.
func knownPartitions(t *testing.T, f *fixture) {
	f.prepare("made", compute.Step{Name: "made", SQL: "SELECT 1 AS id, 7 AS shop, NULL::VARCHAR AS dt"})
	for _, format := range []string{"csv", "json", "parquet"} {
		dir := f.folder(format)
		f.encode(compute.Encode{Relation: "made", Format: format, Dir: dir, PartitionBy: []string{"shop", "dt"}})
		in := compute.Input{Format: format, Path: filepath.Join(dir, "**", "*."+format), Options: map[string]string{"partitions": "true"}}
		in.Name, in.Known = format+" was text", known("id BIGINT; shop VARCHAR; dt DATE")
		r, _ := f.input(in)
		f.wantTypes(f.schema(r)[1:], "shop VARCHAR; dt DATE")
		f.wantRows(f.rows(r), "1|7|NULL")
		in.Name, in.Known = format+" was date", known("id BIGINT; shop DATE; dt BIGINT")
		r, _ = f.input(in)
		f.wantTypes(f.schema(r)[1:], "shop BIGINT; dt BIGINT")
	}
}

func (f *fixture) wantMissing(r compute.Relation, want ...string) {
	f.t.Helper()
	if got, err := f.ses.Missing(f.t.Context(), r); err != nil || !slices.Equal(got, want) {
		f.t.Errorf("%s: missing %q (%v), want %q", r, got, err, want)
	}
}
