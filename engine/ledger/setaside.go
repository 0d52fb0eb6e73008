package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Damage is a document that could not be read and was replaced by the one before it.
type Damage struct {
	Batch     Batch
	Kept      string    // path of the damaged file
	Document  string    // path of the document that counts now
	Before    string    // path of the version that it was made of
	Finished  *Finished // the last commit that it knows; nil: none
	Unclaimed []string  // data files, younger than the document that counts now, that no document claims: what was lost may have landed them
}

// ErrReadable says that a document is not damaged, so that nothing is to be set aside.
var ErrReadable = store.ErrReadable

// SetAside replaces the document of a batch, by its key, that is there and cannot be read: the one before it
// counts again, with a higher epoch, so that whoever had saved the damaged one writes nothing more. It is for a
// person to decide, since what the damaged one said is lost. It is refused with a *HeldError or *TargetHeldError
// while a run lives that may hold the batch. It is ErrReadable if the document is not
// damaged; other errors are those of store.Store.SetAside.
func (l *Ledger) SetAside(ctx context.Context, key string) (Damage, error) {
	names, err := l.docs.List(ctx, "")
	if err != nil {
		return Damage{}, err
	}
	at := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "/"+key) })
	if at < 0 {
		return Damage{}, &fs.PathError{Op: "set aside", Path: l.sub("batches", "*", "*", key), Err: fs.ErrNotExist}
	}
	if err := l.mayLive(names[at]); err != nil {
		return Damage{}, err
	}
	usable := func(data []byte, v store.Version) error {
		d, err := decodeDocument(data, v)
		if err == nil && d.Batch.Name() != names[at] {
			err = errOtherBatch
		}
		return err
	}
	var d *Document
	kept, before, err := l.docs.SetAside(ctx, names[at], usable, func(data []byte, before store.Version) ([]byte, error) {
		if d, err = decodeDocument(data, before); err != nil {
			return nil, err
		}
		if held := l.judgeHolder(d, before, l.cfg.Now()); held != nil && !held.Dead {
			return nil, held
		}
		d.Epoch++
		return d.encode()
	})
	if err != nil {
		return Damage{}, err
	}
	damage := Damage{Batch: d.Batch, Kept: kept, Before: before.Path, Finished: d.Finished}
	if _, now, err := l.loadName(ctx, names[at]); err == nil {
		damage.Document = now.Path
	}
	damage.Unclaimed, err = l.unclaimed(ctx, d, before)
	return damage, err
}

// errOtherBatch is a document in the place of another batch's.
var errOtherBatch = errors.New("it is the document of another batch")

// mayLive refuses while a run that has the batch in its record is not dead.
func (l *Ledger) mayLive(name string) error {
	records, bad, err := l.records()
	if err != nil {
		return err
	}
	for _, u := range bad {
		return u // it may be the holder's (I7)
	}
	for _, o := range records {
		if o.Status.ended() || !slices.ContainsFunc(o.Batches, func(b Batch) bool { return b.Name() == name }) {
			continue
		}
		if j := l.judge(o.Run, o.Identity, l.recordPath(o.Run), l.cfg.Now()); !j.dead {
			return &TargetHeldError{Path: l.sub("batches", filepath.FromSlash(name)), Other: o, Age: j.age, Looks: j.looks, Asking: o.Status == Asking}
		}
	}
	return nil
}

// unclaimed lists the data files in the batch's output folders that are younger than a version of its document
// and that no document claims.
func (l *Ledger) unclaimed(ctx context.Context, d *Document, since store.Version) ([]string, error) {
	bases := map[string]bool{}
	for _, out := range d.Outputs {
		if out.keyed() {
			continue // its log tells
		}
		base, _ := l.find(out.Base)
		bases[base] = true
	}
	if d.Finished != nil {
		for _, out := range d.Finished.Outputs {
			if out.Key != "" {
				continue
			}
			base, _ := l.find(out.Base)
			bases[base] = true
		}
	}
	claimed, err := l.claimed(ctx)
	if err != nil {
		return nil, err
	}
	from := l.savedAt(d, since)
	var files []string
	for _, base := range sortedKeys(bases) {
		err := walkData(base, func(name string) error {
			path := filepath.Join(base, filepath.FromSlash(name))
			if claimed[path] {
				return nil
			}
			info, err := os.Stat(path)
			if err == nil && !info.ModTime().Before(from) {
				files = append(files, path)
			}
			return nil // one that went meanwhile is none
		})
		if err != nil {
			return files, err
		}
	}
	return files, nil
}

// savedAt is when the run began whose work may be lost: when the holder began, or the version was saved.
func (l *Ledger) savedAt(d *Document, v store.Version) time.Time {
	if d.Holder != nil {
		return d.Holder.Since.Add(-time.Second) // the disk's clock is another one
	}
	if then, err := store.ModTime(v.Path); err == nil {
		return then
	}
	return time.Time{}
}

// claimed are the paths that the documents which can be read claim.
func (l *Ledger) claimed(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	names, err := l.docs.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		d, _, err := l.loadName(ctx, name)
		if err != nil || d.Finished == nil {
			continue
		}
		for _, out := range d.Finished.Outputs {
			base, _ := l.find(out.Base)
			for _, claim := range out.Claims {
				all[filepath.Join(base, filepath.FromSlash(claim))] = true
			}
		}
	}
	return all, nil
}
