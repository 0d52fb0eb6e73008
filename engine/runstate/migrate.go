package runstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Migrated is what Migrate did, or would do, with one file.
type Migrated struct {
	File string // below the folder, as succeeded/shop.24.1.json
	From string // the format of the file: v5, or "no version"; v8 is left alone
	To   int    // the format that it has now
	Zone string // the zone that its times were taken to be in; empty: they had one

	app string
	dir string
	n   Number
	sum [sha256.Size]byte
}

// Migrate brings every state file of the folder to the newest format, in place, and returns those that were older, and
// the folder in which their originals are; beside an error, those that are replaced. All of them are read and checked first: one that cannot be read or is of a newer program is named, and nothing is changed;
// nor is it while a run is alive. Then the originals are copied to backup-<time>/, then each is replaced. Killed
// anywhere and done again it ends the same: every original is in one of the backups. Files of other tools are left
// alone. index.json, if there is one, is written anew.
func (f *Folder) Migrate(ctx context.Context, dryRun bool) (all []Migrated, backup string, err error) {
	all, err = f.checkAll(ctx)
	if err != nil || dryRun {
		return all, "", err
	}
	if len(all) == 0 { // who replaced the last one may have died before this
		return nil, "", f.reindexIfThere(ctx)
	}
	if err := f.make(tmpDir); err != nil {
		return nil, "", err
	}
	if backup, err = f.backUp(ctx, all); err != nil {
		return nil, backup, err
	}
	for i, m := range all {
		if err := ctx.Err(); err != nil {
			return all[:i], backup, err
		}
		if err := f.replaceOne(m); err != nil {
			return all[:i], backup, err
		}
	}
	return all, backup, f.reindexIfThere(ctx)
}

// checkAll reads every file, brings it to the newest format in memory, and reads what that would write.
func (f *Folder) checkAll(ctx context.Context) (all []Migrated, err error) {
	for _, dir := range []string{currentDir, succeededDir} {
		listed, err := f.list(dir, "")
		if err != nil {
			return nil, err
		}
		for _, app := range sortedKeys(listed) {
			numbers := listed[app]
			slices.SortFunc(numbers, Number.compare)
			for _, n := range numbers {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				m, older, err := f.checkOne(dir, app, n)
				if err != nil {
					return nil, err
				}
				if older {
					all = append(all, m)
				}
			}
		}
	}
	return all, nil
}

func (f *Folder) checkOne(dir, app string, n Number) (m Migrated, older bool, err error) {
	m = Migrated{File: dir + "/" + n.file(app), To: Format, app: app, dir: dir, n: n}
	path := f.sub(dir, n.file(app))
	data, err := os.ReadFile(path)
	if err != nil {
		return m, false, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	}
	d, err := f.upcastOne(path, app, n, data)
	if err != nil {
		return m, false, err
	}
	if dir == currentDir && f.mayLive(d) {
		if alive, err := f.isAlive(path, d); err != nil {
			return m, false, err
		} else if alive {
			return m, false, &AliveError{Name: app, Run: n.Run, Attempt: n.Attempt, ID: d.LedgerRun, Path: path}
		}
	}
	var head struct {
		Engine *string `json:"engine"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return m, false, err
	}
	m.sum = sha256.Sum256(data)
	if o := d.Migrated; o != nil {
		m.From, m.Zone = versionText(o), o.Zone
	}
	return m, head.Engine == nil, nil
}

// upcastOne gives a file in the newest format, and makes sure that what would be written reads the same.
func (f *Folder) upcastOne(path, app string, n Number, data []byte) (*Document, error) {
	d, err := decode(path, data, f.zone())
	if err != nil {
		return nil, err
	}
	if d.App.Name != app || d.Run != n.Run || d.Attempt != n.Attempt {
		return nil, &UnreadableError{Path: path, Reason: "it says that it is " + Number{d.Run, d.Attempt}.file(d.App.Name)}
	}
	first, err := f.encode(d)
	if err != nil {
		return nil, err
	}
	again, err := decode(path, first, f.zone())
	if err != nil {
		return nil, err
	}
	second, err := f.encode(again)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, &UnreadableError{Path: path, Reason: "what it would become is not read as it is written"}
	}
	return d, nil
}

func versionText(o *Origin) string {
	var text string
	switch {
	case len(o.Format) == 0:
		return "no version"
	case json.Unmarshal(o.Format, &text) == nil:
		return "v" + text
	}
	return "v" + string(o.Format)
}

// backUp copies the originals to a folder that no other migration uses.
func (f *Folder) backUp(ctx context.Context, all []Migrated) (dir string, err error) {
	stamp := "backup-" + f.Now().UTC().Format("20060102T150405Z")
	dir = f.sub(stamp)
	for i := 2; ; i++ {
		err := f.FS.Mkdir(dir, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		dir = f.sub(fmt.Sprintf("%s-%d", stamp, i))
	}
	var dirs []string
	copyOne := func(from, to string, want *[sha256.Size]byte) error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if want != nil && sha256.Sum256(data) != *want {
			return &ChangedError{from}
		}
		return f.FS.WriteNew(to, data, 0o666)
	}
	for _, m := range all {
		if err := ctx.Err(); err != nil {
			return dir, err
		}
		if !slices.Contains(dirs, m.dir) {
			if err := f.FS.Mkdir(filepath.Join(dir, m.dir), 0o777); err != nil {
				return dir, err
			}
			dirs = append(dirs, m.dir)
		}
		if err := copyOne(f.sub(m.dir, m.n.file(m.app)), filepath.Join(dir, m.dir, m.n.file(m.app)), &m.sum); err != nil {
			return dir, err
		}
	}
	if err := copyOne(f.sub(indexFile), filepath.Join(dir, indexFile), nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	for _, sub := range append(dirs, "") {
		if err := f.FS.SyncDir(filepath.Join(dir, sub)); err != nil {
			return dir, err
		}
	}
	return dir, f.FS.SyncDir(f.Path)
}

// replaceOne puts a file in the newest format into the place of what was checked and backed up.
func (f *Folder) replaceOne(m Migrated) error {
	path := f.sub(m.dir, m.n.file(m.app))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sha256.Sum256(data) != m.sum {
		return &ChangedError{path}
	}
	d, err := f.upcastOne(path, m.app, m.n, data)
	if err != nil {
		return err
	}
	return f.put(path, d)
}
