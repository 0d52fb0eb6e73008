// Package parquet is the writer of Parquet files.
package parquet

import (
	"github.com/ubunye-io/ubunye/plugins/sdk/files"
)

// Writer gives the writer.
func Writer() files.Format {
	return files.Format{
		Name: "parquet", Title: "Parquet", Doc: "Apache Parquet files in a folder, flat or partitioned",
		Options: files.Options{
			{Name: "compression", Kind: files.Choice, Default: "zstd", OneOf: []string{"zstd", "snappy", "gzip", "lz4", "brotli", "none"},
				Doc: "How column pages are compressed.", What: "compression of Parquet files"},
			{Name: "compression_level", Kind: files.Int, Least: 1, Most: 22, // zstd's own
				Doc: "1 (fastest) to 22 (smallest); with compression zstd only.", What: "level of zstd", Hint: "1 (fastest) to 22 (smallest)",
				Useless: func(all map[string]string) (why, hint string) {
					if c := all["compression"]; c != "zstd" {
						return "compression " + c + " has no levels", "remove it, or set compression: zstd"
					}
					return "", ""
				}},
			{Name: "row_group_size", Kind: files.Int, Least: 2048, Most: 100_000_000,
				Doc: "Rows of a row group, roughly.", What: "size of a row group", Hint: "2048 to 100000000 rows"},
		},
	}
}
