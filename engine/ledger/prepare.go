package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/ubunye-io/ubunye/engine/store"
)

const (
	stagingFolder = "staging"         // below the ledger's folder
	stagingMarker = "_ubunye-staging" // in every staging folder
	stagedSuffix  = ".staged"         // of every staged file

	newFolder   = "new"            // below the staging of an output that replaces folders: what is to come
	oldFolder   = "old"            // and, where folders cannot be exchanged, what was there
	probePrefix = "_ubunye-probe-" // begins the name of a file or folder by which a file system is tried

	partMarker = "_ubunye-run-" // begins the name of the file by which a folder that was put in place is told
)

// The phases of an output.
const (
	phaseStaging    = "staging"
	phaseCommitting = "committing" // its folders may be exchanged from now on
	phaseDone       = "done"       // they are
)

// OutputSpec is an output that a run is about to stage.
type OutputSpec struct {
	Name    string
	Class   Class
	Mode    string
	Base    string // absolute path of the output folder; need not exist; "": of a Table that has none
	Success bool   // write _SUCCESS after landing
	Parts   bool   // of class Replaces: folders in it are replaced, not the folder itself

	Table  Table  // of classes Once and Named, and of Replaces where rows of a table are replaced; else nil
	Target string // of a Table without a folder: a name that is that of no other, as its database and its own
}

// preparedOutput is where an output is staged, and lands.
type preparedOutput struct {
	Output
	name    string
	base    string // resolved
	staging string
	parts   bool
	stays   bool // the folder itself cannot be renamed: what is in it is moved
}

// data is the folder that writers stage in.
func (p preparedOutput) data() string {
	if p.exchanged() {
		return filepath.Join(p.staging, newFolder)
	}
	return p.staging
}

// stagedNames are the names, below data, of files that were claimed, when they are furnished.
func (p preparedOutput) stagedNames() (names []string) {
	for _, claim := range p.Claims {
		if p.stays && path.Dir(claim) == wholeFolder {
			claim += stagedSuffix
		}
		names = append(names, claim)
	}
	return names
}

// inLedger tells whether the staging lies in the ledger's own folder.
func (p preparedOutput) inLedger() bool { return inLedger(p.Staging) }

// Prepare makes a staging folder for each output, on the disk that the output is on. Where that is is
// saved in the document before it exists, so that nothing is ever staged that nobody knows of. A
// folder that is absent stays absent until landing. Tables are asked what they hold of the batch: see Tables, and *TableError.
//
// It returns an *OutputUnwritableError, a *TargetElsewhereError or an *UnreadableError before anything
// is staged.
func (s *Lease) Prepare(ctx context.Context, outputs []OutputSpec) error {
	if err := s.run.check(); err != nil {
		return err
	}
	if len(s.prepared) > 0 {
		return fmt.Errorf("batch %s: prepared twice", s.request.Batch.Name())
	}
	prepared := map[string]preparedOutput{}
	for _, spec := range outputs {
		if _, twice := prepared[spec.Name]; twice {
			return fmt.Errorf("batch %s: output %s is there twice", s.request.Batch.Name(), spec.Name)
		}
		p, err := s.plan(spec)
		if err != nil {
			return err
		}
		prepared[spec.Name] = p
	}
	s.prepared = prepared
	epoch, err := s.lookAtTables(ctx, outputs)
	if err != nil {
		return err
	}
	err = s.save(ctx, "prepare", func(d *Document) {
		d.Epoch = epoch
		d.Outputs = map[string]Output{}
		for name, p := range prepared {
			d.Outputs[name] = p.Output
		}
	})
	if err != nil {
		return err
	}
	s.epoch = epoch
	for _, spec := range outputs {
		if spec.Base == "" {
			continue
		}
		if err := s.makeStaging(prepared[spec.Name]); err != nil {
			return err
		}
	}
	return nil
}

