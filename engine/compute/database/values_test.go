package database

import (
	"strings"
	"testing"
)

func TestParseDecimal(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, c := range []struct {
		text         string
		width, scale int32
		want         string // empty: it is none of that type
	}{
		{"0", 1, 0, "0"}, {"-0.00", 5, 2, "0.00"}, {"007.10", 5, 2, "7.10"}, {"-1.5", 5, 2, "-1.50"}, {"999.99", 5, 2, "999.99"},
		{"1000", 5, 2, ""}, {"1.005", 5, 2, ""}, {"1.500", 5, 2, "1.50"}, {"0.00000", 5, 2, "0.00"}, {".5", 5, 2, ""}, {"5.", 5, 2, "5.00"},
		{"1e2", 5, 2, ""}, {"+1", 5, 2, ""}, {"--1", 5, 2, ""}, {" 1", 5, 2, ""}, {"", 5, 2, ""}, {"-", 5, 2, ""}, {"1.2.3", 5, 2, ""}, {"NaN", 5, 2, ""}, {"1,5", 5, 2, ""}, {"١", 5, 2, ""},
		{"999999999999999999", 18, 0, "999999999999999999"}, {"-9999999999999999999", 19, 0, "-9999999999999999999"}, {nines, 38, 0, nines}, {"-" + nines, 38, 0, "-" + nines}, {nines + "0", 38, 0, ""},
		{"0." + nines, 38, 38, "0." + nines}, {"1." + nines, 38, 38, ""},
	} {
		n, ok := parseDecimal(c.text, c.width, c.scale)
		if ok != (c.want != "") || ok && n.ToString(c.scale) != c.want {
			t.Errorf("%q as DECIMAL(%d,%d) is %s, %t, want %q", c.text, c.width, c.scale, n.ToString(c.scale), ok, c.want)
		}
	}
}

func TestParseMoment(t *testing.T) {
	for _, c := range []struct {
		text, typ, want string
	}{
		{"2026-01-31", "DATE", "2026-01-31 00:00:00"}, {"2026-02-29", "DATE", ""}, {"2026-1-3", "DATE", ""}, {"0000-00-00", "DATE", ""}, {"2026-01-31 00:00:00", "DATE", ""},
		{"2026-01-31 23:59:59.999999", "TIMESTAMP", "2026-01-31 23:59:59.999999"}, {"2026-01-31T10:00", "TIMESTAMP", "2026-01-31 10:00:00"}, {"2026-01-31", "TIMESTAMP", "2026-01-31 00:00:00"},
		{"2026-01-31 10:00:00Z", "TIMESTAMP", "2026-01-31 10:00:00"}, {"2026-01-31 10:00:00.1234567", "TIMESTAMP", ""}, {"2026-01-31 24:00:00", "TIMESTAMP", ""}, {"2026-01-31 10:00:00+02", "TIMESTAMP", ""}, {"noon", "TIMESTAMP", ""},
	} {
		at, ok := parseMoment(c.text, c.typ)
		if ok != (c.want != "") || ok && at.Format("2006-01-02 15:04:05.999999") != c.want {
			t.Errorf("%q as %s is %s, %t, want %q", c.text, c.typ, at, ok, c.want)
		}
	}
}
