package duckdb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// An input with rejects is read into a table as if nothing were wrong with it, which costs next to nothing when so it is. Only
// if that fails are its records read one by one, as texts with their places, and those that do not fit told apart. DuckDB's own
// lists of rejects are of no use for that: they know nothing of conversions by SQL, and count rows instead of lines.

// rejects are the rows of one input that are not as declared.
type rejects struct {
	table string // in which they are gathered
	read  int64  // records that were read
	count int64
	first []string // of them, for a message
}

// openRejecting opens an input with rejects: two tables.
func (s *session) openRejecting(ctx context.Context, in compute.Input, open opener) (*relation, error) {
	if err := s.checkRejects(in); err != nil {
		return nil, err
	}
	r := &rejects{table: "\x01rejects of " + in.Name}
	err := s.exec(ctx, fmt.Sprintf(`CREATE TABLE %s (%s BIGINT, file VARCHAR, line BIGINT, "column" VARCHAR, reason VARCHAR, "text" VARCHAR)`, quote(r.table), quote(recordOffset)))
	if err != nil {
		return nil, s.fail(ctx, err, "reading "+in.Name+" failed")
	}
	opened, query, err := open(ctx, in, r)
	if err != nil {
		return nil, err
	}
	opened.rejects = r
	if err := s.readRejecting(ctx, in, opened, query); err != nil {
		return nil, err
	}
	columns := `file, line, "column", reason, "text"`
	for _, q := range []string{
		fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM %s ORDER BY file, %s", quote(in.Rejects.Relation), columns, quote(r.table), quote(recordOffset)),
		"DROP TABLE " + quote(r.table),
	} {
		if err := s.exec(ctx, q); err != nil {
			return nil, s.fail(ctx, err, "keeping the rejects of "+in.Name+" failed")
		}
	}
	return &relation{name: in.Name, input: opened, kept: true}, nil
}

func (s *session) checkRejects(in compute.Input) error {
	if wrong := uselessRejects(in); wrong != nil {
		return wrong
	}
	return s.checkName(in.Rejects.Relation)
}

// uselessRejects tells why an input cannot have rejects; nil: it can.
func uselessRejects(in compute.Input) *compute.Error {
	switch {
	case in.Format == "parquet" || in.Format == "delta":
		return &compute.Error{Kind: compute.BadOption, Message: "rejects: a parquet file has no rows that cannot be read", Hint: "remove rejects, or check the values in a step"}
	case len(in.Columns) == 0:
		return &compute.Error{Kind: compute.BadOption, Message: "rejects: they are the rows that are not as declared, and no columns are", Hint: "declare the columns"}
	case strings.EqualFold(in.Name, in.Rejects.Relation):
		return &compute.Error{Kind: compute.BadOption, Message: "rejects: they have the name of the input", Hint: "give them another one"}
	}
	return nil
}

// readRejecting makes the table of the rows that are as declared.
func (s *session) readRejecting(ctx context.Context, in compute.Input, opened *input, query string) error {
	r := opened.rejects
	table := "CREATE TABLE " + quote(in.Name) + " AS "
	if !opened.loaded() {
		err := s.exec(ctx, table+query)
		if err == nil {
			r.read, err = s.countTable(ctx, in.Name)
			return err
		}
		if err := s.mayReject(ctx, opened, err); err != nil {
			return err
		}
		*r = rejects{table: r.table}
	}
	query, drop, err := opened.split(ctx, s, in, r)
	if err != nil {
		return err
	}
	if err := r.limit(*in.Rejects); err != nil {
		return err
	}
	if err := s.exec(ctx, table+query); err != nil {
		return s.fail(ctx, err, "reading "+in.Name+" failed")
	}
	for _, t := range drop {
		if err := s.exec(ctx, "DROP TABLE "+quote(t)); err != nil {
			return s.fail(ctx, err, "reading "+in.Name+" failed")
		}
	}
	rows, err := s.countTable(ctx, in.Name)
	if err == nil && rows+r.count != r.read {
		err = &compute.Error{Kind: compute.Failed, Message: fmt.Sprintf("of %d rows that were read, %d were kept and %d rejected", r.read, rows, r.count), Hint: "this is a fault of the program: please report it"}
	}
	return err
}

