package duckdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
)

func asError(t *testing.T, err error) *compute.Error {
	t.Helper()
	var e *compute.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v", err)
	}
	if strings.Contains(e.Error()+e.Hint, "\n") {
		t.Errorf("more than one line: %q", e.Error())
	}
	return e
}

func TestSettingsThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		set  compute.Settings
		want string
	}{
		{compute.Settings{Memory: "lots"}, `memory "lots" is not a size`},
		{compute.Settings{Threads: -1}, "threads: -1"},
		{compute.Settings{Variables: []compute.Variable{{Name: "a b", Type: "DATE", Value: "2026-01-01"}}}, `variable "a b"`},
		{compute.Settings{Variables: []compute.Variable{{Name: "a", Type: "DAT", Value: "2026-01-01"}}}, `"DAT" is not a type`},
		{compute.Settings{Variables: []compute.Variable{{Name: "a", Type: "DATE", Value: "2026-02-30"}}}, `$a: "2026-02-30" is not a DATE`},
		{compute.Settings{Variables: []compute.Variable{{Name: "a", Type: "DATE) UNION SELECT (1", Value: "2026-01-01"}}}, "is not a type"},
		{compute.Settings{Variables: []compute.Variable{{Name: "a", Type: "VARCHAR", Value: "x\x00y"}}}, "NUL"},
		{compute.Settings{Variables: []compute.Variable{{Name: "a", Type: "VARCHAR"}, {Name: "A", Type: "VARCHAR"}}}, "one and the same"},
	} {
		ses, err := Engine{}.Open(t.Context(), tt.set)
		if err == nil {
			_ = ses.Close()
		}
		if e := asError(t, err); e.Kind != compute.BadOption || !strings.Contains(e.Error(), tt.want) {
			t.Errorf("%+v: kind %d, %v; want %q", tt.set, e.Kind, err, tt.want)
		}
	}
}

// What a session must not do behind the user's back.
func TestConfigurationIsLocked(t *testing.T) {
	s := openWith(t, compute.Settings{Memory: "200MiB", Threads: 2, Spill: filepath.Join(t.TempDir(), "it's")})
	want := map[string]string{
		"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "allow_community_extensions": "false", "lock_configuration": "true",
		"memory_limit": "200.0 MiB", "threads": "2", "TimeZone": "UTC",
	}
	for name, value := range want {
		var got string
		if err := s.conn.QueryRowContext(t.Context(), "SELECT CAST(current_setting("+literal(name)+") AS VARCHAR)").Scan(&got); err != nil || got != value {
			t.Errorf("%s is %q, want %q (%v)", name, got, value, err)
		}
	}
	if err := s.exec(t.Context(), "SET threads = 1"); err == nil {
		t.Error("a setting could be changed")
	}
}

// More than the memory is sorted with the spill folder, which is gone after Close; without one it fails with a hint.
func TestSpill(t *testing.T) {
	big := compute.Step{Name: "big", SQL: "SELECT i, md5(CAST(i AS VARCHAR)) AS h FROM range(3000000) t(i) ORDER BY h"}
	out := t.TempDir()
	encode := func(spill string) error {
		ses, err := Engine{}.Open(t.Context(), compute.Settings{Memory: "100MiB", Threads: 2, Spill: spill})
		if err != nil {
			return err
		}
		defer ses.Close()
		if err := ses.Prepare(t.Context(), []compute.Step{big}, []compute.Relation{"big"}); err != nil {
			return err
		}
		files, err := ses.Encode(t.Context(), compute.Encode{Relation: "big", Format: "parquet", Dir: out})
		if err == nil && (len(files) != 1 || files[0].Rows != 3000000) {
			t.Errorf("files: %+v", files)
		}
		return err
	}
	spill := filepath.Join(t.TempDir(), "spill")
	if err := encode(spill); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(spill); !os.IsNotExist(err) {
		t.Errorf("the spill folder is left: %v", err)
	}
	if e := asError(t, encode("")); e.Kind != compute.Failed || !strings.Contains(e.Hint, "memory") {
		t.Errorf("error is %v (%s)", e, e.Hint)
	}
}

