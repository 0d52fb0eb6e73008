package fsops

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Fault is a Hook that does one thing at one operation. It is what UBUNYE_FAULT describes in
// programs built with the tag "fault", and what tests use in their own process.
type Fault struct {
	Kind FaultKind
	At   int64       // the operation, from 1; 0: the first that Path fits
	Path string      // with At 0: a part of the path, or of the second name, of the operation
	End  func(int64) // Kill and Stop: what ends or stops this process; called before the operation

	hit atomic.Int64 // the operation that it struck, 0 while there was none
}

// FaultKind tells what a Fault does.
type FaultKind string

// The kinds of Fault.
const (
	Kill   FaultKind = "kill"   // the process dies before operation At
	Stop   FaultKind = "stop"   // the process is frozen before operation At
	NoRoom FaultKind = "enospc" // operation At fails: no space left, nothing happened
	Denied FaultKind = "denied" // operation At fails: permission denied, nothing happened; the next one may be the same again
	Lost   FaultKind = "lost"   // operation At happens, but its caller is told that it failed
)

// ParseFault reads the forms kind:number, as kill:37, and kind:~text, as stop:~/staging/.
func ParseFault(text string) (*Fault, error) {
	kind, where, _ := strings.Cut(text, ":")
	f := &Fault{Kind: FaultKind(kind)}
	switch f.Kind {
	case Kill, Stop, NoRoom, Denied, Lost:
	default:
		return nil, fmt.Errorf("fault %q: the kinds are kill, stop, enospc, denied and lost", text)
	}
	if part, ok := strings.CutPrefix(where, "~"); ok && part != "" {
		f.Path = part
		return f, nil
	}
	at, err := strconv.ParseInt(where, 10, 64)
	if err != nil || at < 1 {
		return nil, fmt.Errorf("fault %q: want kind:number with a number from 1, or kind:~text", text)
	}
	f.At = at
	return f, nil
}

// strikes tells whether op is the one; it is so once.
func (f *Fault) strikes(op Op) bool {
	if f.At != 0 {
		return op.N == f.At
	}
	return (strings.Contains(op.Path, f.Path) || strings.Contains(op.To, f.Path)) && f.hit.CompareAndSwap(0, op.N)
}

// Before upholds Hook.
func (f *Fault) Before(op Op) error {
	if f.Kind == Lost || !f.strikes(op) {
		return nil
	}
	switch f.Kind {
	case Kill, Stop:
		f.End(op.N)
	case NoRoom:
		return syscall.ENOSPC
	case Denied:
		return syscall.EACCES
	}
	return nil
}

// After upholds Hook.
func (f *Fault) After(op Op, err error) error {
	if f.Kind == Lost && f.strikes(op) {
		return syscall.EIO
	}
	return nil
}

// Trace is a Hook that keeps every operation, for tests that count first and then fail at each.
type Trace struct {
	mu  sync.Mutex
	ops []Op
}

// Before upholds Hook.
func (t *Trace) Before(op Op) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ops = append(t.ops, op)
	return nil
}

// After upholds Hook.
func (t *Trace) After(Op, error) error { return nil }

// Ops returns what was seen so far.
func (t *Trace) Ops() []Op {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Op(nil), t.ops...)
}
