package duckdb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// csvFormat is the options of csv outputs.
//
// A NULL is the text of the option null, bare; a text that reads like it is quoted, the empty text too if null is empty. What
// tells the two apart when it reads (an input with quoted_null: false, for one) loses nothing.
type csvFormat struct {
	textFormat
	delimiter, quote, escape string
	header                   bool
	null                     string
}

func readCSVFormat(given map[string]string) (format, error) {
	o := &options{what: "csv", given: given}
	c := csvFormat{
		textFormat: readTextFormat(o, "csv"),
		delimiter:  o.text("delimiter", ","),
		quote:      o.text("quote", `"`),
		header:     o.boolean("header", true),
		null:       o.text("null", ""),
	}
	c.escape = o.text("escape", c.quote)
	if len(c.delimiter) != 1 || strings.ContainsAny(c.delimiter, "\r\n") {
		o.bad("delimiter", "one byte that is no line end") // few readers take more
	}
	if len(c.quote) != 1 || strings.ContainsAny(c.quote, "\r\n"+c.delimiter) {
		o.bad("quote", "one byte, unlike the delimiter")
	}
	if len(c.escape) != 1 || strings.ContainsAny(c.escape, "\r\n"+c.delimiter) {
		o.bad("escape", "one byte, unlike the delimiter")
	}
	if strings.ContainsAny(c.null, "\r\n"+c.delimiter+c.quote+c.escape) {
		o.bad("null", "text without a line end, delimiter, quote and escape")
	}
	return c, o.done()
}

func (c csvFormat) selectList(e *encoding) ([]string, error) {
	items := make([]string, len(e.columns))
	for i, col := range e.columns {
		expr := quote(col.Name)
		if !e.isPartition(col.Name) {
			var err error
			if expr, err = c.cell(e, col, e.infos[i]); err != nil {
				return nil, inColumn(err, col.Name)
			}
		}
		items[i] = expr + " AS " + quote(col.Name)
	}
	return items, nil
}

// cell gives the SQL of what stands in a column.
func (c csvFormat) cell(e *encoding, col compute.Column, info driverduckdb.TypeInfo) (string, error) {
	switch info.InternalType() {
	case driverduckdb.TYPE_LIST, driverduckdb.TYPE_ARRAY, driverduckdb.TYPE_STRUCT, driverduckdb.TYPE_MAP, driverduckdb.TYPE_UNION:
		return "", invalid("", "csv cannot hold "+col.Type, "take its parts apart in a step, make text of it with to_json, or write json or parquet")
	}
	expr, err := c.scalar(e, col, info)
	if err != nil {
		return "", err
	}
	if !c.header && e.firstInFile() == col.Name && textual(col.Type) {
		expr = e.refuse(col.Name, expr, "starts_with(CAST("+quote(col.Name)+" AS VARCHAR), chr(65279))", func(string) string {
			return "a text that begins with U+FEFF cannot begin a file: readers take it for a byte order mark, and leave it out"
		}, advice("set header to true, or put another column in front"))
	}
	if c.null == "" && len(e.columns)-len(e.PartitionBy) == 1 {
		expr = e.refuse(col.Name, expr, quote(col.Name)+" IS NULL", func(string) string {
			return "a NULL in a csv file of one column would be an empty line, which readers leave out"
		}, advice("set the option null, as NULL, or write another column beside it"))
	}
	return expr, nil
}

// firstInFile is the column that a file begins with.
func (e *encoding) firstInFile() string {
	return e.columns[slices.IndexFunc(e.columns, func(c compute.Column) bool { return !e.isPartition(c.Name) })].Name
}

// quoted gives the columns that are quoted throughout: those that may hold an escape of its own, because readers (pyarrow, Python)
// take it for one outside quotes too, where DuckDB leaves it as it is; and the only column of a file, of which an empty text would
// be an empty line, which readers leave out.
func (c csvFormat) quoted(e *encoding) (names []string) {
	single := len(e.columns)-len(e.PartitionBy) == 1 && c.null != "" // which is quoted where a text reads like it
	for i, col := range e.columns {
		if e.isPartition(col.Name) {
			continue
		}
		may := single || c.escape != c.quote
		switch e.infos[i].InternalType() {
		case driverduckdb.TYPE_VARCHAR, driverduckdb.TYPE_ENUM:
		case driverduckdb.TYPE_BLOB:
			may = may && (single || c.mayEscape())
		default:
			may = c.escape != c.quote && c.mayEscape()
		}
		if may {
			names = append(names, quote(col.Name))
		}
	}
	return names
}

// mayEscape tells that more than text may hold the escape.
func (c csvFormat) mayEscape() bool { return c.escape != `\` || c.dateFormat+c.timestampFormat != "" }

func (c csvFormat) copy(ctx context.Context, s *session, e *encoding, query string) ([]compute.Encoded, error) {
	more := fmt.Sprintf(", HEADER %t, DELIMITER %s, QUOTE %s, ESCAPE %s, NULLSTR %s", c.header, literal(c.delimiter), literal(c.quote), literal(c.escape), literal(c.null))
	if quoted := c.quoted(e); len(quoted) > 0 {
		more += ", FORCE_QUOTE (" + strings.Join(quoted, ", ") + ")"
	}
	r := records{quote: c.quote[0], escape: c.escape[0]}
	if c.header {
		r.besides = 1
	}
	return c.copyText(ctx, s, e, query, more, r)
}
