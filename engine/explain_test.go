package engine

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

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
