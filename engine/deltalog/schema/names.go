package schema

import "strings"

// badInNames are the characters that Parquet's older readers do not take in a column's name; a table without a column mapping
// may not have them, as the protocol's first implementation decides it.
const badInNames = " ,;{}()\n\t="

// BadName is a column's name that a table cannot have.
type BadName struct {
	Name   string
	Reason string
	Better string // a name that it could have
}

// CheckNames finds all names of a new table's columns that no table without a column mapping may have.
func CheckNames(names []string) (bad []BadName) {
	seen := map[string]string{}
	for _, name := range names {
		lower := strings.ToLower(name)
		other, twice := seen[lower]
		seen[lower] = name
		switch {
		case name == "":
			bad = append(bad, BadName{name, "it is empty", "column"})
		case twice:
			bad = append(bad, BadName{name, "it differs from " + other + " in case alone", name + "_2"})
		case strings.ContainsAny(name, badInNames):
			bad = append(bad, BadName{name, "it has one of the characters space ,;{}()= or a tab or line end", better(name)})
		}
	}
	return bad
}

func better(name string) string {
	words := strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune(badInNames, c) })
	if len(words) == 0 {
		return "column"
	}
	return strings.Join(words, "_")
}
