package duckdb

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// DuckDB's own casts lose digits without a word: '1.5' as BIGINT is 2, '1.505' as DECIMAL(18,2) is
// 1.51, and a DATE drops a time of day. So csv columns are read as text and converted here, by SQL that
// accepts only what the declared type holds exactly.

// fit is how the text of one csv column becomes a value.
type fit struct {
	column string // the text, as an SQL expression
	exact  string // SQL condition on the text; empty: none
	tried  string // SQL that gives the value, and NULL for text that does not fit, instead of exact and value; empty: these do
	value  string // SQL that converts the text, with CAST or strptime in place of %s
	format bool   // value uses strptime
	usual  bool   // the type's usual texts stand for what they are usually read as
	quick  string // SQL that gives the values of usual texts, NULL for others; empty: there is none
	typ    string
}

const (
	isoDate = `[0-9]{4,6}-[0-9]{1,2}-[0-9]{1,2}`
	isoTime = `[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{0,6}0*)?)?`
	offset  = `[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?` // RFC 3339, but for what may be left out
)

// fitFor makes the conversion to a type. Types that text cannot hold in one common way are refused.
func fitFor(column, typ string, o csvOptions) (fit, error) {
	f := fit{column: column, typ: typ, value: column}
	base, _, _ := strings.Cut(typ, "(")
	point := `\.`
	if o.decimal != "." {
		point = quoteMeta(o.decimal)
	}
	digits := `([0-9]+)`
	if o.thousands != "" {
		digits = `([0-9]+|[1-9][0-9]{0,2}(` + quoteMeta(o.thousands) + `[0-9]{3})+)`
	}
	switch base {
	case "VARCHAR":
		if o.maxField > 0 {
			f.exact = fmt.Sprintf("strlen(%s) <= %d", column, o.maxField)
		}
		return f, nil
	case "BOOLEAN", "UUID":
	case "BLOB":
		f.exact = f.matches(`([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?`)
		f.value = "from_base64(" + column + ")"
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT":
		f.exact = f.matches(`\s*[+-]?` + digits + `(` + point + `0*)?\s*`)
		f.value = f.pointed(o)
		f.usual = true
	case "DECIMAL":
		var width, scale int
		if _, err := fmt.Sscanf(typ, "DECIMAL(%d,%d)", &width, &scale); err != nil {
			return f, fmt.Errorf("reading the type %s: %w", typ, err)
		}
		f.exact = f.matches(fmt.Sprintf(`\s*[+-]?%s?(%s[0-9]{0,%d}0*)?\s*`, digits, point, scale))
		f.value = f.pointed(o)
		f.usual = o.decimal == "."
	case "FLOAT", "DOUBLE":
		f.exact = f.matches(`\s*[+-]?(` + digits + `?(` + point + `[0-9]*)?([eE][+-]?[0-9]+)?|[Nn][Aa][Nn]|[Ii][Nn][Ff]([Ii][Nn][Ii][Tt][Yy])?)\s*`)
		f.value = f.pointed(o)
		// The cast makes infinity of a number that is too large.
		f.exact = fmt.Sprintf("(%s AND (contains(lower(%s), 'inf') OR NOT coalesce(isinf(TRY_CAST(%s AS %s)), false)))", f.exact, column, f.value, typ)
		f.usual = o.decimal == "."
	case "DATE":
		if o.dateFormat != "" {
			return f.parsed(o.dateFormat), nil
		}
		f.exact = f.matches(`\s*` + isoDate + `([T ]00:00(:00(\.0*)?)?)?\s*`)
		f.usual = true
	case "TIME":
		f.exact = f.matches(`\s*` + isoTime + `\s*`)
	case "TIMESTAMP":
		if o.timestampFormat != "" {
			return f.parsed(o.timestampFormat), nil
		}
		// Another offset than UTC would be dropped by the cast.
		f.exact = f.matches(`\s*` + isoDate + `([T ]` + isoTime + `)?\s*(Z|[+-]00(:?00)?)?\s*`)
		f.usual = true
	case "TIMESTAMP WITH TIME ZONE":
		if o.timestampFormat != "" {
			return f.parsed(o.timestampFormat).inZone(o), nil
		}
		f.exact = f.matches(`\s*` + isoDate + `([T ]` + isoTime + `)?\s*(Z|` + offset + `)?\s*`)
		f = f.inZone(o)
	default:
		return f, &compute.Error{Kind: compute.BadOption, Message: "text cannot be read as the type " + typ, Hint: "declare it as varchar and convert it in a step"}
	}
	return f, nil
}

