// Package duckdb computes with an embedded DuckDB: one in-memory database a session.
//
// Reading the source: session.go opens and closes, input.go, csv.go, json.go and parquet.go open inputs, source.go those that are no files, gate.go and
// prepare.go turn SQL steps into relations, encode.go writes files (encodecsv.go, encodejson.go and encodeparquet.go what differs),
// rows.go hands out rows, rules.go and check.go look for rows that break rules and divide a relation by them, blame.go finds out after a failure which file, line or step was the cause.
package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Engine opens sessions of the embedded DuckDB. Its zero value is ready.
type Engine struct{}

// Open starts an in-memory database. Its configuration is locked, and it neither installs nor loads
// extensions.
func (Engine) Open(ctx context.Context, s compute.Settings) (compute.Session, error) {
	connector, err := driverduckdb.NewConnector("", nil)
	if err != nil {
		return nil, failed("the embedded DuckDB does not start", err)
	}
	db := sql.OpenDB(connector)
	ses := &session{db: db, byName: map[string]*relation{}, marks: map[string]*relation{}, variables: map[string]string{}, usual: map[string]string{}, rename: s.Rename}
	if err := ses.open(ctx, s); err != nil {
		_ = ses.Close() // the first error is the one to tell
		return nil, err
	}
	return ses, nil
}

// session is a compute.Session. All its statements run on one connection, because SQL variables belong to a connection.
type session struct {
	db        *sql.DB
	conn      *sql.Conn
	relations []*relation          // in the order they were made
	byName    map[string]*relation // by lower-case name, without the marked ones
	marks     map[string]*relation // marked rows, by their SQL
	variables map[string]string    // lower-case name → the name as declared
	usual     map[string]string    // type → the function that converts its usual texts
	rename    func(from, to string) error
	types     []string // names of DuckDB's types, filled when one is not known
	sources   int      // inputs that have a Source
	lines     int      // tables of lines that were made
}

// relation is one input or step.
type relation struct {
	name    string
	refs    map[*relation]int // what a step reads, and how often
	uses    int               // consumers, counting only steps that are consumed themselves
	counted bool              // its refs have been told of its use
	kept    bool              // computed once and kept as a table
	input   *input            // nil for a step
	columns []compute.Column  // once they were asked for; they do not change
}

func (s *session) open(ctx context.Context, set compute.Settings) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return failed("the embedded DuckDB does not start", err)
	}
	s.conn = conn
	fixed := []string{
		"SET errors_as_json = true",
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
		"SET allow_community_extensions = false",
		"SET allow_persistent_secrets = false",
		"SET TimeZone = 'UTC'",           // results must not depend on the machine's zone
		"SET max_expression_depth = 400", // DuckDB binds in cubic time of the depth: 1 s here
		"SET temp_directory = " + literal(set.Spill),
	}
	for _, q := range fixed {
		if err := s.exec(ctx, q); err != nil {
			return s.fail(ctx, err, "opening a session failed")
		}
	}
	if err := s.limits(ctx, set); err != nil {
		return err
	}
	for _, v := range set.Variables {
		if err := s.setVariable(ctx, v); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, "SET lock_configuration = true"); err != nil {
		return s.fail(ctx, err, "opening a session failed")
	}
	return nil
}

func (s *session) limits(ctx context.Context, set compute.Settings) error {
	if set.Memory != "" {
		if err := s.exec(ctx, "SET memory_limit = "+literal(set.Memory)); err != nil {
			return s.optionErr(ctx, err, fmt.Sprintf("memory %q is not a size", set.Memory), `write a number and a unit, as "4GiB"`)
		}
	}
	if set.Share > 1 {
		if err := s.shareMemory(ctx, set); err != nil {
			return s.fail(ctx, err, "opening a session failed")
		}
	}
	if set.Threads < 0 {
		return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("threads: %d is not a number of threads", set.Threads), Hint: "write 1 or more, or leave it out"}
	}
	if set.Threads > 0 {
		if err := s.exec(ctx, fmt.Sprintf("SET threads = %d", set.Threads)); err != nil {
			return s.optionErr(ctx, err, fmt.Sprintf("%d threads cannot be had", set.Threads), "write a smaller number, or leave it out")
		}
	}
	return nil
}

// shareMemory sets the limit to an equal part of what it is; without a setting that follows from the machine, and DuckDB tells
// it with one decimal.
func (s *session) shareMemory(ctx context.Context, set compute.Settings) error {
	limit := set.Memory
	if limit == "" {
		if err := s.conn.QueryRowContext(ctx, "SELECT current_setting('memory_limit')").Scan(&limit); err != nil {
			return err
		}
	}
	unit := strings.TrimLeft(limit, "0123456789. ")
	size, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(limit, unit)), 64)
	if err != nil {
		return err
	}
	return s.exec(ctx, fmt.Sprintf("SET memory_limit = '%.6f%s'", size/float64(set.Share), unit))
}

func (s *session) setVariable(ctx context.Context, v compute.Variable) error {
	if !plainName(v.Name) {
		return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("variable %q cannot be bound in SQL", v.Name), Hint: "use letters, digits and _, not beginning with a digit"}
	}
	key := strings.ToLower(v.Name)
	if other, ok := s.variables[key]; ok {
		return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("variables %s and %s are one and the same in SQL", other, v.Name), Hint: "rename one of them"}
	}
	typ, err := s.typeName(ctx, v.Type)
	if err != nil {
		return inColumn(err, "$"+v.Name)
	}
	if strings.ContainsRune(v.Value, 0) {
		return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("the value of $%s holds a NUL byte", v.Name)}
	}
	q := fmt.Sprintf("SET VARIABLE %s = CAST(%s AS %s)", quote(v.Name), literal(v.Value), typ)
	if err := s.exec(ctx, q); err != nil {
		return s.optionErr(ctx, err, fmt.Sprintf("$%s: %q is not a %s", v.Name, v.Value, typ), "")
	}
	s.variables[key] = v.Name
	return nil
}

