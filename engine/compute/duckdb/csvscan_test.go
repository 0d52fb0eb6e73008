package duckdb

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// FuzzCSVScanner holds csvScanner against DuckDB's reader: what DuckDB takes for csv, the scanner does too, record for record.
func FuzzCSVScanner(f *testing.F) {
	for _, seed := range []string{"1,2\n", "1,2,\n", "\n1,2\n\n", " \"x\" ,2\r\n", "\"a\"\"b\",\"c\nd\"\n", "\"x\"y,2\n3,4", ",\n,", "1\n", "\"", "x\"y,z\n", "\"\",\n", "#a,b\n", "a\tb\n", "é,\xff\n"} {
		for dialect := range dialects {
			f.Add(seed, byte(dialect))
		}
	}
	ses, err := Engine{}.Open(f.Context(), compute.Settings{Spill: filepath.Join(f.TempDir(), "spill"), Threads: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ses.Close() })
	path := filepath.Join(f.TempDir(), "x.csv")
	f.Fuzz(func(t *testing.T, text string, dialect byte) {
		o, wrong := readCSVOptions(dialects[int(dialect)%len(dialects)])
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		for width := 1; width <= 3; width++ {
			againstDuckDB(t, ses.(*session), path, text, o, width, "\n")
			againstDuckDB(t, ses.(*session), path, text, o, width, "\r\n")
		}
	})
}

// What fuzzing finds in hours, texts of the characters that matter show in seconds.
func TestScannerReadsAsDuckDB(t *testing.T) {
	ses, err := Engine{}.Open(t.Context(), compute.Settings{Spill: filepath.Join(t.TempDir(), "spill"), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close()
	path := filepath.Join(t.TempDir(), "x.csv")
	pieces := []string{`"`, `""`, ",", ";", "\n", "\n", " ", "a", `\`, "'", "|", "NA", "NULL", "é", "\xff", "\t", ",\n", "1"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		o, _ := readCSVOptions(dialects[random.IntN(len(dialects))])
		text := ""
		for range random.IntN(12) {
			text += pieces[random.IntN(len(pieces))]
		}
		againstDuckDB(t, ses.(*session), path, text, o, 1+random.IntN(3), []string{"\n", "\r\n"}[random.IntN(2)])
	}
}

// dialects are options of the fuzz tests.
var dialects = []map[string]string{
	{},
	{"delimiter": ";", "null": "NA", "quoted_null": "false"},
	{"null": "NULL"},
	{"quote": "'", "escape": "'", "delimiter": "\t"},
	{"quote": "", "escape": ""},
	{"escape": ""},
	{"delimiter": " "},
}

// misread tells text of which DuckDB may make what it is not: it takes NUL behind the last column for nothing, line ends unlike
// the others for rows, and broken quotes behind spaces for text.
func misread(text string, o csvOptions) bool {
	return strings.ContainsAny(text, "\x00\r") || strings.Contains(text, " "+o.quote) && o.quote != ""
}

func againstDuckDB(t *testing.T, s *session, path, text string, o csvOptions, width int, end string) {
	if misread(text, o) {
		return
	}
	text = strings.Repeat("x"+o.delimiter, width-1) + "x" + end + strings.ReplaceAll(text, "\n", end)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c := &csvInput{options: o}
	g := csvGroup{width: width, places: inOrder(width), files: []compute.File{{Path: path}}}
	want, err := textsOf(t, s, "SELECT * FROM "+c.read(g, g.files, ""), width)
	if err != nil {
		return // it is DuckDB's to refuse
	}
	var got [][]string
	err = c.scan(t.Context(), g, g.files[0], func(rec *csvRecord) error {
		row := make([]string, width)
		for i := range row {
			if rec.wrong != nil {
				row[i] = "WRONG: " + rec.wrong.message
			} else if row[i] = "NULL"; !o.isNull(rec.fields[i]) {
				row[i] = fmt.Sprintf("%q", rec.fields[i].text)
			}
		}
		got = append(got, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q with %d columns, %+v:\n got %q\nwant %q", text, width, o, got, want)
	}
}

func textsOf(t *testing.T, s *session, q string, width int) ([][]string, error) {
	rows, err := s.conn.QueryContext(t.Context(), q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		values, into := make([]*string, width), make([]any, width)
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, width)
		for i, v := range values {
			if row[i] = "NULL"; v != nil {
				row[i] = fmt.Sprintf("%q", *v)
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
