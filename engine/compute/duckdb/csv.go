package duckdb

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// maxLineSize is the most bytes of a line, or of a JSON value, that can be had.
const maxLineSize = 1 << 30

// headerLimit is the most bytes that are read in search of the end of a header line.
const headerLimit = 16 << 20

// csvOptions are the options of a csv input.
type csvOptions struct {
	delimiter, quote, escape    string
	header                      bool
	null                        string
	quotedNull                  bool // a quoted field that reads like null is NULL
	decimal                     string
	thousands                   string // between groups of three digits; empty: nothing
	dateFormat, timestampFormat string // strptime patterns; empty: ISO 8601
	timeZone                    string // of timestamps that tell none; empty: UTC
	skip                        int    // lines before the header
	comment                     string // begins lines that are none of the data; empty: nothing does
	ragged                      string // what a line of too few or too many fields is: "error", "pad" or "reject"
	raggedEnds                  bool   // "error" was written: it ends the reading even where there are rejects
	maxLine                     int    // bytes
	maxField                    int    // bytes of a text; 0: those of the line
	skipEmpty                   bool   // a file without a byte has no rows
	partitions                  bool   // key=value folders are columns
	textCoding
}

// careful tells that the options ask for what DuckDB's reader does not do, or not without losing something: it cuts off what follows
// a comment's sign anywhere, drops an escape that escapes nothing, and loses text after quotes when a delimiter has several bytes.
func (o csvOptions) careful() bool {
	return !o.usual() || o.comment != "" || o.ragged == "pad" || o.escape != o.quote && o.escape != "" || len(o.delimiter) > 1
}

func readCSVOptions(given map[string]string) (csvOptions, []*compute.Error) {
	o := &options{what: "csv", given: given}
	c := csvOptions{
		delimiter:       o.text("delimiter", ","),
		quote:           o.text("quote", `"`),
		escape:          o.text("escape", o.text("quote", `"`)),
		header:          o.boolean("header", true),
		null:            o.text("null", ""),
		quotedNull:      o.boolean("quoted_null", true),
		decimal:         o.text("decimal", "."),
		thousands:       o.text("thousands", ""),
		dateFormat:      o.text("date_format", ""),
		timestampFormat: o.text("timestamp_format", ""),
		timeZone:        o.text("time_zone", ""),
		skip:            o.integer("skip", 0, 0, 1_000_000),
		comment:         o.text("comment", ""),
		ragged:          o.choice("ragged", "error", "pad", "reject"),
		maxLine:         o.integer("max_line_size", 2_000_000, 1024, maxLineSize),
		maxField:        o.integer("max_field_bytes", 0, 0, maxLineSize),
		skipEmpty:       o.choice("empty_files", "error", "skip") == "skip",
		partitions:      o.boolean("partitions", false),
		textCoding:      o.textCoding(),
	}
	_, c.raggedEnds = given["ragged"]
	c.raggedEnds = c.raggedEnds && c.ragged == "error"
	if len(c.delimiter) == 0 || len(c.delimiter) > 4 || strings.ContainsAny(c.delimiter, "\r\n") {
		o.bad("delimiter", "one to four bytes without a line end")
	}
	if len(c.quote) > 1 || strings.ContainsAny(c.quote, "\r\n") {
		o.bad("quote", "one byte that is no line end, or empty for none")
	}
	if c.escape != c.quote && (len(c.escape) > 1 || strings.ContainsAny(c.escape, "\r\n") || c.escape != "" && strings.Contains(c.delimiter, c.escape)) {
		o.bad("escape", "one byte that is no line end and not of the delimiter, or empty for none")
	}
	if len(c.decimal) != 1 || strings.ContainsAny(c.decimal, "0123456789+-eE ") {
		o.bad("decimal", "one character, as , or .")
	}
	if t := c.thousands; t != "" && (utf8.RuneCountInString(t) != 1 || strings.ContainsAny(t, "0123456789+-eE\r\n") || t == c.decimal) {
		o.bad("thousands", "one character, and another one than that of the option decimal")
	}
	if strings.ContainsAny(c.comment, "\r\n") || len(c.comment) > 16 {
		o.bad("comment", "up to 16 bytes without a line end")
	}
	if c.comment != "" && c.quote != "" && strings.HasPrefix(c.comment, c.quote) {
		o.bad("comment", "what no field can begin with: it begins with the quote")
	}
	if c.comment != "" && (strings.HasPrefix(c.delimiter, c.comment) || strings.HasPrefix(c.comment, c.delimiter)) {
		o.bad("comment", "what no line of data can begin with: the first field may be empty, and then a line begins with the delimiter")
	}
	if strings.ContainsAny(c.null, "\r\n") {
		o.bad("null", "text without a line end")
	}
	if c.quote != "" && strings.Contains(c.delimiter, c.quote) {
		o.bad("quote", "another byte than that of the delimiter")
	}
	return c, o.wrong()
}

