package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-sql-driver/mysql"
)

// mysqlDialect is that of MySQL and MariaDB. Rows come in the text protocol, but for floats, whose texts it shortens: they are widened by the server.
type mysqlDialect struct{}

func (mysqlDialect) quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (mysqlDialect) text(column string) string { return "CAST(" + column + " AS CHAR)" }

func (mysqlDialect) literal(text, typ string) string {
	switch typ {
	case "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		return "'" + strings.TrimSuffix(text, "+00") + "'" // in the zone of the session, which is UTC where it is read so
	}
	return text // a number, as DuckDB has printed it
}

// quiet takes what the driver says besides its errors.
type quiet struct{}

// Print drops it.
func (quiet) Print(...any) {}

func (m mysqlDialect) connect(ctx context.Context, d *Database, h Host) (session, error) {
	secure, err := d.tlsConfig(h)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = d.User, d.Password.reveal(), "tcp", h.String(), d.Address.Database
	config.TLS, config.AllowFallbackToPlaintext = secure, d.Address.TLS.Mode == TLSPreferred
	config.Logger = quiet{}
	config.Params = map[string]string{"time_zone": quoteText(mysqlZone(d.zone()))}
	for name, value := range d.Address.settings {
		config.Params[name] = value
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &mysqlSession{driverSession: driverSession{conn}, utc: mysqlZone(d.zone()) == "+00:00"}
	if d.Address.Primary {
		row, err := s.values(ctx, "SELECT @@global.read_only")
		if err == nil && *row[0] != "0" {
			err = &mysql.MySQLError{Number: 1290, Message: "the server takes no changes, and the url asks for the primary"}
		}
		if err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// mysqlZone gives UTC in the spelling that needs no tables of zones in the server.
func mysqlZone(zone string) string {
	switch zone {
	case "UTC", "Z", "GMT":
		return "+00:00"
	}
	return zone
}

// explain goes by the "Server Error Message Reference" of MySQL's manual, which MariaDB's agrees with.
func (mysqlDialect) explain(err error) fault {
	if errors.Is(err, mysql.ErrNoTLS) {
		return fault{stage: StageTLS, message: "the server offers no TLS, and the url asks for it", hint: "have the server offer TLS, or ask for less in the url"}
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) {
		return fault{stage: StageLost, message: "the connection ended", hint: "run it again when the server is up"}
	}
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return fault{}
	}
	f := fault{stage: StageQuery, state: strconv.Itoa(int(e.Number)), message: "the database says: " + e.Message}
	switch e.Number {
	case 1045, 1698, 1130, 1251, 1275:
		f.stage, f.hint = StageLogin, "look at user and password, and from which machines the user may come"
	case 1040, 1203:
		f.stage, f.hint = StageLogin, "the server has no connection left"
	case 1049:
		f.stage, f.hint = StageDatabase, "the url names the database behind the last slash"
	case 1044, 1142, 1143, 1227, 1370:
		f.stage, f.hint = StageRight, "have an administrator grant this user the right"
	case 1146, 1109:
		f.stage, f.hint = StageTable, "names are taken as they are written"
	case 1054:
		f.stage = StageTable
	case 1053, 1152, 1927:
		f.stage, f.hint = StageLost, "run it again when the server is up"
	}
	return f
}

// shared locks the table for the moment in which all sessions begin, so that all see the same rows: the server cannot hand a snapshot
// from one to another. Of a query, and without the right to lock, one reads alone.
func (m mysqlDialect) shared(ctx context.Context, d *Database, table string, n int) ([]session, error) {
	var sessions []session
	fail := func(err error) ([]session, error) {
		for _, s := range sessions {
			s.close()
		}
		return nil, err
	}
	if n > 1 && table != "" {
		lock, err := d.connect(ctx)
		if err != nil {
			return nil, err
		}
		defer lock.close() // which unlocks
		locked := lock.(*mysqlSession).exec(ctx, "SET lock_wait_timeout = 10") == nil && lock.(*mysqlSession).exec(ctx, "LOCK TABLES "+d.table(table)+" READ") == nil
		if !locked {
			n = 1
		}
	} else {
		n = 1
	}
	for len(sessions) < n {
		s, err := d.connect(ctx)
		if err != nil {
			return fail(err)
		}
		sessions = append(sessions, s)
		for _, begin := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
			if err := s.(*mysqlSession).exec(ctx, begin); err != nil {
				return fail(err)
			}
		}
	}
	return sessions, nil
}

// mysqlSession is a connection to MySQL or MariaDB.
type mysqlSession struct {
	driverSession
	utc bool
}

func (s *mysqlSession) read(ctx context.Context, query string, b *batcher) error {
	rows, err := s.rows(ctx, query)
	if err != nil {
		return err
	}
	err = driverRows(ctx, rows, b)
	if err != nil {
		return err // closing would read all that is left
	}
	return rows.Close()
}

func (s *mysqlSession) describe(ctx context.Context, query string) ([]column, error) {
	rows, err := s.rows(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // it has no rows
	names := rows.Columns()
	columns := make([]column, len(names))
	for i, name := range names {
		native := rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		width, scale, _ := rows.(driver.RowsColumnTypePrecisionScale).ColumnTypePrecisionScale(i)
		scanned := rows.(driver.RowsColumnTypeScanType).ColumnTypeScanType(i)
		columns[i] = s.column(native, width, scale, scanned)
		columns[i].name = name
	}
	return columns, nil
}

// column gives what becomes of a type.
func (s *mysqlSession) column(native string, width, scale int64, scanned reflect.Type) column {
	c := column{native: strings.ToLower(native)}
	types := map[string]string{"TINYINT": "TINYINT", "SMALLINT": "SMALLINT", "MEDIUMINT": "INTEGER", "INT": "INTEGER", "BIGINT": "BIGINT", "YEAR": "SMALLINT",
		"UNSIGNED TINYINT": "UTINYINT", "UNSIGNED SMALLINT": "USMALLINT", "UNSIGNED MEDIUMINT": "UINTEGER", "UNSIGNED INT": "UINTEGER", "UNSIGNED BIGINT": "UBIGINT"}
	if typ, ok := types[native]; ok {
		c.typ, c.append = typ, wholeNumbers(typ)
		return c
	}
	switch native {
	case "DECIMAL":
		return mysqlDecimal(width, scale)
	case "FLOAT":
		c.typ, c.as = "FLOAT", "(%s + 0e0)"
		c.append = mysqlFloat(func(b array.Builder, f float64) { b.(*array.Float32Builder).Append(float32(f)) })
	case "DOUBLE":
		c.typ = "DOUBLE"
		c.append = mysqlFloat(func(b array.Builder, f float64) { b.(*array.Float64Builder).Append(f) })
	case "CHAR", "VARCHAR", "TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "SET":
		c.typ, c.append = "VARCHAR", appendText
	case "JSON":
		c.typ, c.append = "JSON", appendText
	case "BINARY", "VARBINARY", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB":
		c.typ, c.append = "BLOB", appendBinary
	case "BIT":
		c.typ, c.append = "UBIGINT", appendBits
	case "DATE":
		c.typ, c.append = "DATE", appendMoment("DATE")
	case "DATETIME":
		c.typ, c.append = "TIMESTAMP", appendMoment("TIMESTAMP")
	case "TIMESTAMP":
		c.typ, c.append = "TIMESTAMP WITH TIME ZONE", appendMoment("TIMESTAMP WITH TIME ZONE")
		if !s.utc { // a time that the clock of a zone shows twice cannot be told from the other
			c.typ, c.why = "", "and the url has its texts in a zone of their own"
		}
	case "TIME":
		c.typ, c.append = "TIME", appendTime
	default:
		c.why = "which no type here holds exactly"
	}
	return c
}

func mysqlDecimal(width, scale int64) column {
	c := column{native: fmt.Sprintf("decimal(%d,%d)", width, scale)}
	if width > mostDigits {
		c.why = fmt.Sprintf("which has more than %d digits", mostDigits)
		return c
	}
	c.typ, c.append = fmt.Sprintf("DECIMAL(%d,%d)", width, scale), appendDecimal(int32(width), int32(scale))
	return c
}

func mysqlFloat(add func(array.Builder, float64)) appender {
	return func(b array.Builder, value any) error {
		switch v := value.(type) {
		case float64:
			add(b, v)
		case float32:
			add(b, float64(v))
		default:
			return misfit(value, "DOUBLE")
		}
		return nil
	}
}

// appendBits makes a number of up to 64 bits.
func appendBits(b array.Builder, value any) error {
	data, ok := value.([]byte)
	if !ok || len(data) > 8 {
		return misfit(value, "UBIGINT")
	}
	var n uint64
	for _, c := range data {
		n = n<<8 | uint64(c)
	}
	b.(*array.Uint64Builder).Append(n)
	return nil
}
