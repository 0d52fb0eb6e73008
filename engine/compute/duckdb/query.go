package duckdb

import (
	"context"
	"database/sql"
	"fmt"
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

// FolderSQL is SQL for Query that gives the rows of all files of one kind below a folder, those of CSV as texts; with the columns of its
// partitions if it has some. The kind is that of the file of this name; false: it cannot be told, or not without loss.
func FolderSQL(name, folder string, partitioned bool) (string, bool) {
	quoted := strings.ReplaceAll(folder, "'", "''")
	switch {
	case strings.HasSuffix(name, ".parquet"):
		return fmt.Sprintf("SELECT * FROM read_parquet('%s/**/*.parquet', hive_partitioning = %t, hive_types_autocast = false, union_by_name = true)", quoted, partitioned), true
	case strings.HasSuffix(name, ".csv"):
		return fmt.Sprintf("SELECT * FROM read_csv('%s/**/*.csv', all_varchar = true, header = true, delim = ',', quote = '\"', escape = '\"', "+
			"allow_quoted_nulls = false, hive_partitioning = %t, hive_types_autocast = false)", quoted, partitioned), true
	}
	return "", false
}
