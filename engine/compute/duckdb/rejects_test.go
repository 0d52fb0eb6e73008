package duckdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// FuzzRejects holds the ways of reading against each other: what DuckDB reads without an error is read the same with rejects, of
// which there are none, also when every record is looked at.
func FuzzRejects(f *testing.F) {
	for _, seed := range []string{"1,x,2026-01-01\n", "1,x\n2,y,2026-02-30\n", "\"1\",\"a\nb\",\n,,\n", "x,\"\n1,,2026-01-01", "1.0,é,2026-1-1\n1e3,\xe9,\n", "\n\n1,,,\n", "+1, \"q\" ,0001-01-01\n"} {
		for dialect := range dialects {
			f.Add(seed, byte(dialect))
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, dialect byte) {
		bothWays(t, dir, text, dialects[int(dialect)%len(dialects)])
	})
}

func TestRejectsAreWhatCannotBeRead(t *testing.T) {
	pieces := []string{`"`, `""`, ",", ",", ";", "\t", "\n", "\n", " ", "a", "1", "2026-01-01", "2026-02-30", "é", "\xff", "NULL", "-", "1.0", "99999999999999999999"}
	random := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for range 60 {
		text := ""
		for range random.IntN(20) {
			text += pieces[random.IntN(len(pieces))]
		}
		bothWays(t, dir, text, dialects[random.IntN(len(dialects))])
	}
}

func bothWays(t *testing.T, dir, text string, options map[string]string) {
	o, _ := readCSVOptions(options)
	path := filepath.Join(dir, "x.csv")
	if err := os.WriteFile(path, []byte("id"+o.delimiter+"s"+o.delimiter+"d\n"+text), 0o666); err != nil {
		t.Fatal(err)
	}
	ses, err := Engine{}.Open(t.Context(), compute.Settings{Spill: filepath.Join(dir, "spill"), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close()
	s := ses.(*session)
	in := compute.Input{Name: "strict", Format: "csv", Path: path, Options: options, Columns: []compute.Column{{Name: "id", Type: "bigint"}, {Name: "s", Type: "varchar"}, {Name: "d", Type: "date"}}}
	_, _, strict := s.Input(t.Context(), in)
	if strict == nil {
		strict = s.consume(t.Context(), `"strict"`)
	}
	if strict == nil && !misread(text, o) {
		eachRecord(t, s, in)
	}
	in.Name, in.Rejects = "kept", &compute.Rejects{Relation: "bad", Rows: -1, Percent: 100}
	_, _, err = s.Input(t.Context(), in)
	var wrong *compute.Error
	if errors.As(err, &wrong) && wrong.Kind == compute.InputInvalid {
		if strict == nil {
			t.Fatalf("%q %v: it can be read, and not with rejects: %v", text, options, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%q %v: %v", text, options, err)
	}
	tally, err := s.Tally(t.Context(), "kept")
	if err != nil || tally.Read != tally.Rows+tally.Rejected {
		t.Fatalf("%q %v: %+v, %v", text, options, tally, err)
	}
	if strict != nil {
		return // lines with other ends than those before are read here, and are no rejects
	}
	want, err := textsOf(t, s, `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM "strict"`, 3)
	got, again := textsOf(t, s, `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM "kept"`, 3)
	if err = errors.Join(err, again); err != nil || tally.Rejected != 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%q %v: %+v, %q, want %q, %v", text, options, tally, got, want, err)
	}
}

// eachRecord reads the relation strict again, record by record.
func eachRecord(t *testing.T, s *session, in compute.Input) {
	r := &rejects{table: "rejected"}
	if err := s.exec(t.Context(), "CREATE TABLE rejected (n BIGINT, file VARCHAR, line BIGINT, c VARCHAR, reason VARCHAR, t VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	in.Columns = []compute.Column{{Name: "id", Type: "BIGINT"}, {Name: "s", Type: "VARCHAR"}, {Name: "d", Type: "DATE"}}
	opened, _, err := s.openCSV(t.Context(), in, r)
	if err != nil {
		t.Fatal(err)
	}
	query, _, err := opened.split(t.Context(), s, in, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := textsOf(t, s, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ("+query+")", 3)
	want, again := textsOf(t, s, `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM "strict"`, 3)
	if err := errors.Join(err, again); err != nil || r.count != 0 || r.read != int64(len(want)) || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v: %q, want %q, %d of %d rejected: %v, %v", in.Options, got, want, r.count, r.read, r.first, err)
	}
}
