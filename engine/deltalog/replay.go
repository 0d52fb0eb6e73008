package deltalog

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// fileKey tells files of a table apart: one data file with another deletion vector is another one.
func fileKey(path string, vector *DeletionVector) (string, error) {
	decoded, absolute, err := DecodePath(path)
	if err != nil {
		return "", err
	}
	if absolute {
		decoded = "/" + strings.TrimLeft(decoded, "/")
	}
	if vector == nil {
		return decoded, nil
	}
	return decoded + "\x00" + vector.id(), nil
}

// Key tells the file from others of the table, however its path is written. An error says that the path is none.
func (a *Add) Key() (string, error) { return fileKey(a.Path, a.DeletionVector) }

// Key tells which file is removed.
func (m *Remove) Key() (string, error) { return fileKey(m.Path, m.DeletionVector) }

// Files gives the live files, in no order that means anything. It ends with the first error.
func (s *Snapshot) Files(ctx context.Context) iter.Seq2[*Add, error] {
	return func(yield func(*Add, error) bool) {
		stopped := false
		err := s.replay(ctx, false, func(a Action) error {
			if a.Add != nil && !yield(a.Add, nil) {
				stopped = true
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("the caller has seen enough")

// replay gives the newest action of each file, from the newest commit to the checkpoint; removes only if they are asked for.
func (s *Snapshot) replay(ctx context.Context, removes bool, visit func(Action) error) error {
	seen := map[string]struct{}{}
	for _, c := range s.commits {
		// Of two actions for one file in one commit, which the protocol forbids, the later one counts.
		for i := len(c.files) - 1; i >= 0; i-- {
			a, key, err := c.files[i].parse(c.version)
			if err != nil {
				return err
			}
			if _, ok := seen[key]; ok {
				continue
			}
			seen[key] = struct{}{}
			if a.Add == nil && !removes {
				continue
			}
			if err := visit(a); err != nil {
				return err
			}
		}
	}
	return s.replayCheckpoint(ctx, seen, removes, visit)
}

func (f fileLine) parse(version int64) (Action, string, error) {
	a, key, err := parseRow(f.raw)
	if err != nil {
		err = &DamagedError{File: CommitPath(version), Line: f.line, Reason: err.Error()}
	}
	return a, key, err
}

func (a *Action) fileKey() (string, error) {
	if a.Add != nil {
		return a.Add.Key()
	}
	return a.Remove.Key()
}

func (s *Snapshot) replayCheckpoint(ctx context.Context, seen map[string]struct{}, removes bool, visit func(Action) error) error {
	columns := []string{"add"}
	if removes {
		columns = append(columns, "remove")
	}
	return s.fileRows(ctx, columns, func(a Action, key string) error {
		if a.Add == nil && (a.Remove == nil || !removes) {
			return nil
		}
		if _, ok := seen[key]; ok {
			return nil
		}
		return visit(a)
	})
}

// rowFunc takes a row of a checkpoint; key is of the file that it is about.
type rowFunc func(a Action, key string) error

// fileRows gives the rows of the checkpoint and of its sidecars.
func (s *Snapshot) fileRows(ctx context.Context, columns []string, visit rowFunc) error {
	if err := s.rows(ctx, columns, nil, visit); err != nil {
		return err
	}
	for _, path := range s.sidecars {
		if err := s.parquetRows(ctx, RowsRequest{Path: path, Columns: columns}, visit); err != nil {
			return err
		}
	}
	return nil
}

// rows gives the rows of the checkpoint's own files that have a value in one of the columns, and learns its sidecars.
func (s *Snapshot) rows(ctx context.Context, columns []string, where *Where, visit rowFunc) error {
	learn := !s.known && where == nil
	if learn {
		columns = append(columns[:len(columns):len(columns)], "sidecar")
	}
	var sidecars []string
	each := func(a Action, key string) error {
		if a.Sidecar == nil {
			return visit(a, key)
		}
		path, err := sidecarPath(a.Sidecar.Path)
		if err != nil {
			return &DamagedError{File: s.start(), Reason: err.Error()}
		}
		sidecars = append(sidecars, path)
		return nil
	}
	for _, f := range s.checkpoint {
		path := Folder + "/" + f.name
		var err error
		if f.json {
			err = s.jsonRows(ctx, path, each)
		} else {
			err = s.parquetRows(ctx, RowsRequest{Path: path, Columns: columns, Where: where}, each)
		}
		if err != nil {
			return err
		}
	}
	if learn {
		s.sidecars, s.known = sidecars, true
	}
	return nil
}

func (s *Snapshot) jsonRows(ctx context.Context, path string, visit rowFunc) error {
	data, err := s.storage.Get(ctx, path)
	if err != nil {
		return err
	}
	var failed error
	err = eachLine(path, data, func(line []byte, _ int) error {
		if failed != nil {
			return nil
		}
		a, key, err := parseRow(line)
		if err == nil {
			failed = visit(a, key)
		}
		return err
	})
	if failed != nil {
		return failed
	}
	return err
}

func (s *Snapshot) parquetRows(ctx context.Context, req RowsRequest, visit rowFunc) error {
	return s.storage.ReadRows(ctx, req, func(line []byte) error {
		a, key, err := parseRow(line)
		if err != nil {
			// Rows have no numbers that mean anything: some may be left out.
			return &DamagedError{File: req.Path, Reason: err.Error() + " in the row " + string(line[:min(len(line), 100)])}
		}
		return visit(a, key)
	})
}

// parseRow reads a row, and the key of its file if it has one.
func parseRow(line []byte) (a Action, key string, err error) {
	if a, err = ParseAction(line); err == nil && (a.Add != nil || a.Remove != nil) {
		key, err = a.fileKey()
	}
	return a, key, err
}

// sidecarPath gives a sidecar's file below the table: all lie in one folder, whatever else the path says.
func sidecarPath(path string) (string, error) {
	decoded, _, err := DecodePath(path)
	name := decoded[strings.LastIndexByte(decoded, '/')+1:]
	return Folder + "/_sidecars/" + name, err
}
