package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Origin says which other program finished a batch that was taken over from it.
type Origin struct {
	Program string `json:"program"` // name of the program
	Run     string `json:"run"`     // the id that its run had there
	Note    string `json:"note"`    // path of the file that says so

	extra unknown
}

// Import is a batch that another program finished, whose files are where it put them.
type Import struct {
	Origin  Origin
	At      time.Time // when that program finished it
	Outputs map[string]ImportedOutput
}

// ImportedOutput is what the other program wrote to an output.
type ImportedOutput struct {
	Base  string   // absolute path of the output folder
	Files []string // below Base, with slashes
}

// ImportError is a file that another program says to be a batch's, and that cannot be claimed.
type ImportError struct {
	Output string
	Path   string
	Reason string
}

func (e *ImportError) Error() string { return e.Path + " " + e.Reason }

// Import makes the batch, which nothing was prepared of, what another program finished: by one save, as Commit does. It
// stages, moves and removes no file. Afterwards the batch is finished like any other: refused if it is named and the task
// appends, and replaced by a rerun, which then removes these files. missing are claimed files that are not there: they are
// claimed all the same, because what became of their rows is not known, so that a rerun is refused until a person says
// otherwise (*ClaimsMissingError).
//
//	a crash         leaves
//	before the save a holder that the next start, or the import when it is repeated, takes over
//	after it        a finished batch, and a record that the next start mends
//
// A batch that has been committed before is a *FinishedError; an output folder of another ledger a *TargetElsewhereError.
func (s *Lease) Import(ctx context.Context, im Import) (missing []string, err error) {
	if err := s.run.check(); err != nil {
		return nil, err
	}
	switch {
	case s.ended || s.committed || len(s.prepared) > 0:
		return nil, fmt.Errorf("batch %s: import after the lease has ended, or after prepare", s.request.Batch.Name())
	case s.doc.Finished != nil:
		return nil, &FinishedError{Batch: s.doc.Batch, Finished: *s.doc.Finished, Document: s.version.Path}
	}
	outputs := map[string]FinishedOutput{}
	for _, name := range sortedKeys(im.Outputs) {
		out, gone, err := s.imported(name, im.Outputs[name])
		if err != nil {
			return nil, err
		}
		outputs[name] = out
		missing = append(missing, gone...)
	}
	if err := s.stillThere(ctx, "import"); err != nil {
		return nil, err
	}
	err = s.save(ctx, "import", func(d *Document) {
		origin := im.Origin
		d.Finished = &Finished{Run: s.run.ID, Epoch: s.epoch, At: im.At.UTC(), Range: orEmpty(nil), Inputs: orEmpty(nil), Outputs: outputs, Imported: &origin}
		d.Holder, d.Outputs, d.Tried = nil, nil, nil
	})
	if err != nil {
		return nil, err
	}
	s.committed, s.ended, s.clean = true, true, true
	return missing, nil
}

// imported looks at the files of one output.
func (s *Lease) imported(name string, im ImportedOutput) (out FinishedOutput, missing []string, err error) {
	if err := checkName(name); err != nil {
		return out, nil, err
	}
	base, absent, err := resolve(im.Base)
	if err == nil && absent == 0 {
		err = mustBeFolder(base)
	}
	if err != nil {
		return out, nil, &ImportError{Output: name, Path: im.Base, Reason: "cannot be an output folder: " + err.Error()}
	}
	target, err := s.ledger.target(base)
	if err == nil {
		err = elsewhere(name, base, target, s.run.id)
	}
	if err != nil {
		return out, nil, err
	}
	out = FinishedOutput{Class: Claims, Base: s.ledger.place(base), Target: target.ID, Claims: []string{}}
	for _, file := range im.Files {
		path := filepath.Join(base, filepath.FromSlash(file))
		if !filepath.IsLocal(filepath.FromSlash(file)) || path == base {
			return out, nil, &ImportError{Output: name, Path: file, Reason: "is not below the output folder " + base}
		}
		size, err := sizeOf(path)
		switch {
		case err != nil:
			return out, nil, &ImportError{Output: name, Path: path, Reason: err.Error()}
		case size < 0:
			missing = append(missing, path)
		default:
			out.Files, out.Bytes = out.Files+1, out.Bytes+size
		}
		out.Claims = append(out.Claims, filepath.ToSlash(filepath.Clean(filepath.FromSlash(file))))
	}
	return out, missing, nil
}

// sizeOf gives the bytes of a file; -1 if it is not there.
func sizeOf(path string) (int64, error) {
	is, err := there(path)
	if err != nil || !is {
		return -1, err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return -1, err
	case info.IsDir():
		return -1, syscall.EISDIR
	case !info.Mode().IsRegular():
		return -1, fmt.Errorf("is no file")
	}
	return info.Size(), nil
}
