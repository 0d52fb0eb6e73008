package duckdb_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/compute/computetest"
	"github.com/ubunye-io/ubunye/engine/compute/duckdb"
)

func TestConformance(t *testing.T) {
	computetest.Run(t, computetest.Harness{
		New:  func(*testing.T) compute.Engine { return duckdb.Engine{} },
		Read: readParquet,
	})
}

// readParquet reads files through a database of its own, without the settings of the engine.
func readParquet(t *testing.T, files []string) computetest.Table {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("SET TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	escape := strings.NewReplacer("'", "''", "[", "[[]", "*", "[*]", "?", "[?]")
	from := "read_parquet(['" + strings.Join(mapped(files, escape.Replace), "', '") + "'], hive_partitioning = false)"
	var table computetest.Table
	for _, row := range query(t, db, "DESCRIBE SELECT * FROM "+from) {
		table.Columns = append(table.Columns, compute.Column{Name: row[0], Type: row[1]})
	}
	table.Rows = query(t, db, "SELECT COLUMNS(*)::VARCHAR FROM "+from+" ORDER BY ALL")
	return table
}

func mapped(in []string, f func(string) string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = f(s)
	}
	return out
}

func query(t *testing.T, db *sql.DB, q string) [][]string {
	t.Helper()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		values := make([]any, len(cols))
		into := make([]any, len(cols))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(cols))
		for i, v := range values {
			row[i] = "NULL"
			if v != nil {
				row[i] = fmt.Sprint(v)
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
