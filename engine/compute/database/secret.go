package database

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Secret is a text that shows itself nowhere: printed, formatted or encoded it is an ellipsis.
type Secret string

const hidden = "…"

// String hides it.
func (Secret) String() string { return hidden }

// Format hides it, whatever the verb.
func (Secret) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(hidden)) }

// MarshalText hides it.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// scrub takes the secret out of a text that others have made, in every spelling that an address could have had.
func (p Secret) scrub(text string) string {
	if p == "" {
		return text
	}
	spellings := []string{string(p), url.QueryEscape(string(p)), url.PathEscape(string(p)), url.UserPassword("", string(p)).String()[1:]}
	slices.SortFunc(spellings, func(a, b string) int { return len(b) - len(a) })
	for _, s := range slices.Compact(spellings) {
		text = strings.ReplaceAll(text, s, hidden)
	}
	return text
}
