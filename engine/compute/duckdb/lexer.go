package duckdb

import "strings"

// parameter is a $name in SQL text.
type parameter struct {
	start, end int // bytes of $name in the text
	name       string
}

// parameters finds the $names of SQL text, outside of strings, quoted names and comments, by the rules of DuckDB's
// scanner. The caller compares what it makes of them with DuckDB's own tree, so a mistake here cannot go unseen.
func parameters(text string) []parameter {
	var found []parameter
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'':
			i = skipString(text, i, i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && (i < 2 || !identByte(text[i-2])))
		case c == '"':
			i = skipQuoted(text, i, '"')
		case strings.HasPrefix(text[i:], "--"):
			i = skipTo(text, i, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = skipComment(text, i)
		case c == '$':
			end := i + 1
			for end < len(text) && identByte(text[end]) {
				end++
			}
			if end < len(text) && text[end] == '$' && (end == i+1 || !digit(text[i+1])) {
				tag := text[i : end+1]
				i = skipTo(text, end+1, tag)
				continue
			}
			if end > i+1 && !digit(text[i+1]) {
				found = append(found, parameter{i, end, text[i+1 : end]})
			}
			i = end
		case identByte(c):
			for i < len(text) && (identByte(text[i]) || text[i] == '$') {
				i++
			}
		default:
			i++
		}
	}
	return found
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func identByte(c byte) bool {
	return c == '_' || c >= 0x80 || digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// skipQuoted passes a quoted text in which the quote is doubled; i is at its opening quote.
func skipQuoted(text string, i int, q byte) int {
	for i++; i < len(text); i++ {
		if text[i] != q {
			continue
		}
		if i+1 < len(text) && text[i+1] == q {
			i++
			continue
		}
		return i + 1
	}
	return len(text)
}

func skipString(text string, i int, backslashes bool) int {
	if !backslashes {
		return skipQuoted(text, i, '\'')
	}
	for i++; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == '\'':
			return i + 1
		}
	}
	return len(text)
}

// skipTo gives the byte after the next end, or the end of the text.
func skipTo(text string, from int, end string) int {
	if n := strings.Index(text[from:], end); n >= 0 {
		return from + n + len(end)
	}
	return len(text)
}

// skipComment passes a comment; comments nest.
func skipComment(text string, i int) int {
	for depth := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(text[i:], "*/"):
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(text)
}

// statementStart gives the first byte of SQL that is neither white space, comment nor semicolon.
func statementStart(text string) int {
	for i := 0; i < len(text); {
		switch {
		case strings.IndexByte(" \t\r\n\f\v;", text[i]) >= 0:
			i++
		case strings.HasPrefix(text[i:], "--"):
			i = skipTo(text, i, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = skipComment(text, i)
		default:
			return i
		}
	}
	return len(text)
}

// place gives the line and the byte in it of a position in text, both from 1; zeros if it is not in the text.
func place(text string, position int) (line int64, col int) {
	if position < 0 || position > len(text) {
		return 0, 0
	}
	before := text[:position]
	return int64(strings.Count(before, "\n")) + 1, position - strings.LastIndexByte(before, '\n')
}
