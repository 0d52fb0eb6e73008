package deltalog

import "context"

// Storage reads a table's files. Paths are relative to the table's folder, with slashes. An error of a file that is not
// there wraps fs.ErrNotExist; no other error may.
type Storage interface {
	// Get gives the content of a file.
	Get(ctx context.Context, path string) ([]byte, error)
	// List gives the files of one folder, not of those below, whose names come after the given one in the order of bytes; an
	// empty name gives all. They are in that order.
	List(ctx context.Context, folder, after string) ([]Entry, error)
	// ReadRows calls row for the rows of a Parquet file. The line holds until row returns; an error of row ends the reading
	// and is returned.
	ReadRows(ctx context.Context, req RowsRequest, row func(line []byte) error) error
}

// Entry is a file in a folder.
type Entry struct {
	Name    string
	Size    int64 // bytes
	ModTime int64 // milliseconds since 1970
}

// RowsRequest asks for rows as JSON, an object for each with the columns as members; a map is an object too, and integers
// have all their digits.
type RowsRequest struct {
	Path string
	// Columns are the ones to read. One that the file lacks is NULL; a row in which all are NULL may be left out.
	Columns []string
	// Where names rows that are enough, nil all: others may be left out, and need not be.
	Where *Where
}

// Where is a condition on a field of a struct column: that it equals a text.
type Where struct {
	Column, Field string
	Equals        string
}
