package writer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// lookEvery is how often a running module is looked at: by how much it can overrun its time and memory.
const lookEvery = 20 * time.Millisecond

// What the child may occupy beside the module's memory: its own code, the compiled module, tables and
// stacks. While it compiles it needs more; a module that is large when loaded may grow from there.
const (
	residentRoom        = 192 << 20
	residentRoomLoading = 1 << 30
	residentRoomLoaded  = 64 << 20
)

// residentLimit is the most bytes that the child may occupy during a call.
func (s *Session) residentLimit(call string) int64 {
	if call == callLoad {
		return s.limits.Memory + residentRoomLoading
	}
	return s.limits.Memory + max(residentRoom, s.baseline+residentRoomLoaded)
}

// watch ends the child when the context ends or the module takes too much time or memory. What the engine
// does for the module meanwhile does not count as the module's time.
type watch struct {
	s        *Session
	call     string
	limit    time.Duration
	deadline atomic.Int64 // nanoseconds on h.now's clock since begin; 0: paused
	begin    time.Time
	left     time.Duration // of limit, while paused
	stopped  chan struct{}
	gone     chan struct{}
}

// watch begins to look. The context returned ends when ctx does or when the child has ended.
func (s *Session) watch(ctx context.Context, call string, limit time.Duration) (*watch, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{s: s, call: call, limit: limit, begin: s.host.now(), left: limit,
		stopped: make(chan struct{}), gone: make(chan struct{})}
	w.resume()
	go func() {
		defer close(w.gone)
		defer cancel(nil)
		w.look(ctx, cancel)
	}()
	return w, ctx
}

func (w *watch) look(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopped:
			return
		case <-w.s.proc.done:
			cancel(errChildEnded)
			<-w.stopped
			return
		case <-ctx.Done():
			cause := context.Cause(ctx)
			w.s.kill(&Error{Call: w.call, Kind: Cancelled, Message: cause.Error(), Err: cause})
			<-w.stopped
			return
		case <-ticker.C:
			if e := w.excess(); e != nil {
				w.s.kill(e)
			}
		}
	}
}

// excess says what the module has too much of.
func (w *watch) excess() *Error {
	if d := w.deadline.Load(); d != 0 && int64(w.s.host.now().Sub(w.begin)) > d {
		return &Error{Call: w.call, Kind: Deadline,
			Message: fmt.Sprintf("it took longer than its time of %v and was stopped", w.limit)}
	}
	if most := w.s.residentLimit(w.call); w.s.proc.resident() > most {
		return &Error{Call: w.call, Kind: Memory,
			Message: fmt.Sprintf("its process occupied more than %d MiB and was stopped", most>>20)}
	}
	return nil
}

func (w *watch) pause() {
	used := w.s.host.now().Sub(w.begin)
	w.left = max(time.Duration(w.deadline.Swap(0))-used, time.Nanosecond)
}

func (w *watch) resume() {
	w.deadline.Store(int64(w.s.host.now().Sub(w.begin) + w.left))
}

// stop ends looking; nothing is killed after it has returned.
func (w *watch) stop() {
	w.deadline.Store(0)
	close(w.stopped)
	<-w.gone
}
