package duckdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// edges are texts at the edge of what is usual, each with quotes around it too where that reads the same.
var edges = []string{
	"", "0", "-0", "+0", "00", "007", "-007", "1", "+1", " 1", "1 ", "\t1", "-1", "--1", "-", "+", "1_000", "1,000", "1e3", "1E3", "1e-1", "1.", ".1", ".", "-.5", "1.0", "1.5", "-1.50", "1.005", "0x10", "0b1",
	"127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
	"9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "999999999999999999", "1000000000000000000", "123456789012345678901234567890",
	"99.99", "100.00", "-99.99", "0.00", "-0.00", "00.10", "0.10", "0.1", "0.100", "0.101", "9999999999999999.99", "1234567890123.45", "123456789012345.6", "0.000000000000001", "4.35", "0.3", "0.123456789012345678", "-0.999999999999999999", "0.000000000000000000", "0.000000000000000001", "1.000000000000000000", "0.9999999999999999999", "0.100000000000000000", "1e22", "1e400", "nan", "NaN", "inf", "-Infinity",
	"2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-2-3", "2024-02-30", "2024-13-01", "2024-00-10", "2024-01-00", "0001-01-01", "0000-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "1969-12-31", "1970-01-01", "2024/01/01",
	"2024-01-31 ", " 2024-01-31", "2024-01-31T00:00:00", "2024-01-31 00:00:01", "infinity", "epoch", "2024-01-01 (BC)", "20240131",
	"2024-01-31 23:59:59", "2024-01-31T23:59:59", "2024-01-31 23:59:60", "2024-01-31 24:00:00", "2024-01-31 23:59", "2024-01-31 23:59:59.5", "2024-01-31 23:59:59Z", "2024-01-31 23:59:59+00", "2024-01-31 1:02:03", "1969-12-31 23:59:59", "0001-01-01 00:00:00", "2024-02-30 00:00:00",
	"true", "é", "１", "1\u00a0", "1\x00", "\x00", "12345678901\x002",
}

var usualTypes = []string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DOUBLE", "DATE", "TIMESTAMP",
	"DECIMAL(4,2)", "DECIMAL(9,0)", "DECIMAL(9,9)", "DECIMAL(12,2)", "DECIMAL(18,3)", "DECIMAL(18,18)"}

// The function and the SQL that knows all texts are of one mind: what the function knows the SQL reads as the same
// value, and whatever it does not know it leaves to the SQL.
func TestUsualTextsAreReadAsTheSQLReadsThem(t *testing.T) {
	s := usualSession(t)
	values := make([]string, 0, 6000)
	values = append(values, edges...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		const signs = "0123456789012345678901234567890123456789...----:: T+e"
		text := make([]byte, random.IntN(21))
		for i := range text {
			text[i] = signs[random.IntN(len(signs))]
		}
		values = append(values, string(text), fmt.Sprintf("%d.%02d", random.IntN(1<<30), random.IntN(100)), fmt.Sprintf("%04d-%02d-%02d", random.IntN(10000), random.IntN(14), random.IntN(33)),
			fmt.Sprintf("%.*f", 1+random.IntN(14), random.Float64()), fmt.Sprint(random.Int64()>>random.IntN(63)))
	}
	if err := s.exec(t.Context(), "CREATE TABLE texts (c VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	for part := values; len(part) > 0; part = part[min(len(part), 500):] {
		rows := make([]string, min(len(part), 500))
		for i := range rows {
			rows[i] = "(" + literal2(part[i]) + ")"
		}
		if err := s.exec(t.Context(), "INSERT INTO texts VALUES "+strings.Join(rows, ", ")+", (NULL)"); err != nil {
			t.Fatal(err)
		}
	}
	for _, typ := range usualTypes {
		f, err := fitFor("c", typ, csvOptions{decimal: "."})
		if err != nil || !f.usual {
			t.Fatalf("%s: %v, usual %t", typ, err, f.usual)
		}
		slow := f
		if err := s.quicken(t.Context(), &f); err != nil || f.quick == "" {
			t.Fatalf("%s: %v, no function", typ, err)
		}
		// Where the slow way fails, the quick one must not have known the text.
		same := fmt.Sprintf("SELECT count(*) FILTER (%[1]s IS NOT NULL), min(c) FILTER (%[1]s IS NOT NULL AND %[2]s), "+
			"min(c) FILTER (%[1]s IS NOT NULL AND NOT %[2]s AND CAST(%[1]s AS VARCHAR) IS DISTINCT FROM CAST(TRY_CAST(c AS %[3]s) AS VARCHAR)) FROM texts", f.quick, slow.misfits(), typ)
		var known int
		var misfit, other *string
		if err := s.conn.QueryRowContext(t.Context(), same).Scan(&known, &misfit, &other); err != nil {
			t.Fatal(err)
		}
		if misfit != nil {
			t.Errorf("%s: %q is known, and does not fit", typ, *misfit)
		}
		if other != nil {
			t.Errorf("%s: %q is read as another value", typ, *other)
		}
		if known < 5 {
			t.Errorf("%s: only %d texts are known: the test shows nothing", typ, known)
		}
	}
}