// mayReject tells by the error of reading that rows may be its cause; what else is, comes back.
func (s *session) mayReject(ctx context.Context, opened *input, err error) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	switch parse(err).Type {
	case "Out of Memory", "INTERNAL", "FATAL", "INTERRUPT":
		return s.fail(ctx, err, "reading failed")
	}
	for _, f := range opened.files {
		if changed := unlike(f); changed != nil {
			return changed
		}
	}
	return nil
}

// loaded tells that the records are in tables already.
func (in *input) loaded() bool {
	return in.csv != nil && in.csv.loaded() || in.json != nil && in.json.loaded()
}

// split reads the records and tells those apart that are not as declared. It gives the SQL of the others, and the tables that are
// not needed after it.
func (in *input) split(ctx context.Context, s *session, asked compute.Input, r *rejects) (query string, drop []string, err error) {
	if in.json != nil {
		return in.json.split(ctx, s, asked, r)
	}
	return in.csv.split(ctx, s, asked, r)
}

func (s *session) countTable(ctx context.Context, name string) (n int64, err error) {
	if err = s.conn.QueryRowContext(ctx, "SELECT count(*) FROM "+quote(name)).Scan(&n); err != nil {
		err = s.fail(ctx, err, "counting the rows of "+name+" failed")
	}
	return n, err
}

// add adds a row. why says where it is and what is wrong with it.
func (r *rejects) add(into *driverduckdb.Appender, offset int64, why *compute.Error, raw []byte) error {
	r.count++
	if len(r.first) < 3 {
		r.first = append(r.first, why.Error())
	}
	var column any
	if why.Column != "" {
		column = why.Column
	}
	return into.AppendRow(offset, why.File, why.Line, column, why.Message, printed(raw))
}

// printed is the text of a record without its line end. Bytes that are no text are told by their number, as in \xe9.
func printed(raw []byte) driver.Value {
	raw = []byte(strings.TrimRight(string(raw), "\r\n"))
	if utf8.Valid(raw) {
		return string(raw)
	}
	var b strings.Builder
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, raw[0])
		} else {
			b.Write(raw[:size])
		}
		raw = raw[size:]
	}
	return b.String()
}

// limit holds what was rejected against what may be.
func (r *rejects) limit(may compute.Rejects) error {
	allowed := ""
	switch {
	case r.count == 0:
	case may.Rows >= 0 && r.count > may.Rows:
		allowed = fmt.Sprintf("max_rejects is %d", may.Rows)
	case may.Percent >= 0 && float64(r.count)*100 > may.Percent*float64(r.read):
		allowed = "max_rejects is " + strconv.FormatFloat(may.Percent, 'f', -1, 64) + "%"
	case may.Rows < 0 && may.Percent < 0 && r.count == r.read:
		allowed = "without max_rejects one row at least must be"
	}
	if allowed == "" {
		return nil
	}
	what := "the first: "
	if r.count == int64(len(r.first)) {
		what = "namely: "
	}
	return &compute.Error{Kind: compute.TooManyRejects, Message: fmt.Sprintf("%d of %d rows that were read are not as declared, and %s; %s%s", r.count, r.read, allowed, what, strings.Join(r.first, "; ")),
		Hint: "correct the files or the declaration, or raise max_rejects"}
}

// Tally tells what became of the rows of an input with rejects.
func (s *session) Tally(ctx context.Context, name compute.Relation) (compute.Tally, error) {
	rel, err := s.lookup(name)
	if err != nil {
		return compute.Tally{}, err
	}
	if rel.input == nil || rel.input.rejects == nil {
		return compute.Tally{}, &compute.Error{Kind: compute.QueryInvalid, Message: fmt.Sprintf("%s is no input with rejects", rel.name)}
	}
	rows, err := s.countTable(ctx, rel.name)
	return compute.Tally{Read: rel.input.rejects.read, Rows: rows, Rejected: rel.input.rejects.count}, err
}
