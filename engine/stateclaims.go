package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// claim finds the files that the other program says to be the batch's, and claims each for one batch.
func (im *importer) claim(f *foundBatch, mapped config.ImportTask, note runstate.PythonNote) {
	f.request = ledger.Import{Origin: ledger.Origin{Program: pythonProgram, Run: note.Run, Note: f.Note}, At: note.Finished, Outputs: map[string]ledger.ImportedOutput{}}
	taken := map[string]bool{}
	for _, o := range f.task.Targets {
		theirs := o.Name
		if name := mapped.Outputs[o.Name]; name != "" {
			theirs = name
		}
		taken[theirs] = true
		if !adds(o) {
			continue // it is replaced whenever the batch is run
		}
		if o.Table {
			im.refuse(f, fmt.Sprintf("output %s is a table, and files are no proof of what its log says", o.Name), "take the batch's rows out of the table and run it, or have replace_where replace them")
			return
		}
		said, there := note.Outputs[theirs]
		if !there {
			im.refuse(f, fmt.Sprintf("the other program's note has no output %s, which %s would be", theirs, o.Name), "say what it is called there, as outputs: {"+o.Name+": NAME}; it has "+strings.Join(slices.Sorted(maps.Keys(note.Outputs)), ", "))
			return
		}
		if !im.claimOutput(f, o, said) {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(note.Outputs)) {
		if !taken[name] {
			im.refuse(f, fmt.Sprintf("the other program wrote an output %s too, which no output of the task takes", name), "say which one does, as outputs: {OURS: "+name+"}")
			return
		}
	}
	f.Became = BatchImported
}

func ownerText(task, batch string) string { return "task " + task + ", batch " + batch }

// knownClaims notes which files the batches claim that the ledger knows.
func (im *importer) knownClaims(ctx context.Context, r *run) error {
	known, err := r.ledger.Status(ctx, "")
	if err != nil {
		return err
	}
	if len(known.Unreadable) > 0 {
		return known.Unreadable[0] // what it claims is not known
	}
	for _, v := range known.Batches {
		if v.Finished == nil {
			continue
		}
		for _, out := range v.Finished.Outputs {
			for _, claim := range out.Claims {
				im.owners[filepath.Join(r.ledger.Folder(out), filepath.FromSlash(claim))] = ownerText(v.Batch.Task, variablesText(v.Batch.Variables, v.Batch.Profile))
			}
		}
	}
	return nil
}

// claimOutput claims the files of one output; not ok: it was said why not.
func (im *importer) claimOutput(f *foundBatch, o plan.Target, said runstate.PythonOutput) (ok bool) {
	out := ledger.ImportedOutput{Base: o.Path}
	there, folder := 0, resolved(o.Path)
	for _, claimed := range said.Claimed {
		path, found, err := im.locate(o.Path, claimed)
		if err != nil {
			im.refuse(f, fmt.Sprintf("output %s: the claimed file %s %v", o.Name, claimed, err), "is path of the output the folder that the other program wrote to?")
			return false
		}
		owner := ownerText(f.Task, f.Batch)
		if other := im.owners[filepath.Join(folder, path)]; other != "" && other != owner {
			im.refuse(f, fmt.Sprintf("output %s: the file %s is claimed by %s too", o.Name, claimed, other), "a rerun of one would remove the other's rows: leave both out")
			return false
		}
		im.owners[filepath.Join(folder, path)] = owner
		out.Files = append(out.Files, path)
		if found {
			there++
		} else {
			f.Missing = append(f.Missing, filepath.Join(o.Path, path))
		}
	}
	if there == 0 && len(said.Claimed) > 0 && !im.asked.Gone {
		im.refuse(f, fmt.Sprintf("output %s: of the files that it claims (%d, the first: %s) none is there", o.Name, len(said.Claimed), filepath.Join(o.Path, out.Files[0])),
			"is this the folder that the other program wrote to, and is its disk there? If the files are gone for good, or were compacted into others, take it over with --gone")
		return false
	}
	f.Files += len(out.Files)
	f.request.Outputs[o.Name] = out
	return true
}

// locate finds a claimed file: by its whole path, below the output's folder, or below the other program's root. It is given
// below the output's folder, with slashes.
func (im *importer) locate(base, claimed string) (below string, there bool, err error) {
	text := claimed
	for _, prefix := range []string{"file://", "file:"} {
		text = strings.TrimPrefix(text, prefix)
	}
	if scheme, _, remote := strings.Cut(text, "://"); remote {
		return "", false, fmt.Errorf("lies in %s, which is not in this version", scheme)
	}
	places := []string{filepath.Join(base, text), filepath.Join(im.mapping.Root, text)}
	if filepath.IsAbs(text) {
		places = []string{filepath.Clean(text)}
	}
	err = fmt.Errorf("does not lie below %s", base)
	for _, place := range places {
		name, is := relative(base, place)
		if !is {
			continue
		}
		_, lookErr := os.Lstat(place)
		if lookErr == nil {
			return name, true, nil
		}
		if below == "" {
			below, err = name, nil
		}
	}
	if below == "" && err == nil {
		err = errors.New("is the folder itself")
	}
	return below, false, err
}

// relative gives a path as it is below a folder, whatever links lead to either.
func relative(base, path string) (name string, is bool) {
	for _, b := range []string{base, resolved(base)} {
		for _, p := range []string{path, filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))} {
			if rel, err := filepath.Rel(b, p); err == nil && rel != "." && filepath.IsLocal(rel) {
				return filepath.ToSlash(rel), true
			}
		}
	}
	return "", false
}

// resolved is a path with its links followed; where that cannot be done, the path itself.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