// inZone has text that tells no zone read as local time of the option's.
func (f fit) inZone(o csvOptions) fit {
	switch {
	case o.timeZone == "":
	case !f.format:
		zoned := f.matches(`.*:.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)\s*`)
		f.tried = fmt.Sprintf("CASE WHEN NOT %s THEN NULL WHEN %s THEN TRY_CAST(%s AS %s) ELSE %s END", f.exact, zoned, f.column, f.typ,
			localTime("TRY_CAST("+f.column+" AS TIMESTAMP)", o.timeZone))
	case !zonedFormat(o.timestampFormat):
		local := localTime("try_strptime("+f.value+")", o.timeZone)
		if f.tried != "" {
			local = fmt.Sprintf("CASE WHEN (%s) IS NOT NULL THEN %s END", f.tried, local)
		}
		f.format, f.tried = false, local
	}
	return f
}

// zonedFormat tells that a strptime pattern reads a zone or an offset.
func zonedFormat(format string) bool {
	format = strings.ReplaceAll(format, "%%", "")
	return strings.Contains(format, "%z") || strings.Contains(format, "%Z")
}

func (f fit) matches(pattern string) string {
	return fmt.Sprintf("regexp_full_match(%s, %s)", f.column, literal(pattern))
}

// pointed gives the text with a point before the decimals, and nothing between thousands.
func (f fit) pointed(o csvOptions) string {
	text := f.column
	if o.thousands != "" {
		text = fmt.Sprintf("replace(%s, %s, '')", text, literal(o.thousands))
	}
	if o.decimal != "." {
		text = fmt.Sprintf("replace(%s, %s, '.')", text, literal(o.decimal))
	}
	return text
}

// parsed has text read by a strptime pattern. What the pattern reads and the type does not hold, a time of day or nanoseconds, must
// be zero.
func (f fit) parsed(format string) fit {
	f.format = true
	f.value = f.column + ", " + literal(format)
	tried := "try_strptime(" + f.value + ")"
	switch {
	case f.typ == "DATE" && readsTime.MatchString(format):
		f.tried = fmt.Sprintf("CASE WHEN CAST(%[1]s AS TIMESTAMP) = CAST(CAST(%[1]s AS DATE) AS TIMESTAMP) THEN CAST(%[1]s AS DATE) END", tried)
	case f.typ != "DATE" && readsNanoseconds.MatchString(format):
		f.tried = fmt.Sprintf("CASE WHEN epoch_ns(%[1]s) %% 1000 = 0 THEN CAST(%[1]s AS %[2]s) END", tried, f.typ)
	}
	return f
}

// What a strptime pattern reads.
var (
	readsTime        = regexp.MustCompile(`^([^%]|%-?[^-])*?%-?[HIMSfgncXzZ]`)
	readsYear        = regexp.MustCompile(`^([^%]|%-?[^-])*?%-?[YyGcx]`)
	readsNanoseconds = regexp.MustCompile(`^([^%]|%-?[^-])*?%n`)
)

// anything tells that every text fits.
func (f fit) anything() bool { return f.typ == "VARCHAR" && f.exact == "" }

// convert gives the value; text that does not fit makes the statement fail.
func (f fit) convert() string {
	switch {
	case f.anything():
		return f.column
	case f.tried != "":
		return fmt.Sprintf("coalesce(%s, CAST(CASE WHEN %s IS NOT NULL THEN error('a value does not fit its type') END AS %s))", f.tried, f.column, f.typ)
	case f.format:
		return fmt.Sprintf("CAST(strptime(%s) AS %s)", f.value, f.typ)
	case f.exact == "":
		return fmt.Sprintf("CAST(%s AS %s)", f.value, f.typ)
	}
	// The CASE keeps the cast from seeing text that it would round.
	matched := fmt.Sprintf("CAST(CASE WHEN %s IS NULL OR %s THEN %s ELSE error('a value does not fit its type') END AS %s)", f.column, f.exact, f.value, f.typ)
	if f.quick == "" {
		return matched
	}
	return fmt.Sprintf("coalesce(%s, %s)", f.quick, matched)
}

// misfits is the SQL condition for text that convert would fail on.
func (f fit) misfits() string {
	switch {
	case f.anything():
		return "false"
	case f.tried != "":
		return fmt.Sprintf("(%s IS NOT NULL AND (%s) IS NULL)", f.column, f.tried)
	case f.format:
		return fmt.Sprintf("(%s IS NOT NULL AND try_strptime(%s) IS NULL)", f.column, f.value)
	case f.typ == "BLOB":
		return fmt.Sprintf("(%s IS NOT NULL AND NOT %s)", f.column, f.exact)
	case f.exact == "":
		return fmt.Sprintf("(%s IS NOT NULL AND TRY_CAST(%s AS %s) IS NULL)", f.column, f.value, f.typ)
	}
	wrong := fmt.Sprintf("NOT (%s AND TRY_CAST(%s AS %s) IS NOT NULL)", f.exact, f.value, f.typ)
	if f.quick != "" {
		wrong = f.quick + " IS NULL AND " + wrong
	}
	return fmt.Sprintf("(%s IS NOT NULL AND %s)", f.column, wrong)
}

func quoteMeta(s string) string {
	return "[" + strings.NewReplacer(`\`, `\\`, "]", `\]`, "^", `\^`).Replace(s) + "]"
}
