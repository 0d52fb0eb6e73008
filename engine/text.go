package engine

import (
	"maps"
	"slices"
	"strings"
)

// variablesText is the variables of a batch as people write them: dt=2026-01-01 region=eu.
func variablesText(variables map[string]string, profile string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		words = append(words, name+"="+variables[name])
	}
	if profile != "" {
		words = append(words, "profile="+profile)
	}
	return strings.Join(words, " ")
}

// number gives a count that an event has, also if it is 0.
func number[T int | int64](n T) *int64 {
	v := int64(n)
	return &v
}