// Close ends the database, which removes what it spilled.
func (s *session) Close() error {
	if s.conn != nil {
		_ = s.conn.Close() // a connection that was cancelled is already gone
		s.conn = nil
	}
	if err := s.db.Close(); err != nil {
		return failed("the embedded DuckDB did not close", err)
	}
	return nil
}

func (s *session) exec(ctx context.Context, q string) error {
	_, err := s.conn.ExecContext(ctx, q)
	return err
}

// queryAll runs q and calls scan for each row.
func (s *session) queryAll(ctx context.Context, q string, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.conn.QueryContext(ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // the error that counts is rows.Err's
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// lookup gives the relation called r.
func (s *session) lookup(r compute.Relation) (*relation, error) {
	if rel, ok := s.byName[strings.ToLower(string(r))]; ok {
		return rel, nil
	}
	return nil, &compute.Error{Kind: compute.QueryInvalid, Message: fmt.Sprintf("there is no relation called %q", string(r)), Hint: didYouMean(string(r), s.names())}
}

func (s *session) names() []string {
	var names []string
	for _, r := range s.relations {
		if !r.hidden() {
			names = append(names, r.name)
		}
	}
	return names
}

// checkName refuses names that cannot become a relation, or are taken.
func (s *session) checkName(name string) error {
	if name == "" || strings.ContainsRune(name, 0) {
		return &compute.Error{Kind: compute.QueryInvalid, Message: fmt.Sprintf("%q cannot name a relation", name)}
	}
	if other, ok := s.byName[strings.ToLower(name)]; ok {
		return &compute.Error{Kind: compute.QueryInvalid, Message: fmt.Sprintf("the name %s is taken by an earlier input or step called %s", name, other.name), Hint: "names are compared without regard to case: rename one"}
	}
	return nil
}

func (s *session) add(r *relation) {
	s.relations = append(s.relations, r)
	s.byName[strings.ToLower(r.name)] = r
}

// Schema gives the columns of a relation.
func (s *session) Schema(ctx context.Context, r compute.Relation) ([]compute.Column, error) {
	rel, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	if rel.columns == nil {
		cols, err := s.describe(ctx, "SELECT * FROM "+quote(rel.name))
		if err != nil {
			return nil, s.blame(ctx, rel, err, "reading the columns of "+rel.name+" failed")
		}
		rel.columns = cols
	}
	return slices.Clone(rel.columns), nil
}

// Missing names the columns of an input that no file has.
func (s *session) Missing(_ context.Context, r compute.Relation) ([]string, error) {
	rel, err := s.lookup(r)
	if err != nil || rel.input == nil {
		return nil, err
	}
	return slices.Clone(rel.input.missing), nil
}

// describe gives the columns of a query without running it.
func (s *session) describe(ctx context.Context, q string) ([]compute.Column, error) {
	var cols []compute.Column
	err := s.queryAll(ctx, "DESCRIBE "+q, nil, func(rows *sql.Rows) error {
		var c compute.Column
		var ignored [4]any
		err := rows.Scan(&c.Name, &c.Type, &ignored[0], &ignored[1], &ignored[2], &ignored[3])
		cols = append(cols, c)
		return err
	})
	return cols, err
}

// Count gives the number of rows of a relation.
func (s *session) Count(ctx context.Context, r compute.Relation) (int64, error) {
	rel, err := s.lookup(r)
	if err != nil {
		return 0, err
	}
	var n int64
	if err := s.conn.QueryRowContext(ctx, "SELECT count(*) FROM "+quote(rel.name)).Scan(&n); err != nil {
		return 0, s.blame(ctx, rel, err, "counting the rows of "+rel.name+" failed")
	}
	return n, nil
}

// Head gives the first rows of a relation as DuckDB prints them.
func (s *session) Head(ctx context.Context, r compute.Relation, n int) ([][]*string, error) {
	rel, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	head, err := s.texts(ctx, fmt.Sprintf("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM %s LIMIT %d", quote(rel.name), n))
	if err != nil {
		return nil, s.blame(ctx, rel, err, "reading "+rel.name+" failed")
	}
	return head, nil
}

// typeInfos gives the structured types of a query's columns.
func (s *session) typeInfos(ctx context.Context, q string) ([]driverduckdb.TypeInfo, error) {
	var infos []driverduckdb.TypeInfo
	err := s.conn.Raw(func(raw any) error {
		stmt, err := raw.(*driverduckdb.Conn).PrepareContext(ctx, q)
		if err != nil {
			return err
		}
		defer stmt.Close() // nothing was run
		return readTypeInfos(stmt, &infos)
	})
	return infos, err
}

func readTypeInfos(stmt driver.Stmt, infos *[]driverduckdb.TypeInfo) error {
	st := stmt.(*driverduckdb.Stmt)
	n, err := st.ColumnCount()
	if err != nil {
		return err
	}
	for i := range n {
		info, err := st.ColumnTypeInfo(i)
		if err != nil {
			return err
		}
		*infos = append(*infos, info)
	}
	return nil
}
