//go:build fault

package fsops

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// FromEnv returns an FS as UBUNYE_FAULT describes: kill:37, stop:37, enospc:37 or lost:37, at the
// 37th change; stop:~TEXT and so on, at the first change of a path that holds TEXT; or trace:FILE, which writes one line an operation to FILE. Only programs built with the
// tag "fault" have it; others know no such variable.
func FromEnv() (*FS, error) {
	text := os.Getenv("UBUNYE_FAULT")
	if text == "" {
		return New(nil), nil
	}
	if len(text) > 6 && text[:6] == "trace:" {
		file, err := os.Create(text[6:])
		if err != nil {
			return nil, err
		}
		return New(traceFile{file}), nil
	}
	fault, err := ParseFault(text)
	if err != nil {
		return nil, err
	}
	fault.End = func(int64) {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; nothing more may happen
	}
	if fault.Kind == Stop {
		fault.End = func(int64) {
			// A stop reaches the threads one after the other: this one waits until it has been undone.
			continued := make(chan os.Signal, 1)
			signal.Notify(continued, syscall.SIGCONT)
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			<-continued
			signal.Stop(continued)
		}
	}
	return New(fault), nil
}

type traceFile struct{ file *os.File }

func (t traceFile) Before(op Op) error {
	_, err := fmt.Fprintf(t.file, "%d\t%s\t%s\t%s\n", op.N, op.Kind, op.Path, op.To)
	return err
}

func (t traceFile) After(Op, error) error { return nil }
