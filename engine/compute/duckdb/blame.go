package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// After a failure blame looks for the cause by reading again, because DuckDB tells it in prose only: which input
// changed or is damaged, which line and column of a csv file does not fit, which step fails on its own.

// rejectsLimit is how many bad lines of a csv input are gathered to find the first.
const rejectsLimit = 1000

// blame makes the error of a statement that computed rel and failed.
func (s *session) blame(ctx context.Context, rel *relation, err error, what string) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	said := parse(err)
	switch said.Type {
	case "Out of Memory", "INTERNAL", "FATAL", "INTERRUPT":
		return s.fail(ctx, err, what)
	}
	lazy := s.lazy(rel)
	for _, r := range lazy {
		if r.input == nil {
			continue
		}
		if found := s.blameInput(ctx, r.input, err); found != err {
			var e *compute.Error
			if errors.As(found, &e) {
				e.Input = r.name
			}
			return found
		}
	}
	for _, r := range lazy {
		if r.input != nil {
			continue
		}
		if again := s.consume(ctx, quote(r.name)); again != nil {
			return s.stepErr(ctx, r, again)
		}
	}
	return s.fail(ctx, err, what)
}

func (s *session) stepErr(ctx context.Context, r *relation, err error) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	said := parse(err)
	name, _, _ := strings.Cut(r.name, "\x01") // marked rows are told as those that are marked
	return &compute.Error{Kind: compute.Failed, Step: name, Message: said.line(), Hint: memoryHint(said), Err: err}
}

// lazy gives what is computed when rel is, in order: rel and all it refers to down to kept tables.
func (s *session) lazy(rel *relation) []*relation {
	need := map[*relation]bool{}
	var mark func(*relation)
	mark = func(r *relation) {
		if need[r] || r.kept {
			return
		}
		need[r] = true
		for ref := range r.refs {
			mark(ref)
		}
	}
	mark(rel)
	var out []*relation
	for _, r := range s.relations {
		if need[r] {
			out = append(out, r)
		}
	}
	return out
}

// consume computes every value of a relation.
func (s *session) consume(ctx context.Context, from string) error {
	return s.queryAll(ctx, "SELECT bit_xor(hash(t)) FROM "+from+" AS t", nil, func(rows *sql.Rows) error {
		var ignored any
		return rows.Scan(&ignored)
	})
}

// blameInput looks for what is wrong with the files of an input; err if nothing is.
func (s *session) blameInput(ctx context.Context, in *input, err error) error {
	for _, f := range in.files {
		if changed := unlike(f); changed != nil {
			return changed
		}
	}
	var found error
	switch {
	case in.csv != nil:
		found = s.blameCSV(ctx, in.csv)
	case in.json != nil:
		found = s.blameJSON(ctx, in.json)
	default:
		found = s.blameParquet(ctx, in)
	}
	if c := cancelled(ctx); c != nil {
		return c
	}
	if found != nil {
		return found
	}
	return err
}

// unlike tells that a file is not what it was when the input was opened.
func unlike(f compute.File) error {
	info, err := os.Stat(f.Path)
	if err != nil {
		return unreadable(f.Path, err)
	}
	if info.Size() != f.Size || !info.ModTime().Equal(f.ModTime) {
		return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it changed while it was being read", Hint: "run again when it is complete"}
	}
	return nil
}

func (s *session) blameParquet(ctx context.Context, in *input) error {
	for _, f := range in.files {
		err := s.footers(ctx, f)
		if err == nil {
			err = s.consume(ctx, "read_parquet("+fileList([]compute.File{f})+", hive_partitioning = false)")
		}
		if err != nil && cancelled(ctx) == nil {
			return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it is damaged: " + parse(err).line(), Hint: "write it again", Err: err}
		}
	}
	return nil
}