// unheard refuses what asks for rejects where there are none.
func (o csvOptions) unheard(in compute.Input) []*compute.Error {
	if o.ragged != "reject" || in.Rejects != nil {
		return nil
	}
	return []*compute.Error{{Kind: compute.BadOption, Option: "ragged", Message: "option ragged: reject sends lines to the rejects of the input, and it has none", Hint: "give the input rejects: NAME, and have an output write them"}}
}

// csvInput is what blame needs to find a bad line again.
type csvInput struct {
	options csvOptions
	groups  []csvGroup
	columns []compute.Column // of the files
	paths   pathColumns
	odd     bool // a file begins with what DuckDB would lose rows by
}

// careful tells that csvScanner reads the files, and not DuckDB.
func (c *csvInput) careful() bool { return c.odd || c.options.careful() }

// csvGroup is the files that have the same header and the same line ends.
type csvGroup struct {
	files  []compute.File
	width  int    // columns in the files
	places []int  // for each column of the relation its place in the files
	end    string // of lines; empty: the files have one line at most
	serial bool   // one thread reads each file; see seamScan
	table  string // the table that its records were read into; empty: DuckDB reads the files
}

func (s *session) openCSV(ctx context.Context, in compute.Input, r *rejects) (*input, string, error) {
	o, wrong := readCSVOptions(in.Options)
	if wrong = append(wrong, o.unheard(in)...); len(wrong) > 0 {
		return nil, "", wrong[0]
	}
	f, err := filesOf(in)
	if err != nil {
		return nil, "", err
	}
	c := &csvInput{options: o, columns: in.Columns}
	if o.partitions {
		if c.columns, c.paths, err = splitColumns(in.Columns, f); err != nil {
			return nil, "", err
		}
		if err = s.checkFolders(ctx, c.paths.keys); err != nil {
			return nil, "", err
		}
	}
	if err := c.group(ctx, f.files); err != nil {
		return nil, "", err
	}
	if err := c.paths.clash(c.columns, f.files[0].Path); err != nil {
		return nil, "", err
	}
	opened := &input{files: f.files, csv: c}
	if err := s.checkTimes(ctx, o.timeZone, o.dateFormat, o.timestampFormat); err != nil {
		return nil, "", err
	}
	if len(c.columns) == 0 {
		return nil, "", &compute.Error{Kind: compute.InputInvalid, File: f.files[0].Path, Message: "it is empty, as all files of the input are, so there is nothing to find columns by", Hint: "declare the columns"}
	}
	if c.careful() {
		if err := c.load(ctx, s, in.Name, r); err != nil {
			return nil, "", err
		}
	}
	if len(in.Columns) == 0 {
		if err := s.inferCSV(ctx, opened, in.Known); err != nil {
			return nil, "", err
		}
	}
	query, err := c.query(ctx, s, in.Columns, false)
	return opened, query, err
}

