package predicate

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	end    kind = iota
	word        // a keyword or the name of a column
	name        // the quoted name of a column
	text        // a text literal
	number      // a number, without a sign
	sign        // an operator, a parenthesis or a comma
)

type token struct {
	kind kind
	text string // without quotes
	at   int
}

// Dialect says whose SQL a condition is.
type Dialect uint8

// The dialects.
const (
	Standard Dialect = iota // names in "", texts in ''
	Spark                   // names in ``, texts in '' or ""
)

// signs are the operators, longer ones first.
var signs = []string{"<=>", "<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ",", "-", "+"}

// lex divides a condition into tokens; the last one is the end.
func lex(all string, dialect Dialect) ([]token, *Error) {
	var tokens []token
	for at := 0; at < len(all); {
		char, size := utf8.DecodeRuneInString(all[at:])
		switch {
		case char == utf8.RuneError && size <= 1:
			return nil, &Error{At: at, Reason: "the text is no UTF-8"}
		case unicode.IsSpace(char):
			at += size
		case char == '\'' || char == '"' || char == '`':
			t, next, err := quoted(all, at, dialect)
			if err != nil {
				return nil, err
			}
			tokens, at = append(tokens, t), next
		case char >= '0' && char <= '9' || char == '.':
			next := numberEnd(all, at)
			tokens, at = append(tokens, token{number, all[at:next], at}), next
		case char == '_' || unicode.IsLetter(char):
			next := at + strings.IndexFunc(all[at:]+" ", func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
			tokens, at = append(tokens, token{word, all[at:next], at}), next
		default:
			found := ""
			for _, s := range signs {
				if strings.HasPrefix(all[at:], s) {
					found = s
					break
				}
			}
			if found == "" || found == "<=>" {
				return nil, &Error{At: at, Reason: strconv.Quote(string(char)) + " is not part of a condition that is understood here"}
			}
			tokens, at = append(tokens, token{sign, found, at}), at+len(found)
		}
	}
	return append(tokens, token{end, "", len(all)}), nil
}

// quoted reads a text or a name; a quote in it is doubled.
func quoted(all string, at int, dialect Dialect) (token, int, *Error) {
	quote := all[at]
	t := token{kind: text, at: at}
	if quote == '`' || quote == '"' && dialect == Standard {
		t.kind = name
	}
	if quote == '`' && dialect == Standard {
		return t, 0, &Error{At: at, Reason: "a name is quoted by \" and not by `"}
	}
	var plain strings.Builder
	for i := at + 1; i < len(all); i++ {
		switch {
		case all[i] == '\\' && t.kind == text && dialect == Spark:
			return t, 0, &Error{At: i, Reason: "a text with a backslash is not understood here"}
		case all[i] != quote:
			plain.WriteByte(all[i])
		case i+1 < len(all) && all[i+1] == quote:
			plain.WriteByte(quote)
			i++
		default:
			t.text = plain.String()
			return t, i + 1, nil
		}
	}
	return t, 0, &Error{At: at, Reason: "a quote is never closed"}
}

// numberEnd gives the byte after a number: digits, a point, digits, an exponent.
func numberEnd(all string, at int) int {
	digits := func(i int) int {
		for i < len(all) && all[i] >= '0' && all[i] <= '9' {
			i++
		}
		return i
	}
	i := digits(at)
	if i < len(all) && all[i] == '.' {
		i = digits(i + 1)
	}
	if i < len(all) && (all[i] == 'e' || all[i] == 'E') {
		j := i + 1
		if j < len(all) && (all[j] == '-' || all[j] == '+') {
			j++
		}
		if k := digits(j); k > j {
			i = k
		}
	}
	return i
}
