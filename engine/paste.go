package engine

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// command is what the person typed, with one more flag, ready to be pasted into a shell.
func (r *run) command(flag string) string {
	words := append([]string(nil), r.options.Command...)
	if flag != "" {
		words = append(words, flag)
	}
	return quoteAll(words)
}

// recoverCommand is how the person would call recover for this pipeline, ready to be pasted into a shell.
func (r *run) recoverCommand(flags ...string) string {
	words := []string{"ubunye"}
	if len(r.options.Command) > 0 {
		words[0] = r.options.Command[0]
	}
	words = append(words, "recover", "-c", r.options.File)
	if r.options.Profile != "" {
		words = append(words, "--profile", r.options.Profile)
	}
	return quoteAll(append(words, flags...))
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellQuote(w)
	}
	return strings.Join(quoted, " ")
}

// shellQuote quotes a word for the shells that people type into, if it needs it.
func shellQuote(word string) string {
	safe := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	if strings.ContainsFunc(word, unprintable) {
		return dollarQuote(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unprintable is for what a problem's line shows as something else.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}

// dollarQuote quotes a word with characters that must not reach the line that shows it.
func dollarQuote(word string) string {
	var b strings.Builder
	for at, r := range word {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case unprintable(r):
			_, size := utf8.DecodeRuneInString(word[at:])
			for _, c := range []byte(word[at : at+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	return "$'" + b.String() + "'"
}