// blameCSV finds the first bad line: lines that are not csv of that width by DuckDB's own list of rejects, values
// that do not fit their type by the conditions of fit.
func (s *session) blameCSV(ctx context.Context, c *csvInput) error {
	for _, g := range c.groups {
		for _, f := range g.files {
			if err := s.rejected(ctx, c, g, f); err != nil {
				return err
			}
			if err := s.misfit(ctx, c, g, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// reject is one row of DuckDB's reject_errors.
type reject struct {
	position int64 // byte in the decompressed file, from 1
	column   int   // from 1; 0: unknown
	kind     string
	text     string // the line
}

// rejected gives the first line of a file that is not csv of the right width.
func (s *session) rejected(ctx context.Context, c *csvInput, g csvGroup, f compute.File) error {
	more := fmt.Sprintf(", store_rejects = true, rejects_table = 'ubunye_rejects', rejects_scan = 'ubunye_reject_scans', rejects_limit = %d", rejectsLimit)
	if err := s.consume(ctx, c.read(g, []compute.File{f}, more)); err != nil {
		// Not a line but the file: not what its compression says, for example.
		return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it cannot be read: " + parse(err).line(), Err: err}
	}
	var r *reject
	q := `SELECT byte_position, coalesce(column_idx, 0), CAST(error_type AS VARCHAR), csv_line FROM temp.ubunye_rejects ORDER BY byte_position, column_idx LIMIT 1`
	err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		r = &reject{}
		return rows.Scan(&r.position, &r.column, &r.kind, &r.text)
	})
	// Temporary tables come before relations when a name is looked up.
	err = errors.Join(err, s.exec(ctx, "DROP TABLE temp.ubunye_rejects"), s.exec(ctx, "DROP TABLE temp.ubunye_reject_scans"))
	if err != nil {
		return s.fail(ctx, err, "looking for the bad line failed")
	}
	if r == nil {
		return nil
	}
	return r.error(c, g, f)
}

func (r *reject) error(c *csvInput, g csvGroup, f compute.File) error {
	e := &compute.Error{Kind: compute.InputInvalid, File: f.Path}
	e.Line = physicalLine(f.Path, r.position)
	switch r.kind {
	case "MISSING COLUMNS":
		e.Message = fmt.Sprintf("the line has %d of %d fields: %s", r.fields(c.options), g.width, shorten(r.text))
	case "TOO MANY COLUMNS":
		e.Message = fmt.Sprintf("the line has more than %d fields: %s", g.width, shorten(r.text))
		e.Hint = "quote fields that hold the delimiter"
	case "UNQUOTED VALUE":
		e.Message = "a quote is not closed, or text follows the closing quote: " + shorten(r.text)
		e.Hint = "check the options quote and escape"
	case "INVALID ENCODING":
		e.Message = "the line is not UTF-8: " + shorten(r.text)
		e.Hint = "convert the file to UTF-8"
	case "LINE SIZE OVER MAXIMUM":
		e.Message = fmt.Sprintf("the line is longer than %d bytes", c.options.maxLine)
		e.Hint = "raise the option max_line_size, or check the option quote"
	default:
		e.Message = "the line cannot be read (" + strings.ToLower(r.kind) + "): " + shorten(r.text)
	}
	for i, p := range g.places {
		if p == r.column-1 && r.kind != "MISSING COLUMNS" {
			e.Column = c.columns[i].Name
		}
	}
	return e
}

// fields counts the fields of the line; DuckDB says so only in prose.
func (r *reject) fields(o csvOptions) int {
	rec, err := newRecordReader(strings.NewReader(strings.TrimLeft(r.text, "\r\n")), o).next()
	if err != nil {
		return 0
	}
	return len(rec.fields)
}

// shorten quotes a text for a message, cut to a length that can be read.
func shorten(text string) string {
	const most = 80
	runes := []rune(strings.Trim(text, "\r\n"))
	if len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return fmt.Sprintf("%q", string(runes))
}

// physicalLine gives the line on which a byte of a text file is, both from 1; 0 if the file cannot be read again.
// DuckDB counts rows, which is less where quoted fields hold line ends.
func physicalLine(name string, position int64) int64 {
	text, err := openText(name)
	if err != nil {
		return 0
	}
	defer text.Close() // only read
	line, last := int64(1), byte(0)
	buffer := make([]byte, 1<<16)
	r := io.LimitReader(text, position-1)
	for {
		n, err := r.Read(buffer)
		for _, b := range buffer[:n] {
			if b == '\n' && last != '\r' || b == '\r' {
				line++
			}
			last = b
		}
		if errors.Is(err, io.EOF) {
			return line
		}
		if err != nil {
			return 0
		}
	}
}

// misfit finds the first value of a file that does not fit its column's type.
func (s *session) misfit(ctx context.Context, c *csvInput, g csvGroup, f compute.File) error {
	fits, err := c.fits(ctx, s, g)
	if err != nil {
		return err
	}
	bad := make([]map[string]bool, len(fits)) // per column of the relation: texts that do not fit
	some := false
	for i, fit := range fits {
		if fit.typ == "VARCHAR" {
			continue
		}
		bad[i] = map[string]bool{}
		q := fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE %s LIMIT %d", fit.column, c.read(g, []compute.File{f}, ""), fit.misfits(), rejectsLimit)
		err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
			var text string
			err := rows.Scan(&text)
			bad[i][text], some = true, true
			return err
		})
		if err != nil {
			return s.fail(ctx, err, "looking for the bad value failed")
		}
	}
	if !some {
		return nil
	}
	return c.firstMisfit(ctx, g, f, bad)
}

// firstMisfit looks for the first of the bad texts in the file.
func (c *csvInput) firstMisfit(ctx context.Context, g csvGroup, f compute.File, bad []map[string]bool) error {
	text, err := openText(f.Path)
	if err != nil {
		return unreadable(f.Path, err)
	}
	defer text.Close() // only read
	rr := newRecordReader(text, c.options)
	if err := rr.skipLines(c.options.skip); err != nil {
		return unreadable(f.Path, err)
	}
	for n := 0; ctx.Err() == nil; n++ {
		rec, err := rr.next()
		if err != nil {
			break
		}
		if n == 0 && c.options.header {
			continue
		}
		for i, place := range g.places {
			if place < len(rec.fields) && bad[i][rec.fields[place]] {
				return misfitErr(f.Path, rec.lines[place], c.columns[i], rec.fields[place])
			}
		}
	}
	// Not found again: the value is certain, its line is not.
	for i := range bad {
		for text := range bad[i] {
			return misfitErr(f.Path, 0, c.columns[i], text)
		}
	}
	return nil
}

func misfitErr(file string, line int64, c compute.Column, text string) *compute.Error {
	return &compute.Error{Kind: compute.InputInvalid, File: file, Line: line, Column: c.Name, Message: fmt.Sprintf("%s is not %s %s", shorten(text), article(c.Type), c.Type), Hint: fitHint(c.Type)}
}

func article(word string) string {
	if word != "" && strings.ContainsRune("AEIO", rune(word[0])) {
		return "an"
	}
	return "a"
}

func fitHint(typ string) string {
	base, _, _ := strings.Cut(typ, "(")
	switch base {
	case "DECIMAL":
		return "correct the file, or declare more digits; for decimals after another sign than a point set the option decimal"
	case "DATE":
		return "correct the file, or set the option date_format, as %d/%m/%Y"
	case "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		return "correct the file, or set the option timestamp_format, as %d/%m/%Y %H:%M"
	}
	return "correct the file, or declare the column as varchar"
}
