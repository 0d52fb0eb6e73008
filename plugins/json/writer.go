// Package json is the writer of JSON files: an object for each row.
package json

import (
	"github.com/ubunye-io/ubunye/plugins/sdk/files"
)

// Writer gives the writer.
func Writer() files.Format {
	return files.Format{
		Name: "json", Title: "JSON", Doc: "JSON files in a folder, flat or partitioned; an object a line, or one array a file",
		Options: files.Options{
			{Name: "compression", Kind: files.Choice, Default: "none", OneOf: []string{"none", "gzip", "zstd"},
				Doc: "How files are compressed; their names then end in .gz or .zst.", What: "compression of JSON files"},
			{Name: "layout", Kind: files.Choice, Default: "lines", OneOf: []string{"lines", "array"},
				Doc: "lines: an object a line. array: a file is one array of objects.", What: "layout of JSON files"},
			{Name: "date_format", Kind: files.Text, Least: 2, Most: 100,
				Doc: "A strftime pattern for dates, as %d/%m/%Y. Without it: 2026-01-31.", What: "pattern of dates", Hint: "as %d/%m/%Y"},
			{Name: "timestamp_format", Kind: files.Text, Least: 2, Most: 100,
				Doc: "A strftime pattern for timestamps, which are in UTC if they have a zone. Without it: RFC 3339, as 2026-01-31T23:59:59Z, without the Z if they have no zone.", What: "pattern of timestamps", Hint: "as %d/%m/%Y %H:%M:%S"},
		},
	}
}