// group reads the header of every file and sorts the files by it. Without declared columns the first file says
// what the columns are.
func (c *csvInput) group(ctx context.Context, files []compute.File) error {
	byHeader := map[string]int{}
	for _, f := range files {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		if f.Size == 0 && c.options.skipEmpty {
			continue
		}
		var seams *seamScan
		if c.options.quote != "" && !c.options.careful() {
			seams = &seamScan{quote: c.options.quote[0]}
		}
		if err := c.options.whole(ctx, f, seams); err != nil {
			return err
		}
		header, line, end, err := c.header(f.Path)
		if err != nil {
			return err
		}
		if len(c.columns) == 0 {
			if c.columns, err = columnsOf(f.Path, line, header, c.options); err != nil {
				return err
			}
		}
		places, problem, hint := match(c.columns, header, true)
		if d := otherDelimiter(header, c.options); problem != "" && d != "" {
			hint = "set the option delimiter, as " + d + "; " + hint
		}
		if !c.options.header {
			places, problem, hint = inOrder(len(c.columns)), "", ""
		} else if wrong := nameless(header); problem == "" && wrong != "" {
			problem, hint = wrong, "name it in the file, or declare the columns and set header to false"
		}
		if problem != "" {
			return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Line: line, Message: problem, Hint: hint}
		}
		if c.options.careful() {
			end = ""
		}
		serial := seams != nil && seams.spans
		key := fmt.Sprintf("%v%q%t", places, end, serial)
		i, ok := byHeader[key]
		if !ok {
			i = len(c.groups)
			byHeader[key] = i
			c.groups = append(c.groups, csvGroup{width: len(places), places: places, end: end, serial: serial})
		}
		c.groups[i].files = append(c.groups[i].files, f)
	}
	return nil
}

func inOrder(n int) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	return places
}

// read is the SQL that reads files of a group, all columns as text named c0, c1, …
func (c *csvInput) read(g csvGroup, files []compute.File, more string) string {
	o := c.options
	if g.table != "" {
		return c.readTable(g, files)
	}
	var columns strings.Builder
	for i := range g.width {
		if i > 0 {
			columns.WriteString(", ")
		}
		fmt.Fprintf(&columns, "'c%d': 'VARCHAR'", i)
	}
	switch {
	case o.header: // a header has no line end within quotes
	case g.end == "\n":
		more += `, new_line = '\n'`
	case g.end == "\r":
		more += `, new_line = '\r'` // and never \r\n, with which DuckDB loses rows
	}
	if g.serial {
		more += ", parallel = false"
	}
	return fmt.Sprintf("read_csv(%s, auto_detect = false, header = %t, skip = %d, delim = %s, quote = %s, escape = %s, "+
		"nullstr = %s, allow_quoted_nulls = %t, max_line_size = %d, strict_mode = true, null_padding = false, hive_partitioning = false%s, columns = {%s}%s)",
		fileList(files), o.header, o.skip, literal(o.delimiter), literal(o.quote), literal(o.escape),
		literal(o.null), o.quotedNull, o.maxLine, o.option(), columns.String(), more)
}

// fits gives the conversions of the columns of one group.
func (c *csvInput) fits(ctx context.Context, s *session, g csvGroup) ([]fit, error) {
	fits := make([]fit, len(c.columns))
	for i, col := range c.columns {
		f, err := fitFor(fmt.Sprintf("c%d", g.places[i]), col.Type, c.options)
		if err != nil {
			return nil, inColumn(err, col.Name)
		}
		if err := s.quicken(ctx, &f); err != nil {
			return nil, err
		}
		fits[i] = f
	}
	return fits, nil
}

// query is the SQL of the whole relation, or of its rows of which all values fit.
func (c *csvInput) query(ctx context.Context, s *session, declared []compute.Column, fitting bool) (string, error) {
	parts := make([]string, len(c.groups))
	for i, g := range c.groups {
		fits, err := c.fits(ctx, s, g)
		if err != nil {
			return "", err
		}
		items := make([]string, len(fits))
		for j, f := range fits {
			items[j] = f.convert() + " AS " + quote(c.columns[j].Name)
		}
		parts[i] = "SELECT " + c.paths.selectItems(declared, c.columns, items) + " FROM " + c.read(g, g.files, c.paths.option())
		if fitting {
			parts[i] += " WHERE NOT (" + anyMisfit(fits) + ")"
		}
	}
	if len(parts) == 0 {
		return noRows(declared), nil
	}
	return strings.Join(parts, " UNION ALL "), nil
}

func anyMisfit(fits []fit) string {
	wrong := make([]string, len(fits))
	for i, f := range fits {
		wrong[i] = f.misfits()
	}
	return strings.Join(wrong, " OR ")
}
