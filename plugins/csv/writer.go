// Package csv is the writer of CSV files.
package csv

import (
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/files"
)

// Writer gives the writer.
func Writer() files.Format {
	return files.Format{
		Name: "csv", Title: "CSV", Doc: "CSV files in a folder, flat or partitioned; plain or compressed",
		Options: files.Options{
			{Name: "compression", Kind: files.Choice, Default: "none", OneOf: []string{"none", "gzip", "zstd"},
				Doc: "How files are compressed; their names then end in .gz or .zst.", What: "compression of CSV files"},
			{Name: "delimiter", Kind: files.Text, Default: ",", Least: 1, Most: 1, ASCII: true,
				Doc: "What stands between two values.", What: "delimiter", Hint: "one ASCII character, no line end"},
			{Name: "header", Kind: files.Bool, Default: "true",
				Doc: "Whether each file begins with the names of the columns.", What: "value of header"},
			{Name: "quote", Kind: files.Text, Default: `"`, Least: 1, Most: 1, ASCII: true,
				Doc: "Stands around values that need it.", What: "quote", Hint: "one ASCII character"},
			{Name: "escape", Kind: files.Text, Least: 1, Most: 1, ASCII: true,
				Doc: "Stands before a quote inside a quoted value. Without it: the quote itself.", What: "escape", Hint: "one ASCII character"},
			{Name: "null", Kind: files.Text, Most: 100,
				Doc: "What a NULL is written as, without quotes; a text that reads the same is quoted. Without it: nothing.", What: "text for NULL", Hint: "at most 100 characters, no line end"},
			{Name: "date_format", Kind: files.Text, Least: 2, Most: 100,
				Doc: "A strftime pattern for dates, as %d/%m/%Y. Without it: 2026-01-31.", What: "pattern of dates", Hint: "as %d/%m/%Y"},
			{Name: "timestamp_format", Kind: files.Text, Least: 2, Most: 100,
				Doc: "A strftime pattern for timestamps, which are in UTC if they have a zone. Without it: 2026-01-31 23:59:59.", What: "pattern of timestamps", Hint: "as %d/%m/%Y %H:%M:%S"},
		},
		Check: check,
	}
}

// check finds signs that cannot be told apart.
func check(all map[string]string) (problems []abi.Problem) {
	say := func(name, message string) {
		problems = append(problems, abi.Problem{Field: "options." + name, Message: message, Hint: "choose signs that differ"})
	}
	delimiter, quote, null := all["delimiter"], all["quote"], all["null"]
	escape, given := all["escape"]
	if !given {
		escape = quote
	}
	if quote == delimiter {
		say("quote", "the quote is the delimiter, "+strconv.Quote(quote))
	}
	if given && escape == delimiter {
		say("escape", "the escape is the delimiter, "+strconv.Quote(escape))
	}
	if strings.ContainsAny(null, delimiter+quote+escape) {
		say("null", strconv.Quote(null)+" holds the delimiter, the quote or the escape")
	}
	return problems
}
