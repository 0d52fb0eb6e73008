package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Rows says which rows are read.
type Rows struct {
	Table   string           // as schema.table; its names are written as the database has them
	Query   string           // in place of Table: one SELECT, in the SQL of the database
	Columns []compute.Column // those that are wanted, by name, with the types that are wanted; empty: all
	Window  *compute.Window  // nil: all rows
	Options
}

// Source is a compute.Source of the rows of a table or query.
type Source struct {
	db      *Database
	rows    Rows
	all     []column // of the table or query
	columns []column // that are read
	told    []string
}

// Source looks at a table or query: it names the columns, and refuses those of which a type cannot hold every value.
func (d *Database) Source(ctx context.Context, rows Rows) (*Source, error) {
	s, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	src := &Source{db: d, rows: rows}
	if src.all, err = s.describe(ctx, "SELECT * FROM "+src.from()+" WHERE 1 = 0"); err != nil {
		return nil, d.queryError(ctx, err)
	}
	return src, src.choose()
}

// from is what stands behind FROM.
func (s *Source) from() string {
	if s.rows.Query != "" {
		return "(" + strings.TrimRight(s.rows.Query, "; \t\r\n") + "\n) AS ubunye_rows"
	}
	return s.db.table(s.rows.Table) + " AS ubunye_rows"
}

// table quotes a name of a table, with or without those of its schema and database.
func (d *Database) table(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = d.dialect.quote(p)
	}
	return strings.Join(parts, ".")
}

// choose settles which columns are read, and how.
func (s *Source) choose() error {
	wanted := s.all
	if len(s.rows.Columns) > 0 {
		wanted = nil
		for _, c := range s.rows.Columns {
			found, err := s.find(c.Name)
			if err != nil {
				return err
			}
			if found.typ == "" { // its text is cast to what is wanted
				found = s.asText(found)
			}
			wanted = append(wanted, found)
		}
	}
	for _, name := range s.rows.AsText {
		if name != "*" {
			if _, err := s.find(name); err != nil {
				return inOption(err, "as_text")
			}
		}
	}
	for _, c := range wanted {
		is := func(name string) bool { return strings.EqualFold(name, c.name) || name == "*" && c.typ == "" }
		if slices.ContainsFunc(s.rows.AsText, is) {
			c = s.asText(c)
		}
		if c.typ == "" {
			return &compute.Error{Kind: compute.InputInvalid, Column: c.name, Message: fmt.Sprintf("it is %s in the database, %s", c.native, c.why),
				Hint: readAsText(c.name) + "; or leave it out by columns: or query:"}
		}
		s.columns = append(s.columns, c)
	}
	return nil
}

func readAsText(column string) string {
	return "have it read as text by options: {as_text: " + column + "}"
}

// asText has a column read as the text that the database makes of it.
func (s *Source) asText(c column) column {
	return column{name: c.name, native: c.native, typ: "VARCHAR", as: s.db.dialect.text("%s"), append: appendText, decode: pgText}
}

func (s *Source) find(name string) (column, error) {
	i := slices.IndexFunc(s.all, func(c column) bool { return c.name == name })
	if i < 0 {
		i = slices.IndexFunc(s.all, func(c column) bool { return strings.EqualFold(c.name, name) })
	}
	if i >= 0 {
		return s.all[i], nil
	}
	names := make([]string, len(s.all))
	for i, c := range s.all {
		names[i] = c.name
	}
	return column{}, &compute.Error{Kind: compute.InputInvalid, Message: "it has no column " + name, Hint: "it has: " + strings.Join(names, ", ")}
}

func inOption(err error, option string) error {
	var e *compute.Error
	if errors.As(err, &e) {
		e.Kind, e.Option = compute.BadOption, option
	}
	return err
}

// Columns are those that are read.
func (s *Source) Columns() []compute.Column {
	all := make([]compute.Column, len(s.columns))
	for i, c := range s.columns {
		all[i] = compute.Column{Name: c.name, Type: c.typ}
	}
	return all
}

// Told is what people should know of how rows are read, after Read.
func (s *Source) Told() []string { return s.told }

