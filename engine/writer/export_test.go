package writer

import "time"

// SetClock has sessions measure time by another clock.
func (h *Host) SetClock(now func() time.Time) { h.now = now }

// Child returns the process id of a session's child; 0 when there is none.
func (s *Session) Child() int {
	<-s.loaded
	if s.proc == nil {
		return 0
	}
	return s.proc.cmd.Process.Pid
}
