package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// unchanged looks at every file that was read once more, when all is staged and nothing is committed. A file
// that was written, cut or replaced since it was pinned may have been read half old and half new without
// any error of the reader, and the fingerprint that the commit would keep is not that of the rows.
func (b *batch) unchanged() error {
	var problems problem.List
	for _, in := range b.task.Inputs {
		for _, f := range b.pinned[in.Name] {
			if p := changed(in, f); p != nil {
				p.Task = b.task.Name
				problems = append(problems, p)
				break // one file tells it; a thousand would hide it
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// changed tells that a file is not what it was when it was pinned; nil if it is.
func changed(in config.Input, was compute.File) *problem.Problem {
	p := &problem.Problem{Code: problem.InputInvalid, Pos: problem.Pos{File: was.Path}, Data: nothing,
		Hint: "run it again when nobody writes to its files; whoever makes them should write them under another name and rename them when they are whole"}
	now, err := os.Stat(was.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Message = "it was removed or renamed while the task read it"
	case err != nil:
		p.Message = "it cannot be looked at any more after the task read it: " + reasonOf(err)
	case now.Size() != was.Size:
		p.Message = fmt.Sprintf("it changed while the task read it: it had %d bytes and has %d now", was.Size, now.Size())
	case !now.ModTime().Equal(was.ModTime):
		p.Message = fmt.Sprintf("it changed while the task read it: it was written at %s, and again at %s", exact(was.ModTime), exact(now.ModTime()))
	default:
		return nil
	}
	p.Message = "input " + in.Name + ": " + p.Message
	return p
}

// reasonOf is an error of the system without the path, which the message names already.
func reasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// exact prints a time so that two writes in one second differ.
func exact(t time.Time) string { return t.UTC().Format("15:04:05.000000 UTC") }
