//go:build fault

package fsops

import (
	"fmt"
	"os"
	"syscall"
)

// FromEnv returns an FS as UBUNYE_FAULT describes: kill:37, stop:37, enospc:37, denied:37 or lost:37, at the
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
		if fault.Kind == Stop {
			freeze()
			return
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; nothing more may happen
	}
	return New(fault), nil
}

type traceFile struct{ file *os.File }

func (t traceFile) Before(op Op) error {
	_, err := fmt.Fprintf(t.file, "%d\t%s\t%s\t%s\n", op.N, op.Kind, op.Path, op.To)
	return err
}

func (t traceFile) After(Op, error) error { return nil }