// query gives the SQL of the rows, those for which a condition holds.
func (s *Source) query(condition string) (string, error) {
	list := make([]string, len(s.columns))
	for i, c := range s.columns {
		name := s.db.dialect.quote(c.name)
		list[i] = name
		if c.as != "" {
			list[i] = fmt.Sprintf(c.as, name) + " AS " + name
		}
	}
	var conditions []string
	if s.rows.Window != nil {
		window, err := s.window(*s.rows.Window)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, window...)
	}
	if condition != "" {
		conditions = append(conditions, condition)
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + s.from()
	if len(conditions) > 0 {
		sql += " WHERE " + strings.Join(conditions, " AND ")
	}
	return sql, nil
}

// window gives the conditions of a window.
func (s *Source) window(w compute.Window) ([]string, error) {
	c, err := s.ordered(w.Column)
	if err != nil {
		return nil, err
	}
	if c.typ != w.Type {
		return nil, &compute.Error{Kind: compute.BadOption, Column: c.name, Message: fmt.Sprintf("it is a %s, and was a %s", c.typ, w.Type)}
	}
	if w.UpTo == nil {
		return []string{"1 = 0"}, nil
	}
	name := s.db.dialect.quote(c.name)
	var conditions []string
	if w.After != nil {
		conditions = append(conditions, name+" > "+s.db.dialect.literal(*w.After, c.typ))
	}
	return append(conditions, name+" <= "+s.db.dialect.literal(*w.UpTo, c.typ)), nil
}

// ordered finds a column whose values the database orders as numbers and times are: texts are ordered by a collation.
func (s *Source) ordered(name string) (column, error) {
	c, err := s.find(name)
	if err != nil {
		return c, err
	}
	base, _, _ := strings.Cut(c.typ, "(")
	if s.db.Address.Dialect == SQLite && base == "TIMESTAMP" {
		return c, &compute.Error{Kind: compute.BadOption, Column: c.name, Message: "it is " + c.native + " in the database, which SQLite keeps as texts of several spellings and orders as texts", Hint: "read by a column of whole numbers"}
	}
	switch base {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DECIMAL", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		return c, nil
	}
	return c, &compute.Error{Kind: compute.BadOption, Column: c.name, Message: fmt.Sprintf("it is %s in the database, and what is new is told by whole or decimal numbers, dates and timestamps only", c.native), Hint: "read by another column"}
}

// Greatest gives a source of one row with the greatest value of a column, and how many rows have none.
func (s *Source) Greatest(ctx context.Context, name string) (compute.Source, int64, error) {
	c, err := s.ordered(name)
	if err != nil {
		return nil, 0, err
	}
	conn, err := s.db.connect(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer conn.close()
	quoted := s.db.dialect.quote(c.name)
	row, err := conn.values(ctx, "SELECT count(*) - count("+quoted+") FROM "+s.from())
	if err != nil {
		return nil, 0, s.db.queryError(ctx, err)
	}
	var nulls int64
	if _, err := fmt.Sscan(*row[0], &nulls); err != nil {
		return nil, 0, s.db.failed(StageQuery, "the database counts "+*row[0]+" rows", "")
	}
	one := *s
	one.rows = Rows{Query: "SELECT max(" + quoted + ") AS " + quoted + " FROM " + s.from()}
	one.columns = []column{c}
	return &one, nulls, nil
}

// Read begins to read: one goroutine a connection, which stops when nobody takes what it has read.
func (s *Source) Read(ctx context.Context) (compute.Batches, error) {
	table := s.rows.Table
	if s.rows.Query != "" {
		table = ""
	}
	sessions, err := s.db.dialect.shared(ctx, s.db, table, max(s.rows.Partitions, 1))
	if err != nil {
		return nil, s.db.queryError(ctx, err)
	}
	closeAll := func() {
		for _, conn := range sessions {
			conn.close()
		}
	}
	conditions, err := s.ranges(ctx, sessions)
	if err != nil {
		closeAll()
		return nil, s.db.queryError(ctx, err)
	}
	queries := make([]string, len(conditions))
	for i, condition := range conditions {
		if queries[i], err = s.query(condition); err != nil {
			closeAll()
			return nil, err
		}
	}
	reading, stop := context.WithCancel(ctx)
	b := &batches{stop: stop, ready: make(chan arrow.RecordBatch, 2)}
	for i, conn := range sessions {
		b.readers.Add(1)
		go b.read(reading, s, conn, queries, i, len(sessions))
	}
	go func() {
		b.readers.Wait()
		close(b.ready)
	}()
	return b, nil
}

// ranges divides the rows by the partition column, in as many parts as there are sessions.
func (s *Source) ranges(ctx context.Context, sessions []session) ([]string, error) {
	if s.rows.PartitionColumn == "" {
		return []string{""}, nil
	}
	c, err := s.find(s.rows.PartitionColumn)
	if err != nil {
		return nil, inOption(err, "partition_column")
	}
	if !slices.Contains([]string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}, c.typ) {
		return nil, &compute.Error{Kind: compute.BadOption, Option: "partition_column", Column: c.name, Message: "it is " + c.native + " in the database, and rows are divided by whole numbers", Hint: "name a column of whole numbers"}
	}
	if len(sessions) < s.rows.Partitions {
		s.told = append(s.told, fmt.Sprintf("rows are read by one connection and not by %d: the database cannot show several the same rows (of MySQL and MariaDB: that takes a table, and the right to lock it)", s.rows.Partitions))
	}
	name := s.db.dialect.quote(c.name)
	row, err := sessions[0].values(ctx, "SELECT min("+name+"), max("+name+") FROM "+s.from())
	if err != nil {
		return nil, err
	}
	if row[0] == nil || len(sessions) == 1 {
		return []string{""}, nil
	}
	least, ok1 := new(big.Int).SetString(*row[0], 10)
	most, ok2 := new(big.Int).SetString(*row[1], 10)
	if !ok1 || !ok2 {
		return nil, s.db.failed(StageQuery, "the ends of "+c.name+" are "+*row[0]+" and "+*row[1]+", which are no whole numbers", "")
	}
	return rangesBetween(name, least, most, s.rows.Partitions), nil
}

