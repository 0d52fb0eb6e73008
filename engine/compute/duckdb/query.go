package duckdb

import (
	"context"
	"database/sql"
	"strings"
)

// Query runs a statement of a person's own in a database of its own, in memory, and gives the rows as text, a NULL as nil. Nothing keeps
// it from reading files: it is for statements that no pipeline and no plugin has a part in. Times of a zone are in UTC.
func Query(ctx context.Context, statement string) (rows [][]*string, err error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET autoinstall_known_extensions = false; SET TimeZone = 'UTC'"); err != nil {
		return nil, err
	}
	found, err := conn.QueryContext(ctx, "SELECT COLUMNS(*)::VARCHAR FROM ("+strings.TrimRight(strings.TrimSpace(statement), ";")+"\n)")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		return nil, err
	}
	for found.Next() {
		row := make([]*string, len(names))
		into := make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, found.Err()
}
