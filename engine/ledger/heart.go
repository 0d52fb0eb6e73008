package ledger

import (
	"context"
	"sync"
	"time"
)

// heart touches a run's heartbeat until it is stopped, and ends the run's context when no beat has
// succeeded for too long: before anybody else may judge the run dead.
type heart struct {
	path    string
	beat    func() error
	elapsed func() time.Duration // runs during suspend
	every   time.Duration
	limit   time.Duration
	end     context.CancelCauseFunc

	mu   sync.Mutex
	last time.Duration // elapsed when the last beat that succeeded was begun
	err  error         // of the latest beat

	quit chan struct{}
	done sync.WaitGroup
}

// start makes the first beat and goes on in the background.
func (h *heart) start() error {
	h.quit = make(chan struct{})
	if err := h.once(); err != nil {
		return err
	}
	h.done.Go(h.watch)
	return nil
}

func (h *heart) stop() {
	close(h.quit)
	h.done.Wait()
}

// once beats. The time that counts is the one before: a beat may hang and then succeed.
func (h *heart) once() error {
	begun := h.elapsed()
	err := h.beat()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err = err; err == nil {
		h.last = begun
	}
	return err
}

// watch starts a beat every interval, each in a goroutine of its own, because a beat on a network
// disk may hang; and looks at the time meanwhile.
func (h *heart) watch() {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	busy := make(chan struct{}, 1)
	for {
		select {
		case <-h.quit:
			return
		case <-tick.C:
			select {
			case busy <- struct{}{}:
				h.done.Go(func() {
					h.once()
					<-busy
				})
			default: // the last one hangs
			}
			if err := h.check(); err != nil {
				h.end(err)
			}
		}
	}
}

// check returns a HeartbeatError if no beat has succeeded for the limit.
func (h *heart) check() error {
	now := h.elapsed()
	h.mu.Lock()
	defer h.mu.Unlock()
	if silent := now - h.last; silent >= h.limit {
		return &HeartbeatError{Path: h.path, For: silent, Err: h.err}
	}
	return nil
}

// sinceLast is the time since the last beat that succeeded.
func (h *heart) sinceLast() time.Duration {
	now := h.elapsed()
	h.mu.Lock()
	defer h.mu.Unlock()
	return now - h.last
}
