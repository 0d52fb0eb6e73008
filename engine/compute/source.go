package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// Source gives the rows of an input that is no files, as a table of a database. An engine pulls them: it may do so in this
// process, or send them on to where it computes.
type Source interface {
	// Columns are the names and SQL types of the rows, in order: BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT, the same with U,
	// FLOAT, DOUBLE, DECIMAL(w,s), VARCHAR, JSON, UUID, BLOB, DATE, TIME, TIMESTAMP, TIMESTAMP WITH TIME ZONE, and lists of these, as VARCHAR[].
	Columns() []Column
	// Read begins to read all rows. Each call reads them anew, and may find others.
	Read(ctx context.Context) (Batches, error)
}

// Batches are rows in pieces of a bounded size. Columns are of the Arrow type that fits the SQL type: DECIMAL is decimal128, JSON
// and UUID are text, times and timestamps count microseconds (of UTC, if they have a zone) and dates days. Of dates and
// timestamps the greatest number is infinity, and the same with a minus sign what comes before all others.
type Batches interface {
	// Next gives the next rows; io.EOF after the last. The caller releases them. An error is an *Error that may name the column.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Close gives back what reading holds, also before the end. It may be called again.
	Close() error
}
