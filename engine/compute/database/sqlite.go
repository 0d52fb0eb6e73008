package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"modernc.org/sqlite"
)

// sqliteDialect is that of SQLite. A column of it may hold values of any kind, whatever it was declared as: one that is not of its
// declared kind ends the reading by name.
type sqliteDialect struct{}

func (sqliteDialect) quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func (sqliteDialect) text(column string) string { return "CAST(" + column + " AS TEXT)" }

func (sqliteDialect) literal(text, typ string) string {
	switch typ {
	case "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		return quoteText(text)
	}
	return text
}

// connect opens the file for reading only. One that is not there is an error, and is not made.
func (sqliteDialect) connect(_ context.Context, d *Database, _ Host) (session, error) {
	path := d.path(d.Address.Database)
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fileError{"the file of the database cannot be read", err}
	}
	if info.IsDir() {
		return nil, &fileError{"the file of the database is a folder: " + path, nil}
	}
	wait := d.Address.Connect
	if wait <= 0 {
		wait = usualWait
	}
	return openSQLite(path, "ro", wait)
}

// openSQLite opens a file for reading (ro) or writing too (rw), and waits so long for others that write.
func openSQLite(path, mode string, wait time.Duration) (*sqliteSession, error) {
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String() + "?mode=" + mode + "&_pragma=busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")"
	conn, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, err
	}
	return &sqliteSession{driverSession{conn}}, nil
}

// explain goes by "Result and Error Codes" of SQLite's pages; the low byte is the kind.
func (sqliteDialect) explain(err error) fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fault{}
	}
	f := fault{stage: StageQuery, state: strconv.Itoa(e.Code()), message: "the database says: " + e.Error()}
	switch e.Code() & 0xff {
	case 5, 6:
		f.hint = "another program writes to it; the url may have a longer time to wait, as busy_timeout=60000"
	case 11, 26:
		f.stage, f.hint = StageDatabase, "the file is no whole database of SQLite"
	case 14, 23, 3:
		f.stage, f.hint = StageRight, "give this user the right to read the file, and the folder it lies in"
	}
	return f
}

// shared gives one session: a file is read no faster by several.
func (s sqliteDialect) shared(ctx context.Context, d *Database, _ string, _ int) ([]session, error) {
	one, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := one.(*sqliteSession).exec(ctx, "BEGIN"); err != nil {
		one.close()
		return nil, err
	}
	return []session{one}, nil
}

type sqliteSession struct{ driverSession }

func (s *sqliteSession) read(ctx context.Context, query string, b *batcher) error {
	rows, err := s.rows(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() // only read
	return driverRows(ctx, rows, b)
}

func (s *sqliteSession) describe(ctx context.Context, query string) ([]column, error) {
	rows, err := s.rows(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // it has no rows
	names := rows.Columns()
	columns := make([]column, len(names))
	for i, name := range names {
		declared := rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		columns[i] = sqliteColumn(declared)
		columns[i].name = name
		columns[i].as = "+%s" // a value without the declared type, by which the driver would convert it
	}
	return columns, nil
}

// sqliteColumn goes by the declared type, as SQLite itself does ("Determination Of Column Affinity"), but that it also knows what
// people mean by a date or a decimal.
func sqliteColumn(declared string) column {
	name, arguments, _ := strings.Cut(strings.ToUpper(declared), "(")
	name = strings.TrimSpace(name)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	c := column{native: strings.ToLower(declared)}
	var width, scale int32
	switch _, _ = fmt.Sscanf(arguments, "%d,%d", &width, &scale); {
	case name == "":
		c.native, c.why = "without a type", "so nothing says what its values are"
	case has("INT"):
		c.typ, c.append = "BIGINT", wholeNumbers("BIGINT")
	case has("CHAR", "CLOB", "TEXT"):
		c.typ, c.append = "VARCHAR", sqliteText
	case has("BLOB", "BINARY"):
		c.typ, c.append = "BLOB", appendBinary
	case has("REAL", "FLOA", "DOUB"):
		c.typ, c.append = "DOUBLE", sqliteFloat
	case name == "BOOLEAN" || name == "BOOL":
		c.typ, c.append = "BOOLEAN", sqliteBool
	case name == "DATE":
		c.typ, c.append = "DATE", appendMoment("DATE")
	case name == "TIME":
		c.typ, c.append = "TIME", appendTime
	case name == "DATETIME" || name == "TIMESTAMP":
		c.typ, c.append = "TIMESTAMP", appendMoment("TIMESTAMP")
	case name == "JSON":
		c.typ, c.append = "JSON", sqliteText
	case has("DECIMAL", "NUMERIC") && 0 < width && width <= mostDigits && scale <= width:
		c.typ, c.append = fmt.Sprintf("DECIMAL(%d,%d)", width, scale), appendDecimal(width, scale)
	default:
		c.why = "which says too little of its values"
	}
	return c
}

func sqliteText(b array.Builder, value any) error {
	text, ok := value.(string)
	if !ok {
		return misfit(value, "VARCHAR")
	}
	b.(*array.StringBuilder).Append(text)
	return nil
}

func sqliteFloat(b array.Builder, value any) error {
	switch v := value.(type) {
	case float64:
		b.(*array.Float64Builder).Append(v)
		return nil
	case int64: // a whole number in a column of another kind
		if f := float64(v); v > -1<<53 && v < 1<<53 {
			b.(*array.Float64Builder).Append(f)
			return nil
		}
	}
	return misfit(value, "DOUBLE")
}

func sqliteBool(b array.Builder, value any) error {
	n, ok := value.(int64)
	if !ok || n != 0 && n != 1 {
		return misfit(value, "BOOLEAN")
	}
	b.(*array.BooleanBuilder).Append(n == 1)
	return nil
}
