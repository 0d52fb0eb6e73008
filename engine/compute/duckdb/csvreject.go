package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"slices"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// csvPage is how many rejected records are held in memory.
const csvPage = 10_000

// misfitting is a record of a table of texts with a value that does not fit its column.
type misfitting struct {
	file               int
	line, offset, size int64
	column             int // of the relation; the first that is wrong
	text               string
}

// rejectMisfits adds the records of a group that have a value which does not fit.
func (c *csvInput) rejectMisfits(ctx context.Context, s *session, g csvGroup, r *rejects) error {
	fits, err := c.fits(ctx, s, g)
	if err != nil {
		return err
	}
	var which, text strings.Builder
	for i, f := range fits {
		fmt.Fprintf(&which, " WHEN %s THEN %d", f.misfits(), i)
		fmt.Fprintf(&text, " WHEN %d THEN %s", i, f.column)
	}
	q := fmt.Sprintf("SELECT %[1]s, %[2]s, %[3]s, %[4]s, which, CASE which%[5]s END FROM (SELECT *, CASE%[6]s END AS which FROM %[7]s WHERE %[8]s)",
		quote(fileIndex), quote(recordLine), quote(recordOffset), quote(recordSize), text.String(), which.String(), c.read(g, g.files, ""), anyMisfit(fits))
	after := fmt.Sprintf(" WHERE (%[1]s, %[2]s) > (%%d, %%d) ORDER BY %[1]s, %[2]s LIMIT %[3]d", quote(fileIndex), quote(recordOffset), csvPage)
	last := misfitting{file: -1}
	for {
		page, err := s.misfitting(ctx, q+fmt.Sprintf(after, last.file, last.offset))
		if err != nil {
			return s.fail(ctx, err, "looking for bad values failed")
		}
		if len(page) == 0 {
			return nil
		}
		last = page[len(page)-1]
		err = s.fill(ctx, []string{r.table}, func(into []*driverduckdb.Appender) error { return c.rejectPage(ctx, into[0], g, page, r) })
		if err != nil {
			return err
		}
	}
}

func (s *session) misfitting(ctx context.Context, q string) (page []misfitting, err error) {
	err = s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		var m misfitting
		err := rows.Scan(&m.file, &m.line, &m.offset, &m.size, &m.column, &m.text)
		page = append(page, m)
		return err
	})
	return page, err
}

// rejectPage adds records that are in the order of the files, with their texts, which it reads again.
func (c *csvInput) rejectPage(ctx context.Context, into *driverduckdb.Appender, g csvGroup, page []misfitting, r *rejects) error {
	for len(page) > 0 {
		n := 1
		for n < len(page) && page[n].file == page[0].file {
			n++
		}
		if err := c.rejectInFile(ctx, into, g, page[:n], r); err != nil {
			return err
		}
		page = page[n:]
	}
	return nil
}

func (c *csvInput) rejectInFile(ctx context.Context, into *driverduckdb.Appender, g csvGroup, some []misfitting, r *rejects) error {
	f := g.files[some[0].file]
	text, err := c.options.open(f.Path)
	if err != nil {
		return unreadable(f.Path, err)
	}
	defer text.Close() // only read
	at := int64(0)
	for _, m := range some {
		if err := cancelled(ctx); err != nil {
			return err
		}
		raw := make([]byte, m.size)
		if _, err := io.CopyN(io.Discard, text, m.offset-at); err != nil {
			return unreadable(f.Path, err)
		}
		if _, err := io.ReadFull(text, raw); err != nil {
			return unreadable(f.Path, err)
		}
		at = m.offset + m.size
		if err := r.add(into, m.offset, c.misfitErr(f.Path, m.line, c.columns[m.column], m.text), raw); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvInput) loaded() bool {
	return slices.ContainsFunc(c.groups, func(g csvGroup) bool { return g.table != "" })
}

func (c *csvInput) split(ctx context.Context, s *session, in compute.Input, r *rejects) (query string, drop []string, err error) {
	if !c.loaded() {
		if err := c.load(ctx, s, in.Name, r); err != nil {
			return "", nil, err
		}
	}
	for _, g := range c.groups {
		drop = append(drop, g.table)
		if err := c.rejectMisfits(ctx, s, g, r); err != nil {
			return "", nil, err
		}
	}
	query, err = c.query(ctx, s, in.Columns, true)
	return query, drop, err
}