// rangesBetween gives conditions of which exactly one holds for each row: the first one takes what has no value too.
func rangesBetween(name string, least, most *big.Int, n int) []string {
	width := new(big.Int).Sub(most, least)
	width.Add(width, big.NewInt(1))
	var bounds []string
	for i := int64(1); i < int64(n); i++ {
		at := new(big.Int).Mul(width, big.NewInt(i))
		at.Div(at, big.NewInt(int64(n)))
		at.Add(at, least)
		if text := at.String(); len(bounds) == 0 && at.Cmp(least) > 0 || len(bounds) > 0 && bounds[len(bounds)-1] != text {
			bounds = append(bounds, text)
		}
	}
	if len(bounds) == 0 {
		return []string{""}
	}
	conditions := []string{"(" + name + " < " + bounds[0] + " OR " + name + " IS NULL)"}
	for i := 1; i < len(bounds); i++ {
		conditions = append(conditions, name+" >= "+bounds[i-1]+" AND "+name+" < "+bounds[i])
	}
	return append(conditions, name+" >= "+bounds[len(bounds)-1])
}

// batches is a compute.Batches that goroutines fill.
type batches struct {
	stop    context.CancelFunc
	ready   chan arrow.RecordBatch
	readers sync.WaitGroup
	mu      sync.Mutex
	err     error // of the first reader that failed
}

// read reads every n-th query by one connection.
func (b *batches) read(ctx context.Context, s *Source, conn session, queries []string, first, n int) {
	defer b.readers.Done()
	defer conn.close()
	for i := first; i < len(queries); i += n {
		to := newBatcher(ctx, s.columns, b.ready)
		err := conn.read(ctx, queries[i], to)
		if err == nil {
			err = to.flush()
		}
		to.builder.Release()
		if err != nil {
			b.fail(s.readError(ctx, err))
			return
		}
	}
}

// readError names the column of a value that cannot be kept.
func (s *Source) readError(ctx context.Context, err error) error {
	var value *valueError
	if errors.As(err, &value) {
		e := &compute.Error{Kind: compute.InputInvalid, Column: value.column, Message: value.what}
		if value.asText {
			e.Hint = readAsText(value.column)
		}
		return e
	}
	return s.db.queryError(ctx, err)
}

func (b *batches) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.stop()
}

// Next gives the next rows.
func (b *batches) Next(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case batch, ok := <-b.ready:
		if ok {
			return batch, nil
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	return nil, io.EOF
}

// Close ends reading, and waits until the connections are closed.
func (b *batches) Close() error {
	b.stop()
	for batch := range b.ready {
		batch.Release()
	}
	return nil
}