func TestInputThatChanges(t *testing.T) {
	p := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(p, []byte("id\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := openWith(t, compute.Settings{})
	r, _, err := s.Input(t.Context(), compute.Input{Name: "raw", Format: "csv", Path: p, Columns: []compute.Column{{Name: "id", Type: "bigint"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	_, err = s.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: t.TempDir()})
	if e := asError(t, err); e.Kind != compute.InputInvalid || e.Input != "raw" || e.File != p {
		t.Errorf("kind %d: %v", e.Kind, err)
	}
	if err := os.WriteFile(p, []byte("id\nlater\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = s.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: t.TempDir()})
	if e := asError(t, err); e.Kind != compute.InputInvalid || !strings.Contains(e.Message, "changed") {
		t.Errorf("kind %d: %v", e.Kind, err)
	}
}

// The value and the column are named, not the folder that the system refused.
func TestPartitionValueTooLong(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{"repeat('x', 300)", "302 bytes"},
		{"repeat('é/', 40)", "362 bytes"}, // %C3%A9%2F
	} {
		s := openWith(t, compute.Settings{})
		if err := s.Prepare(t.Context(), []compute.Step{{Name: "long", SQL: "SELECT 1 AS id, 1 AS n, " + tt.value + " AS p"}}, nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.Encode(t.Context(), compute.Encode{Relation: "long", Format: "parquet", Dir: t.TempDir(), PartitionBy: []string{"n", "p"}})
		if e := asError(t, err); e.Kind != compute.OutputInvalid || e.Column != "p" || !strings.Contains(e.Message, tt.want) {
			t.Errorf("kind %d, column %s: %v", e.Kind, e.Column, err)
		}
	}
	s := openWith(t, compute.Settings{})
	if err := s.Prepare(t.Context(), []compute.Step{{Name: "fits", SQL: "SELECT 1 AS id, repeat('x', 253) AS p"}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Encode(t.Context(), compute.Encode{Relation: "fits", Format: "parquet", Dir: t.TempDir(), PartitionBy: []string{"p"}}); err != nil {
		t.Errorf("a name of 255 bytes: %v", err)
	}
}

func TestOutputErrors(t *testing.T) {
	for _, tt := range []struct{ errno, want string }{
		{"28", "the disk is full"}, {"13", "permission denied"}, {"30", "read-only file system"}, {"", "as said"},
	} {
		e := asError(t, outputErr("/out", engineError{Type: "IO", Message: "as said\nnoise", Errno: tt.errno}, errors.New("x")))
		if e.Kind != compute.OutputFailed || e.File != "/out" || !strings.Contains(e.Message, tt.want) {
			t.Errorf("errno %s: %v", tt.errno, e)
		}
	}
}

func TestTypesThatParquetCannotHold(t *testing.T) {
	s := openWith(t, compute.Settings{})
	for i, tt := range []struct{ expr, want string }{
		{"INTERVAL 1 DAY", "INTERVAL"},
		{"TIMETZ '10:00:00+02'", "TIME WITH TIME ZONE"},
		{"TIME '24:00:00'", "24:00:00"},
		{"DATE 'infinity'", "infinity"},
		{"[TIMESTAMP '-infinity']", "-infinity"},
		{"{'a b': {'c': TIMESTAMP_NS 'infinity'}}", "infinity"},
		{"MAP {'k': [TIMESTAMPTZ 'infinity']}", "infinity"},
		{"[DATE 'infinity']::DATE[1]", "infinity"},
		{"{'a': INTERVAL 1 DAY}", "INTERVAL"},
		{"MAP {'k': [INTERVAL 1 DAY]}", "INTERVAL"},
		{"union_value(k := 1)", "UNION"},
	} {
		name := fmt.Sprintf("r%d", i)
		if err := s.Prepare(t.Context(), []compute.Step{{Name: name, SQL: "SELECT 1 AS id, " + tt.expr + " AS v"}}, nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.Encode(t.Context(), compute.Encode{Relation: compute.Relation(name), Format: "parquet", Dir: t.TempDir()})
		if e := asError(t, err); e.Kind != compute.OutputInvalid || e.Column != "v" || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: kind %d, %v", tt.expr, e.Kind, err)
		}
	}
	if err := s.Prepare(t.Context(), []compute.Step{{Name: "huge", SQL: "SELECT CAST('170141183460469231731687303715884105727' AS HUGEINT) AS v"}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Encode(t.Context(), compute.Encode{Relation: "huge", Format: "parquet", Dir: t.TempDir()}); err == nil {
		t.Error("a number beyond DECIMAL(38,0) was written")
	}
}

// A cancelled session can still be closed, at once.
func TestCloseAfterCancel(t *testing.T) {
	ses, err := Engine{}.Open(t.Context(), compute.Settings{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	err = ses.Prepare(ctx, []compute.Step{{Name: "slow", SQL: "SELECT i FROM range(1000000000000) t(i) ORDER BY hash(i)"}}, []compute.Relation{"slow", "slow"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if err := ses.Close(); err != nil {
		t.Error(err)
	}
}

// The record reader that finds lines for errors splits as DuckDB does.
func TestRecordsAreThoseOfDuckDB(t *testing.T) {
	s := openWith(t, compute.Settings{})
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "é", " ", `""`, ",", "\n", "\r\n", ";", "'"}
	for round := range 60 {
		end := []string{"\n", "\r\n"}[round%2]
		text := "x,y,z" + end
		for range 1 + random.IntN(20) {
			for f := range 3 {
				if f > 0 {
					text += ","
				}
				text += `"` + many(random.IntN(4), func(int) string { return pieces[random.IntN(len(pieces))] }) + `"`
			}
			text += end
		}
		p := filepath.Join(dir, fmt.Sprintf("%d.csv", round))
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		o, wrong := readCSVOptions(map[string]string{"null": "\x01"})
		if len(wrong) > 0 {
			t.Fatal(wrong[0])
		}
		c := &csvInput{options: o}
		rows, err := s.conn.QueryContext(t.Context(), "SELECT * FROM "+c.read(csvGroup{width: 3, end: end}, []compute.File{{Path: p}}, ""))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var want [][]string
		for rows.Next() {
			r := make([]string, 3)
			if err := rows.Scan(&r[0], &r[1], &r[2]); err != nil {
				t.Fatal(err)
			}
			want = append(want, r)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		rr := newCSVScanner(strings.NewReader(text), o, 3)
		var got [][]string
		for {
			rec, err := rr.next()
			if err != nil {
				break
			}
			var fields []string
			for _, f := range rec.fields {
				fields = append(fields, string(f.text))
			}
			got = append(got, fields)
		}
		if !reflect.DeepEqual(got[1:], want) {
			t.Errorf("%q:\n got %q\nwant %q", text, got[1:], want)
		}
		if lines := int64(strings.Count(text, "\n")); rr.line != lines+1 {
			t.Errorf("%q: %d lines counted, there are %d", text, rr.line-1, lines)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known []string
		want  string
	}{
		{"ordres", []string{"raw", "orders"}, "did you mean orders?"},
		{"ORDERS2", []string{"orders"}, "did you mean orders?"},
		{"completely", []string{"b", "a"}, "known: a, b"},
		{"x", nil, ""},
	} {
		if got := didYouMean(tt.name, tt.known); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Sessions that share the memory have equal parts of it, whether a limit is set or follows from the machine.
func TestSessionsShareTheMemory(t *testing.T) {
	limit := func(set compute.Settings) (mib float64) {
		t.Helper()
		set.Spill = filepath.Join(t.TempDir(), "spill")
		ses, err := Engine{}.Open(t.Context(), set)
		if err != nil {
			t.Fatal(err)
		}
		defer ses.Close()
		var text, unit string
		if err := ses.(*session).conn.QueryRowContext(t.Context(), "SELECT current_setting('memory_limit')").Scan(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(text, &mib, &unit); err != nil {
			t.Fatal(err)
		}
		return mib * map[string]float64{"MiB": 1, "GiB": 1 << 10, "TiB": 1 << 20}[unit]
	}
	if got := limit(compute.Settings{Memory: "600MiB", Share: 3}); math.Abs(got-200) > 1 {
		t.Errorf("a third of 600 MiB is %v MiB", got)
	}
	whole := limit(compute.Settings{})
	if half := limit(compute.Settings{Share: 2}); math.Abs(half-whole/2) > whole/100 {
		t.Errorf("half of %v MiB is %v MiB", whole, half)
	}
	if one := limit(compute.Settings{Memory: "600MiB", Share: 1}); math.Abs(one-600) > 1 {
		t.Errorf("all of 600 MiB is %v MiB", one)
	}
}
