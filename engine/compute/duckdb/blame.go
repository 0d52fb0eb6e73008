package duckdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// After a failure blame looks for the cause by reading again, because DuckDB tells it in prose only: which input
// changed or is damaged, which line and column of a csv file does not fit, which step fails on its own.

// misfitsLimit is how many texts that do not fit are gathered to find the first.
const misfitsLimit = 1000

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

// blameCSV finds the first bad record: one that is not csv of that width by csvScanner, values that do not fit their type by
// the conditions of fit.
func (s *session) blameCSV(ctx context.Context, c *csvInput) error {
	for _, g := range c.groups {
		for _, f := range g.files {
			if err := c.broken(ctx, g, f); err != nil {
				return err
			}
			if len(c.columns) > 0 && c.columns[0].Type == "" {
				if err := s.consume(ctx, c.read(g, []compute.File{f}, "")); err != nil { // types are what was looked for
					return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it cannot be read: " + parse(err).line(), Err: err}
				}
				continue
			}
			if err := s.misfit(ctx, c, g, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// broken gives the first record of a file that is not csv of the right width.
func (c *csvInput) broken(ctx context.Context, g csvGroup, f compute.File) error {
	if g.table != "" {
		return nil // there would be no table
	}
	end := g.end
	unlike := func(line int64, now string) error {
		if end == "" || now == "" || now == end {
			end = cmp.Or(end, now)
			return nil
		}
		return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Line: line, Message: fmt.Sprintf("the line ends in %q, and those before in %q", now, end),
			Hint: "give all lines of a file the same end"}
	}
	return c.scan(ctx, g, f, func(rec *csvRecord) error {
		if rec.wrong != nil {
			return c.faultErr(g, f, rec)
		}
		return cmp.Or(unlike(rec.blank.line, rec.blank.end), unlike(rec.line, rec.end))
	})
}

// shorten quotes a text for a message, cut to a length that can be read.
func shorten(text string) string {
	const most = 80
	text = strings.Trim(text, "\r\n")
	n := 0
	for i := range text {
		if n++; n > most {
			return fmt.Sprintf("%q…", text[:i])
		}
	}
	return fmt.Sprintf("%q", text)
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
		if fit.anything() {
			continue
		}
		bad[i] = map[string]bool{}
		q := fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE %s LIMIT %d", fit.column, c.read(g, []compute.File{f}, ""), fit.misfits(), misfitsLimit)
		err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
			var text string
			err := rows.Scan(&text)
			bad[i][text], some = true, true
			return err
		})
		if err != nil {
			return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it cannot be read: " + parse(err).line(), Err: err}
		}
	}
	if !some {
		return nil
	}
	return c.firstMisfit(ctx, g, f, bad)
}

// firstMisfit looks for the first of the bad texts in the file.
func (c *csvInput) firstMisfit(ctx context.Context, g csvGroup, f compute.File, bad []map[string]bool) error {
	err := c.scan(ctx, g, f, func(rec *csvRecord) error {
		for i, place := range g.places {
			if place < len(rec.fields) && bad[i][string(rec.fields[place].text)] {
				return c.misfitErr(f.Path, rec.lineOf(place), c.columns[i], string(rec.fields[place].text))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Not found again: the value is certain, its line is not.
	for i := range bad {
		for text := range bad[i] {
			return c.misfitErr(f.Path, 0, c.columns[i], text)
		}
	}
	return nil
}

func (c *csvInput) misfitErr(file string, line int64, column compute.Column, text string) *compute.Error {
	e := misfitErr(file, line, column, text)
	e.Message, e.Hint = c.options.misfit(column, text)
	return e
}

// misfit says why a text does not fit a column, and what to do.
func (o csvOptions) misfit(c compute.Column, text string) (message, hint string) {
	switch {
	case c.Type == "VARCHAR":
		return fmt.Sprintf("%s has %d bytes, more than the %d of the option max_field_bytes", shorten(text), len(text), o.maxField), "raise the option, or check the option quote"
	case c.Type == "TIMESTAMP WITH TIME ZONE" && o.timeZone != "":
		return fmt.Sprintf("%s is not %s %s, or is a time that %s does not have, or has twice", shorten(text), article(c.Type), c.Type, o.timeZone), fitHint(c.Type)
	}
	return fmt.Sprintf("%s is not %s %s", shorten(text), article(c.Type), c.Type), fitHint(c.Type)
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
