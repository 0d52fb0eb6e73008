// Package schemas holds the JSON Schemas of the pipeline file and of all that the program reads and writes beside data.
// They are generated: see schemas/gen and engine/config/gen.
package schemas

import "embed"

// Files are the schemas, as "batch.schema.json".
//
//go:embed *.schema.json
var Files embed.FS
