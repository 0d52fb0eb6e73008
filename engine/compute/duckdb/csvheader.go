package duckdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// columnsOf makes columns, as yet without types, of a header.
func columnsOf(file string, line int64, header []string, o csvOptions) ([]compute.Column, error) {
	if d := otherDelimiter(header, o); d != "" {
		return nil, &compute.Error{Kind: compute.InputInvalid, File: file, Line: line, Message: fmt.Sprintf("its only column would be %q, whose name holds what delimits columns elsewhere", header[0]),
			Hint: "set the option delimiter, as " + d + "; if it is one column, declare it"}
	}
	if wrong := nameless(header); wrong != "" {
		return nil, &compute.Error{Kind: compute.InputInvalid, File: file, Line: line, Message: wrong, Hint: "name it in the file, or declare the columns and set header to false"}
	}
	columns := make([]compute.Column, len(header))
	for i, name := range header {
		columns[i] = compute.Column{Name: name}
	}
	return columns, nil
}

// nameless tells which columns of a header have no name; empty: all have one.
func nameless(header []string) string {
	var which []string
	for i, name := range header {
		if strings.TrimSpace(name) == "" {
			which = append(which, strconv.Itoa(i+1))
		}
	}
	switch len(which) {
	case 0:
		return ""
	case 1:
		return "column " + which[0] + " has no name"
	}
	return "columns " + strings.Join(which, ", ") + " have no name"
}

// otherDelimiter is what seems to delimit the names of a header that is one field, as it would be written in YAML;
// empty: nothing does.
func otherDelimiter(header []string, o csvOptions) string {
	if len(header) != 1 || !o.header {
		return ""
	}
	for _, d := range []string{";", "\t", "|", ","} {
		if strings.Contains(header[0], d) && d != o.delimiter {
			return strconv.Quote(d)
		}
	}
	return ""
}

// header gives the names in the header line of a file; for files without one, made-up names of the first record. end is what
// ends its lines: DuckDB looks for it in quoted values too.
func (c *csvInput) header(file string) (names []string, line int64, end string, err error) {
	text, err := c.options.open(file)
	if err != nil {
		return nil, 0, "", unreadable(file, err)
	}
	defer text.Close() // only read
	sc := newCSVScanner(io.LimitReader(text, headerLimit), c.options, 0)
	if what, hint := c.options.noText(sc.buf[:sc.end]); what != "" {
		return nil, 0, "", &compute.Error{Kind: compute.InputInvalid, File: file, Message: what, Hint: hint}
	}
	var rec *csvRecord
	err = sc.skipLines(c.options.skip)
	if err == nil {
		rec, err = sc.next()
	}
	if err == nil {
		c.odd = c.odd || c.beginsOddly(sc.passed, rec)
	}
	switch {
	case errors.Is(err, io.EOF) && !c.options.header && len(c.columns) > 0:
		return nil, 0, "", nil
	case errors.Is(err, io.EOF):
		return nil, 0, "", &compute.Error{Kind: compute.InputInvalid, File: file, Message: "it is empty: it has no header line", Hint: "a file without rows still needs its header; without headers, declare the columns and set header to false"}
	case err != nil:
		return nil, 0, "", unreadable(file, err)
	case rec.wrong != nil && c.options.header:
		return nil, 0, "", &compute.Error{Kind: compute.InputInvalid, File: file, Line: rec.line, Message: rec.wrong.message, Hint: rec.wrong.hint}
	}
	names = make([]string, len(rec.fields))
	for i, f := range rec.fields {
		switch names[i] = string(f.text); {
		case !c.options.header:
			names[i] = fmt.Sprintf("column%d", i)
		case bytes.IndexByte(f.text, 0) >= 0:
			return nil, 0, "", &compute.Error{Kind: compute.InputInvalid, File: file, Line: rec.line, Message: fmt.Sprintf("the name of column %d holds a NUL byte: %s", i+1, shorten(names[i])),
				Hint: "set the option encoding to what the file is, as utf-16le, or rename the column"}
		}
	}
	return names, rec.line, rec.end, nil
}

// beginsOddly tells that DuckDB takes lines to skip, or line ends within the quotes of the first record, for what they are not: it
// skips records in place of lines, and what it finds to end the first line ends all others.
func (c *csvInput) beginsOddly(passed csvPassed, first *csvRecord) bool {
	told := !c.options.header && first.end != "\r\n" // see read
	within := first.raw[:len(first.raw)-len(first.end)]
	return passed.odd || passed.end != "" && passed.end != first.end || !told && bytes.ContainsAny(within, "\r\n")
}
