package database

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgres is the dialect of PostgreSQL. Rows come by COPY in its binary format, which is exact and takes the server the least work.
type postgres struct{}

func (postgres) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (postgres) text(column string) string { return "CAST(" + column + " AS text)" }

func (p postgres) literal(text, typ string) string {
	types := map[string]string{"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamptz"}
	if to, ok := types[typ]; ok {
		return to + " " + quoteText(text)
	}
	return text // a number, as DuckDB has printed it: a cast would keep an index from being used
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (p postgres) connect(ctx context.Context, d *Database, h Host) (session, error) {
	secure, err := d.tlsConfig(h)
	if err != nil {
		return nil, err
	}
	// The driver reads the environment as libpq does; what is said here counts more.
	config, err := pgconn.ParseConfig("sslmode=disable target_session_attrs=any")
	if err != nil {
		return nil, err
	}
	config.Host, config.Port, config.Database, config.TLSConfig, config.Fallbacks = h.Name, uint16(h.Port), d.Address.Database, secure, nil
	if d.User != "" {
		config.User = d.User
	}
	if !d.Password.empty() {
		config.Password = d.Password.reveal()
	}
	if config.Database == "" {
		config.Database = config.User
	}
	if d.Address.TLS.Mode == TLSPreferred {
		config.Fallbacks = []*pgconn.FallbackConfig{{Host: h.Name, Port: uint16(h.Port)}}
	}
	if d.Application != "" {
		config.RuntimeParams["application_name"] = d.Application
	}
	for name, value := range d.Address.settings {
		config.RuntimeParams[name] = value
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &pgSession{conn: conn}
	if err := p.prepare(ctx, d, s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare sets what texts and tables of a session depend on. It is not asked for while connecting: poolers refuse that.
func (p postgres) prepare(ctx context.Context, d *Database, s *pgSession) error {
	set := "SET TimeZone = " + quoteText(d.zone()) + "; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET bytea_output = 'hex'; SET extra_float_digits = 1"
	if d.Address.Schema != "" {
		var names []string
		for name := range strings.SplitSeq(d.Address.Schema, ",") {
			names = append(names, p.quote(strings.Trim(strings.TrimSpace(name), `"`)))
		}
		set += "; SET search_path = " + strings.Join(names, ", ")
	}
	if err := s.exec(ctx, set); err != nil {
		return err
	}
	if !d.Address.Primary {
		return nil
	}
	row, err := s.values(ctx, "SELECT pg_is_in_recovery()")
	if err == nil && *row[0] == "t" {
		err = &pgconn.PgError{Severity: "ERROR", Code: "25006", Message: "the server takes no changes, and the url asks for the primary"}
	}
	return err
}

// explain goes by the classes of "PostgreSQL Error Codes" in its manual.
func (postgres) explain(err error) fault {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return fault{}
	}
	f := fault{stage: StageQuery, state: e.Code, message: "the database says: " + e.Message}
	if e.Detail != "" {
		f.message += " (" + strings.Join(strings.Fields(e.Detail), " ") + ")"
	}
	f.hint = e.Hint
	switch e.Code {
	case "28P01", "28000":
		f.stage, f.hint = StageLogin, "look at user and password, and at what the server allows this machine (pg_hba.conf)"
	case "3D000":
		f.stage, f.hint = StageDatabase, "the url names the database behind the last slash"
	case "42501":
		f.stage, f.hint = StageRight, "have its owner grant this user the right"
	case "42P01", "3F000":
		f.stage, f.hint = StageTable, "names are taken as they are written, with upper and lower case; currentSchema in the url says where tables without a schema are"
	case "42703":
		f.stage = StageTable
	case "57P01", "57P02", "57P03":
		f.stage, f.hint = StageLost, "run it again when the server is up"
	case "53300":
		f.stage, f.hint = StageLogin, "the server has no connection left"
	}
	return f
}

// shared exports the snapshot of the first session to the others, so that all see the same rows. Where that cannot be, one reads alone.
func (p postgres) shared(ctx context.Context, d *Database, _ string, n int) ([]session, error) {
	first, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	sessions := []session{first}
	fail := func(err error) ([]session, error) {
		for _, s := range sessions {
			s.close()
		}
		return nil, err
	}
	const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if err := first.(*pgSession).exec(ctx, begin); err != nil {
		return fail(err)
	}
	if n == 1 {
		return sessions, nil
	}
	exported, err := first.values(ctx, "SELECT pg_export_snapshot()")
	if err != nil {
		return fail(err)
	}
	for len(sessions) < n {
		s, err := d.connect(ctx)
		if err != nil {
			return fail(err)
		}
		sessions = append(sessions, s)
		if err := s.(*pgSession).exec(ctx, begin+"; SET TRANSACTION SNAPSHOT "+quoteText(*exported[0])); err != nil {
			return fail(err)
		}
	}
	return sessions, nil
}

// pgSession is a connection to PostgreSQL.
type pgSession struct{ conn *pgconn.PgConn }

func (s *pgSession) close() {
	// A connection that is still busy is broken off: it may have gigabytes to say.
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_ = s.conn.Close(ctx) // nothing was written
}

// exec runs statements that give nothing.
func (s *pgSession) exec(ctx context.Context, sql string) error {
	_, err := s.conn.Exec(ctx, sql).ReadAll()
	return err
}

func (s *pgSession) values(ctx context.Context, query string) ([]*string, error) {
	results, err := s.conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return nil, err
	}
	var row []*string
	for _, r := range results {
		if len(r.Rows) == 0 {
			continue
		}
		for _, v := range r.Rows[0] {
			if v == nil {
				row = append(row, nil)
				continue
			}
			text := string(v)
			row = append(row, &text)
		}
		return row, nil
	}
	return nil, fmt.Errorf("the database gives no row")
}

// describe has the server bind the query, and looks the types up that are its own.
func (s *pgSession) describe(ctx context.Context, query string) ([]column, error) {
	bound, err := s.conn.Prepare(ctx, "", query, nil)
	if err != nil {
		return nil, err
	}
	if err := s.exec(ctx, query); err != nil { // only then the server looks at rights
		return nil, err
	}
	columns := make([]column, len(bound.Fields))
	for i, f := range bound.Fields {
		t := pgType{oid: f.DataTypeOID, modifier: f.TypeModifier}
		if c, known := t.column(); known {
			columns[i] = c
		} else if columns[i], err = s.ownType(ctx, t); err != nil {
			return nil, err
		}
		columns[i].name = f.Name
	}
	return columns, nil
}

// ownType looks up a type that was declared in the database: an enumeration, an array, or one that nobody here knows.
func (s *pgSession) ownType(ctx context.Context, t pgType) (column, error) {
	row, err := s.values(ctx, fmt.Sprintf("SELECT format_type(t.oid, %d), t.typtype, t.typelem, coalesce(e.typtype, ''), t.typcategory FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem WHERE t.oid = %d", t.modifier, t.oid))
	if err != nil {
		return column{}, err
	}
	native, kind, element, elementKind, category := *row[0], *row[1], *row[2], *row[3], *row[4]
	if kind == "e" {
		return column{native: "the enumeration " + native, typ: "VARCHAR", decode: pgText}, nil
	}
	if category == "A" {
		var oid uint32
		if _, err := fmt.Sscan(element, &oid); err != nil {
			return column{}, err
		}
		return pgArray(native, pgType{oid: oid, modifier: t.modifier}, elementKind == "e"), nil
	}
	return column{native: native, why: "which no type here holds exactly"}, nil
}

func (s *pgSession) read(ctx context.Context, query string, b *batcher) error {
	p := &pgCopy{batcher: b}
	if _, err := s.conn.CopyTo(ctx, p, "COPY ("+query+"\n) TO STDOUT (FORMAT binary)"); err != nil {
		return err
	}
	if !p.ended {
		return fmt.Errorf("the rows end in the middle: %w", errCut)
	}
	return nil
}