// plan looks at one output and chooses its staging folder. It leaves nothing behind.
func (s *Lease) plan(spec OutputSpec) (preparedOutput, error) {
	p := preparedOutput{name: spec.Name, parts: spec.Parts}
	if err := spec.check(); err != nil {
		return p, err
	}
	if err := checkName(spec.Name); err != nil {
		return p, err
	}
	if spec.Table != nil {
		p.Key = TableKey(s.request.Batch, spec.Name)
	}
	if spec.Base == "" {
		p.Output = Output{Class: spec.Class, Mode: spec.Mode, Target: spec.Target, Phase: phaseStaging, Key: p.Key, Claims: []string{}}
		return p, nil
	}
	base, absent, err := resolve(spec.Base)
	if err == nil && absent == 0 {
		err = mustBeFolder(base)
	}
	if err != nil {
		return p, &OutputUnwritableError{Output: spec.Name, Path: spec.Base, Err: err}
	}
	target, err := s.ledger.target(base)
	if err != nil {
		return p, err
	}
	if err := elsewhere(spec.Name, base, target, s.run.id); err != nil {
		return p, err
	}
	if target.ID == "" {
		target.ID = store.NewID()
	}
	var staging string
	if spec.Class == Replaces && spec.Table == nil {
		p.Marker = partMarker + store.NewID()[:12]
		p.stays = !spec.Parts && absent == 0 && isMountPoint(base)
		staging, p.Renames, err = s.chooseReplacing(spec, base, absent)
	} else {
		staging, err = s.chooseStaging(spec.Name, base, absent)
	}
	if err != nil {
		return p, &OutputUnwritableError{Output: spec.Name, Path: base, Err: err}
	}
	p.base, p.staging = base, s.ledger.stagingPath(base, staging)
	p.Output = Output{
		Class: spec.Class, Mode: spec.Mode, Base: s.ledger.place(base), Absent: absent, Target: target.ID,
		Staging: staging, Phase: phaseStaging, Claims: []string{}, Success: spec.Success,
		Marker: p.Marker, Renames: p.Renames, Key: p.Key,
	}
	return p, nil
}

func mustBeFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}

// chooseStaging returns the staging folder as the document names it: in the ledger's own folder if
// what is made there can be renamed into the output and is then as if it had been made in it;
// otherwise inside the output, or inside the deepest folder above it that exists.
func (s *Lease) chooseStaging(output, base string, absent int) (string, error) {
	anchor := base
	for range absent {
		anchor = filepath.Dir(anchor)
	}
	probe := s.ledger.probeName(s.run.ID, s.request.Batch, base)
	inLedger := s.ledger.sub(stagingFolder)
	if sameInheritance(inLedger, anchor) && s.ledger.probe(filepath.Join(inLedger, probe), filepath.Join(anchor, probe)) == nil {
		return path.Join(stagingFolder, s.run.ID, s.request.Batch.Key, output), nil
	}
	if err := s.ledger.probe(filepath.Join(anchor, probe+probeFrom+stagedSuffix), filepath.Join(anchor, probe)); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(base, filepath.Join(anchor, insideName()))
	return filepath.ToSlash(rel), err
}

// probe does what landing will do, with an empty file.
func (l *Ledger) probe(from, to string) error {
	file, err := l.fs.Create(from, 0o666)
	if err == nil {
		err = file.Close()
	}
	if err == nil {
		err = l.fs.RenameNoReplace(from, to)
	}
	if err == nil {
		return l.fs.Remove(to)
	}
	return errors.Join(err, remove(l, from), remove(l, to))
}

// marker is what a staging folder says of itself.
type marker struct {
	Ledger string `json:"ledger"`
	Run    string `json:"run"`
	Batch  string `json:"batch"`
	Output string `json:"output"`
}

// makeStaging makes the folder by one Mkdir, never MkdirAll: when the staging of a paused run has
// been dropped, its mkdir below it must fail.
func (s *Lease) makeStaging(p preparedOutput) error {
	fsys := s.ledger.fs
	var err error
	for range 4 { // another task of this run removes the folders above when it finds them empty
		if p.inLedger() {
			err = s.ledger.makeBelow(s.ledger.sub(stagingFolder), filepath.Dir(p.staging))
		}
		if err == nil {
			err = fsys.Mkdir(p.staging, 0o777)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil {
		var data []byte
		data, err = json.Marshal(marker{s.run.id, s.run.ID, s.request.Batch.Name(), p.name})
		if err == nil {
			err = fsys.WriteNew(filepath.Join(p.staging, stagingMarker), append(data, '\n'), 0o666)
		}
	}
	if err == nil && !p.inLedger() { // there the marker alone tells that the folder may be removed
		err = s.ledger.durable(recordFirst, false, folder(p.staging))
	}
	if err == nil && p.exchanged() {
		err = s.makeNew(p)
	}
	if err != nil {
		return &OutputUnwritableError{Output: p.name, Path: p.staging, Staging: true, Err: err}
	}
	return nil
}
