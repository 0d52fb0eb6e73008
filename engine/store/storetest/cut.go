package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Cut cuts the power: whatever is not certain is kept or lost as keep says, asked once or twice for each. The
// folder then holds what is left, and that is certain. Nothing may be open in it.
func (d *Disk) Cut(keep func() bool) error {
	var lost []*change
	for _, c := range d.pending {
		if slices.ContainsFunc(lost, c.restsOn) || !keep() {
			lost = append(lost, c)
		} else {
			c.apply()
		}
	}
	if err := d.decay(d.top, keep, map[*node]bool{}); err != nil {
		return err
	}
	d.each(d.top, func(n *node) error {
		n.at = touched(d.path(n))
		return nil
	})
	fsys := fsops.New(nil)
	entries, err := os.ReadDir(d.root)
	for _, e := range entries {
		err = errors.Join(err, fsys.RemoveAll(filepath.Join(d.root, e.Name())))
	}
	d.pending, d.written, d.top.names = nil, map[string]*node{}, nil
	return errors.Join(err, d.restore(fsys, d.root, d.top, map[*node]string{}))
}

// decay decides what is left of contents that were not synced: all, half, or what was synced before.
func (d *Disk) decay(in *node, keep func() bool, seen map[*node]bool) error {
	for _, name := range sorted(in.kept) {
		n := in.kept[name]
		if seen[n] {
			continue
		}
		seen[n] = true
		if n.folder {
			if err := d.decay(n, keep, seen); err != nil {
				return err
			}
			continue
		}
		path := d.path(n)
		if !n.dirty || path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case keep():
			n.data = data
		case keep():
			n.data = data[:len(data)/2]
		}
	}
	return nil
}

// restore makes what is kept of a folder.
func (d *Disk) restore(fsys *fsops.FS, dir string, in *node, made map[*node]string) error {
	in.now = map[string]*node{}
	for _, name := range sorted(in.kept) {
		n, path := in.kept[name], filepath.Join(dir, name)
		in.now[name] = n
		first, again := made[n]
		var err error
		switch {
		case n.folder:
			n.names = nil
			if err = fsys.Mkdir(path, 0o777); err == nil {
				err = d.restore(fsys, path, n, made)
			}
		case again:
			err = fsys.Link(first, path)
		default:
			n.names, n.dirty = nil, false
			err = restoreFile(fsys, path, n)
		}
		if err != nil {
			return err
		}
		n.names = append(n.names, ref{in, name})
		made[n] = path
	}
	return nil
}

func restoreFile(fsys *fsops.FS, path string, n *node) error {
	if err := fsys.WriteNew(path, n.data, 0o666); err != nil || n.at.IsZero() {
		return err
	}
	return os.Chtimes(path, n.at, n.at)
}

func sorted(m map[string]*node) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
