package database

import (
	"fmt"
	"regexp"
	"strings"
)

// Secret is a text that shows itself nowhere: printed, formatted or encoded it is an ellipsis. The zero value is an empty one.
type Secret struct{ text *string } // printing what holds one, by fields that are not exported, shows an address

// NewSecret makes one of a text.
func NewSecret(text string) Secret { return Secret{&text} }

const hidden = "…"

// String hides it.
func (Secret) String() string { return hidden }

// Format hides it, whatever the verb.
func (Secret) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(hidden)) }

// MarshalText hides it.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

func (s Secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

func (s Secret) empty() bool { return s.reveal() == "" }

// scrub takes the secret out of a text that others have made, each sign of it as it is or escaped as in a URL.
func (s Secret) scrub(text string) string {
	if s.empty() {
		return text
	}
	var pattern strings.Builder
	for _, c := range []byte(s.reveal()) {
		fmt.Fprintf(&pattern, `(?:\x{%02x}|%%(?i:%02x))`, c, c)
	}
	// Bytes that are no text on their own are as good as others, once each is a rune.
	widened, widenedText := pattern.String(), widen(text)
	return narrow(regexp.MustCompile(widened).ReplaceAllLiteralString(widenedText, widen(hidden)))
}

// widen makes a rune of each byte, and narrow a byte of each rune.
func widen(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

func narrow(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteByte(byte(r))
	}
	return b.String()
}
