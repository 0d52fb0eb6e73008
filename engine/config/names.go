package config

import (
	"slices"
	"strings"
)

// maxName is the most bytes of a name.
const maxName = 64

// nameRule says in words what isName checks.
const nameRule = "letters, digits, _ and -, beginning with a letter or _, at most 64"

func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return true
}

// DidYouMean is the hint for a name that is not among the known ones: the nearest of them, or, when
// none is near and they are few, all of them.
func DidYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	if len(known) == 0 || len(known) > 12 {
		return ""
	}
	return "known: " + strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", ")
}

// nearest gives the known name that is few edits away from name, fewer than name has letters; empty: none is.
func nearest(name string, known []string) string {
	best, most := "", min(max(1, len(name)/3)+1, len(name))
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), most); d < most && k != name {
			best, most = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours between a and b. Counting may
// end at limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// CheckName tells what is wrong with a name that a pipeline is to have for something; empty: nothing is.
func CheckName(name string) string {
	if isName(name) {
		return ""
	}
	return quote(name) + " is not a name: it may have " + nameRule
}
