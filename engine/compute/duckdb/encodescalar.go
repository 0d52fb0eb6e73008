package duckdb

import (
	"fmt"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

func (t textFormat) scalar(e *encoding, col compute.Column, info driverduckdb.TypeInfo) (string, error) {
	return t.scalarOf(e, quote(col.Name), col, info)
}

// scalarOf gives the SQL that hands out a value so that its text loses nothing. col is the column that x is, or is part of.
func (t textFormat) scalarOf(e *encoding, x string, col compute.Column, info driverduckdb.TypeInfo) (string, error) {
	switch info.InternalType() {
	case driverduckdb.TYPE_BLOB:
		return "base64(" + x + ")", nil
	case driverduckdb.TYPE_DECIMAL:
		return wholeDecimal(x, info), nil
	case driverduckdb.TYPE_DATE:
		return t.dated(e, x, col, "DATE", t.dateFormat), nil
	case driverduckdb.TYPE_TIMESTAMP, driverduckdb.TYPE_TIMESTAMP_S, driverduckdb.TYPE_TIMESTAMP_MS, driverduckdb.TYPE_TIMESTAMP_NS, driverduckdb.TYPE_TIMESTAMP_TZ:
		text := t.dated(e, x, col, "TIMESTAMP", t.timestampFormat)
		if t.timestampFormat == "" && t.name == "json" {
			text = "replace(CAST(" + text + " AS VARCHAR), ' ', 'T')" // RFC 3339
			if info.InternalType() == driverduckdb.TYPE_TIMESTAMP_TZ {
				text = "regexp_replace(" + text + ", '[+]00$', 'Z')" // the session's zone is UTC
			}
		}
		return text, nil
	case driverduckdb.TYPE_TIME:
		return beforeMidnight(e, x, col), nil
	case driverduckdb.TYPE_HUGEINT, driverduckdb.TYPE_UHUGEINT:
		return x, nil
	}
	return exactExpr(x, info)
}

// wholeDecimal puts a digit before the point where DuckDB prints none, as in .5: JSON and some readers of csv want one.
func wholeDecimal(x string, info driverduckdb.TypeInfo) string {
	d, ok := info.Details().(*driverduckdb.DecimalDetails)
	if !ok || d.Width != d.Scale {
		return x
	}
	return "regexp_replace(CAST(" + x + " AS VARCHAR), '^(-?)[.]', '\\1' || '0.')"
}

// dated gives the SQL of a date or time that ISO 8601 can write with four digits of a year; others are refused.
func (t textFormat) dated(e *encoding, x string, col compute.Column, typ, pattern string) string {
	when := outsideYears(x, typ)
	value := x
	if pattern != "" {
		value = "strftime(" + x + ", " + literal(pattern) + ")"
	}
	if x != quote(col.Name) {
		return fmt.Sprintf("CASE WHEN %s THEN error(%s) ELSE %s END", when, literal("a date"+outside), value)
	}
	return e.refuse(col.Name, value, when, func(text string) string { return text + outside }, advice("replace it in a step, with NULL perhaps"))
}

const outside = " lies outside the years 1 to 9999, which is all that is written the same everywhere"

// outsideYears gives the SQL condition that a DATE or TIMESTAMP has no year of four digits, or is infinite.
func outsideYears(x, typ string) string {
	return fmt.Sprintf("CAST(%s AS %s) NOT BETWEEN %s '0001-01-01' AND %s '9999-12-31%s'", x, typ, typ, typ, map[string]string{"TIMESTAMP": " 23:59:59.999999"}[typ])
}

// beforeMidnight gives the SQL of a time of day. DuckDB has 24:00:00 too, which other readers take for NULL or midnight.
func beforeMidnight(e *encoding, x string, col compute.Column) string {
	const when, problem = " = TIME '24:00:00'", "24:00:00 is no time of day for other readers"
	if x != quote(col.Name) {
		return fmt.Sprintf("CASE WHEN %s THEN error(%s) ELSE %s END", x+when, literal(problem), x)
	}
	return e.refuse(col.Name, x, x+when, func(string) string { return problem }, advice("replace it in a step, as nullif(x, '24:00:00')"))
}