// What is usual for inference has the pattern that inference wants: leading zeros make a text.
func TestUsualTextsHaveThePatternOfTheirInferredType(t *testing.T) {
	s := usualSession(t)
	for _, inf := range inferred {
		f, err := fitFor("c", inf.typ, csvOptions{decimal: "."})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.quicken(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if f.quick == "" || inf.pattern == "" {
			continue
		}
		for _, text := range edges {
			var wrong *bool
			q := fmt.Sprintf("SELECT %s IS NOT NULL AND NOT regexp_full_match(c, %s) FROM (SELECT %s AS c)", f.quick, literal(csvOptions{decimal: "."}.pattern(inf.pattern)), literal2(text))
			if err := s.conn.QueryRowContext(t.Context(), q).Scan(&wrong); err != nil {
				t.Fatal(err)
			}
			if wrong != nil && *wrong {
				t.Errorf("%s: %q is known, and has not the pattern", inf.typ, text)
			}
		}
	}
}

// Texts that stand beside NULLs, and outside of the vector, in more rows than a vector has.
func TestUsualTextsInLongVectors(t *testing.T) {
	s := usualSession(t)
	f := fit{column: "c", typ: "BIGINT", usual: true}
	if err := s.quicken(t.Context(), &f); err != nil {
		t.Fatal(err)
	}
	q := "SELECT count(*), count(v), sum(v), count(v) FILTER (v <> i * 1000000000) FROM (SELECT i, " + f.quick + " AS v FROM (SELECT i, CASE WHEN i % 3 = 0 THEN NULL WHEN i % 3 = 1 THEN CAST(i * 1000000000 AS VARCHAR) ELSE 'no number here, but a long text' END AS c FROM range(100000) r(i)))"
	var rows, known, wrong int
	var sum float64
	if err := s.conn.QueryRowContext(t.Context(), q).Scan(&rows, &known, &sum, &wrong); err != nil {
		t.Fatal(err)
	}
	if rows != 100000 || known != 33333 || wrong != 0 || sum != 33333*(33332*3.0+2)/2*1e9 {
		t.Fatalf("%d rows, %d known, sum %g, %d wrong", rows, known, sum, wrong)
	}
}

// The common types are spelled as DuckDB spells them, and none is common that DuckDB refuses.
func TestCommonTypesAreDuckDBs(t *testing.T) {
	s := usualSession(t)
	texts := []string{"decimal(18,2)", "DECIMAL(38,38)", "Decimal(1,0)", "decimal(0,0)", "decimal(39,1)", "decimal(2,3)", "decimal(5,-1)", "decimal(05,2)", "decimal( 5,2)", "decimal(5)", "decimal(5,2) x", "bigint ", "BigInt", "varchar(3)"}
	for name := range commonTypes {
		texts = append(texts, name)
	}
	common := 0
	for _, text := range texts {
		known, ok := commonType(text)
		if !ok {
			continue
		}
		common++
		cols, err := s.describe(t.Context(), "SELECT CAST(NULL AS "+text+")")
		if err != nil || cols[0].Type != known {
			t.Errorf("%s is called %s: %v, %v", text, known, cols, err)
		}
	}
	if want := len(commonTypes) + 4; common != want {
		t.Errorf("%d of the texts are common types, want %d", common, want)
	}
}

func usualSession(t *testing.T) *session {
	t.Helper()
	opened, err := Engine{}.Open(context.Background(), compute.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened.(*session)
}

// literal2 is literal for texts with NUL bytes too.
func literal2(text string) string {
	parts := strings.Split(text, "\x00")
	for i := range parts {
		parts[i] = literal(parts[i])
	}
	return strings.Join(parts, " || chr(0) || ")
}
