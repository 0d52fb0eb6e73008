package engine

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// A command in a hint means to a shell what was typed, whatever the words hold, and stays on its line.
func TestR51_HintsAreWordsToAShell(t *testing.T) {
	words := []string{"plain", "", "two  spaces", "it's", `back\slash`, "$HOME `id` \"x\" !", "a\nb\tc'\\\x7f", "ends in a newline\n", "turns \u202e round", "no text \xff\xc3", "\u0085", "ü", "~", "*", "#"}
	r := &run{options: Options{Command: append([]string{"printf", `%s\0`}, words...)}}
	line := (&problem.Problem{Message: "m", Hint: r.command("--rerun")}).Error()
	if strings.ContainsAny(line, "\n\r\t") {
		t.Fatalf("more than one line: %q", line)
	}
	command := strings.TrimSuffix(strings.TrimPrefix(line, "m ("), ")")
	out, err := exec.Command("bash", "-c", command).Output()
	if want := strings.Join(append(words, "--rerun", ""), "\x00"); err != nil || string(out) != want {
		t.Fatalf("%s\n got %q, %v\nwant %q", command, out, err, want)
	}
}
