package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// cutNanos is the SQL condition on parquet_schema for what DuckDB reads with microseconds though the file may hold more: INT96,
// and nanoseconds with a time zone. Whether it does is in the values alone, which DuckDB does not show uncut. Nanoseconds without a
// zone stay what they are.
const cutNanos = `type = 'INT96' OR CAST(logical_type AS VARCHAR) LIKE 'TimestampType(isAdjustedToUTC=1,%NANOS=N%'`

// wholeMicroseconds refuses such columns; of declared columns only those are looked at.
func (s *session) wholeMicroseconds(ctx context.Context, files []compute.File, declared []compute.Column) error {
	for _, f := range files {
		var path []string // of the node, below the root
		var open []int64  // children of each node of path that are to come
		var wrong *compute.Error
		q := "SELECT name, coalesce(num_children, 0), coalesce(type, ''), coalesce(" + cutNanos + ", false) FROM parquet_schema(" + fileList([]compute.File{f}) + ")"
		err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
			var name, physical string
			var children int64
			var cut bool
			if err := rows.Scan(&name, &children, &physical, &cut); err != nil {
				return err
			}
			path, open = append(path, name), append(open, children)
			if cut && wrong == nil && len(path) > 1 && amongColumns(declared, path[1]) {
				wrong = nanosErr(f.Path, strings.Join(path[1:], "."), physical)
			}
			for len(open) > 0 && open[len(open)-1] == 0 { // the nodes come in the order of a walk
				path, open = path[:len(path)-1], open[:len(open)-1]
				if len(open) > 0 {
					open[len(open)-1]--
				}
			}
			return nil
		})
		if err != nil {
			return s.fail(ctx, err, "reading the schema of "+f.Path+" failed")
		}
		if wrong != nil {
			return wrong
		}
	}
	return nil
}

func amongColumns(declared []compute.Column, name string) bool {
	for _, c := range declared {
		if strings.EqualFold(c.Name, name) {
			return true
		}
	}
	return len(declared) == 0
}

func nanosErr(file, column, physical string) *compute.Error {
	kind := "timestamps with time zone in nanoseconds"
	if physical == "INT96" {
		kind = "timestamps of the old type INT96"
	}
	return &compute.Error{Kind: compute.InputInvalid, File: file, Column: column, Message: fmt.Sprintf("it holds %s, which are read to the microsecond: what they have beyond would be lost", kind),
		Hint: "if they have nothing beyond, as those that Spark writes, or it does not matter, set the option nanoseconds to truncate"}
}
