package engine

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
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

// A run that was told to stop says so, whatever that made fail; but not in place of what a person must know.
func TestTheWishToStopHidesNoDoubt(t *testing.T) {
	stop := &problem.Problem{Code: problem.Terminated}
	ctx, cancel := context.WithCancelCause(context.Background())
	lost, unknown := &ledger.LostError{}, &ledger.UnknownError{}
	for _, err := range []error{lost, unknown, context.Canceled} {
		if told(ctx, err) != err {
			t.Fatalf("nobody told it to stop: %v", told(ctx, err))
		}
	}
	cancel(stop)
	for err, want := range map[error]error{lost: lost, unknown: unknown, context.Canceled: stop, errors.New("query interrupted"): stop} {
		if got := told(ctx, err); got != want {
			t.Fatalf("%v: told %v, want %v", err, got, want)
		}
	}
}

func TestAFullDiskIsNotAQuestionOfRights(t *testing.T) {
	r := &run{config: &config.Pipeline{}, plan: &plan.Plan{}}
	for errno, want := range map[syscall.Errno]string{syscall.ENOSPC: "make room", syscall.EDQUOT: "make room", syscall.EACCES: "writable", syscall.EROFS: "writable"} {
		at := &fs.PathError{Op: "write", Path: "/lake", Err: errno}
		for _, err := range []error{&ledger.UnwritableError{Path: "/lake", Err: at}, &ledger.OutputUnwritableError{Path: "/lake", Err: at}} {
			if p := r.explain(err, "")[0]; !strings.Contains(p.Hint, want) {
				t.Errorf("%v: hint %q does not say %q", err, p.Hint, want)
			}
		}
	}
}

// What is full, or not to be written, is the folder in which the files were to be: that of the output, or of its staging.
func TestAStagingFolderIsNamedAsOne(t *testing.T) {
	r := &run{config: &config.Pipeline{}, plan: &plan.Plan{}}
	at := &fs.PathError{Op: "write", Path: "/lake/x/marker", Err: syscall.ENOSPC}
	for want, staging := range map[string]bool{"files cannot be staged in /lake: no space left on device in /lake/x": true, "files cannot be landed in /lake: no space left on device in /lake/x": false} {
		if p := r.explain(&ledger.OutputUnwritableError{Path: "/lake", Staging: staging, Err: at}, "")[0]; p.Message != want {
			t.Errorf("%q, want %q", p.Message, want)
		}
	}
}
