package expect

import (
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// wrong says what is wrong with a number of rows; empty: nothing.
func (b *Bounds) wrong(rows int64) string {
	switch {
	case b.Min != nil && rows < *b.Min:
		return fmt.Sprintf("%s, fewer than %d", count(rows), *b.Min)
	case b.Max != nil && rows > *b.Max:
		return fmt.Sprintf("%s, more than %d", count(rows), *b.Max)
	}
	return ""
}

func count(rows int64) string {
	if rows == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", rows)
}

// broken tells how many rows break a check, and some of them.
func broken(b compute.Broken, rows int64) string {
	text := fmt.Sprintf("%d of %s", b.Rows, count(rows))
	if len(b.Examples) == 0 {
		return text
	}
	var all []string
	for _, row := range b.Examples {
		var fields []string
		for i, v := range row {
			fields = append(fields, b.Columns[i]+"="+value(v))
		}
		all = append(all, "("+strings.Join(fields, ", ")+")")
	}
	more := ""
	if len(all) == examples && b.Rows > examples {
		more = ", for example"
	}
	return text + more + ": " + strings.Join(all, ", ")
}

// value prints a value so that texts cannot be taken for NULL or run into each other.
func value(v *string) string {
	const most = 40
	if v == nil {
		return "NULL"
	}
	text := *v
	if all := []rune(text); len(all) > most {
		text = string(all[:most-1]) + "…"
	}
	if text == "" || text == "NULL" || strings.ContainsAny(text, `,()="' `+"\t\r\n") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
