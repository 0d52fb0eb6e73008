package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Disk is a disk that forgets what was not synced. It follows every change that is made through it as an
// fsops.Hook; Cut then puts its folder into a state that a power cut at this moment could leave.
//
// What is kept for certain: the contents of a file as of its last sync, and a name as of the last sync of its
// folder. Each later change of a name is one step, kept or lost as a whole, whatever became of others; only
// if an earlier one of the same name, of the same file or folder, or that put the folder where it is was lost, it
// is lost too. A rename is certain once the folder that it leads into was synced, an exchange once both were. A
// folder that was synced while its own name was not may be lost with all that is in it. That is less than file
// systems with a journal promise.
//
// Changes must come one at a time.
type Disk struct {
	root    string
	top     *node
	pending []*change        // that are not certain, in the order in which they were made
	written map[string]*node // files by the names with which they were created: what is open keeps its name
}

var _ fsops.Hook = (*Disk)(nil)

// node is a file or a folder.
type node struct {
	folder bool
	names  []ref            // its names now
	now    map[string]*node // of a folder: what is in it
	kept   map[string]*node // of a folder: what is in it for certain
	data   []byte           // of a file: its contents for certain
	at     time.Time        // of a file that has lost a name: when it was last touched
	dirty  bool             // of a file: they may be other ones now
}

// ref is a name in a folder.
type ref struct {
	in   *node
	name string
}

// change is one change of names.
type change struct {
	sets   []set
	needs  map[*node]bool // folders whose sync makes it certain
	within map[*node]bool // the folders that the names are in, and those above
}

type set struct {
	ref
	to *node // nil: the name goes
}

// NewDisk returns a disk on which everything is certain that is in the folder root now.
func NewDisk(root string) (*Disk, error) {
	top, err := scan(root)
	return &Disk{root: root, top: top, written: map[string]*node{}}, err
}

func newFolder() *node {
	return &node{folder: true, now: map[string]*node{}, kept: map[string]*node{}}
}

func scan(dir string) (*node, error) {
	n := newFolder()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		child := &node{}
		if e.IsDir() {
			child, err = scan(path)
		} else {
			child.data, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, err
		}
		child.names = []ref{{n, e.Name()}}
		n.now[e.Name()], n.kept[e.Name()] = child, child
	}
	return n, nil
}

// Before upholds fsops.Hook: it notes when what loses its name was last touched.
func (d *Disk) Before(op fsops.Op) error {
	path := op.Path
	switch op.Kind {
	case "rename":
		path = op.To // what it replaces
	case "remove":
	default:
		return nil
	}
	if n := d.find(path); n != nil {
		n.at = touched(path)
	}
	return nil
}

func touched(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// After upholds fsops.Hook: it follows a change that was made.
func (d *Disk) After(op fsops.Op, err error) error {
	if err != nil {
		return nil // nothing was changed
	}
	switch op.Kind {
	case "mkdir":
		d.put(op.Path, newFolder())
	case "create":
		d.written[op.Path] = &node{}
		d.put(op.Path, d.written[op.Path])
	case "write":
		d.wrote(op.Path)
	case "sync":
		return d.synced(d.file(op.Path))
	case "syncdir":
		d.syncedFolder(d.find(op.Path))
	case "syncfs":
		return d.syncedAll()
	case "link":
		d.put(op.To, d.find(op.Path))
	case "rename", "exchange":
		d.move(op)
	case "remove":
		at := d.ref(op.Path)
		d.change(at.in, set{at, nil})
	case "times", "attributes":
	default:
		return fmt.Errorf("the disk does not know the change %q", op.Kind)
	}
	return nil
}

// ref splits a path into its folder and its name there.
func (d *Disk) ref(path string) ref {
	in := d.find(filepath.Dir(path))
	if in == nil {
		panic("the disk does not know the folder of " + path)
	}
	return ref{in, filepath.Base(path)}
}

// find looks a path up as it is now; nil if it is not there.
func (d *Disk) find(path string) *node {
	rel, err := filepath.Rel(d.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	n := d.top
	if rel == "." {
		return n
	}
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if n = n.now[name]; n == nil {
			return nil
		}
	}
	return n
}

// file finds a file by the name with which it was opened: it may have another one since.
func (d *Disk) file(path string) *node {
	if n := d.find(path); n != nil {
		return n
	}
	return d.written[path]
}

// path is where a file or folder is now; "" if it has no name any more.
func (d *Disk) path(n *node) string {
	if n == d.top {
		return d.root
	}
	if len(n.names) == 0 {
		return ""
	}
	above := d.path(n.names[0].in)
	if above == "" {
		return ""
	}
	return filepath.Join(above, n.names[0].name)
}

// above is the folder that a folder is in; nil if it has no name any more.
func (n *node) above() *node {
	if len(n.names) == 0 {
		return nil
	}
	return n.names[0].in
}

// put gives a file or folder a name.
func (d *Disk) put(path string, n *node) {
	at := d.ref(path)
	d.change(at.in, set{at, n})
}

func (d *Disk) wrote(path string) {
	n := d.file(path)
	if n == nil { // a heartbeat makes its file
		n = &node{}
		d.put(path, n)
	}
	n.dirty = true
}

// move follows a rename or an exchange.
func (d *Disk) move(op fsops.Op) {
	from, to := d.ref(op.Path), d.ref(op.To)
	c := &change{needs: map[*node]bool{to.in: true}, sets: []set{{from, nil}, {to, from.in.now[from.name]}}}
	if op.Kind == "exchange" {
		c.needs[from.in] = true
		c.sets[0].to = to.in.now[to.name]
	}
	d.make(c)
}

func (d *Disk) change(needs *node, s set) {
	d.make(&change{needs: map[*node]bool{needs: true}, sets: []set{s}})
}

// make makes a change that is not certain.
func (d *Disk) make(c *change) {
	c.within = map[*node]bool{}
	for _, s := range c.sets {
		for in := s.in; in != nil && !c.within[in]; in = in.above() {
			c.within[in] = true
		}
	}
	for _, s := range c.sets {
		if old := s.in.now[s.name]; old != nil {
			old.names = slices.DeleteFunc(old.names, func(r ref) bool { return r == s.ref })
		}
	}
	for _, s := range c.sets {
		if s.to == nil {
			delete(s.in.now, s.name)
			continue
		}
		s.in.now[s.name] = s.to
		s.to.names = append(s.to.names, s.ref)
	}
	d.pending = append(d.pending, c)
}

// synced makes a file's contents certain.
func (d *Disk) synced(n *node) error {
	path := d.path(n)
	if n.folder {
		d.syncedFolder(n)
		return nil
	}
	if path == "" || !n.dirty {
		return nil
	}
	data, err := os.ReadFile(path)
	n.data, n.dirty = data, err != nil
	return err
}

// syncedFolder makes the names in a folder certain.
func (d *Disk) syncedFolder(n *node) {
	for _, c := range slices.Clone(d.pending) {
		if delete(c.needs, n); len(c.needs) == 0 {
			d.settle(c)
		}
	}
}

func (d *Disk) syncedAll() error {
	for _, c := range d.pending {
		c.apply()
	}
	d.pending = nil
	return d.each(d.top, func(n *node) error {
		if n.folder {
			return nil
		}
		return d.synced(n)
	})
}

// each visits what is below a folder now.
func (d *Disk) each(in *node, visit func(*node) error) error {
	for _, n := range in.now {
		if err := visit(n); err != nil {
			return err
		}
		if n.folder {
			if err := d.each(n, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle makes a change certain, and before it those of the same.
func (d *Disk) settle(c *change) {
	at := slices.Index(d.pending, c)
	if at < 0 {
		return
	}
	for _, earlier := range slices.Clone(d.pending[:at]) {
		if c.same(earlier) {
			d.settle(earlier)
		}
	}
	c.apply()
	d.pending = slices.DeleteFunc(d.pending, func(p *change) bool { return p == c })
}

func (c *change) apply() {
	for _, s := range c.sets {
		if s.to == nil {
			delete(s.in.kept, s.name)
		} else {
			s.in.kept[s.name] = s.to
		}
	}
}

// same tells whether two changes are of the same name, or of the same file or folder.
func (c *change) same(other *change) bool {
	for _, a := range c.sets {
		for _, b := range other.sets {
			if a.ref == b.ref || a.to != nil && a.to == b.to {
				return true
			}
		}
	}
	return false
}

// restsOn tells whether an earlier change is of the same, or put one of the folders where it is.
func (c *change) restsOn(earlier *change) bool {
	return c.same(earlier) || slices.ContainsFunc(earlier.sets, func(s set) bool { return s.to != nil && c.within[s.to] })
}

// Files lists the files below a folder as they are now, by their paths relative to it, with slashes, sorted.
func (d *Disk) Files(dir string) []string {
	n := d.find(dir)
	if n == nil || !n.folder {
		return nil
	}
	var files []string
	var walk func(*node, string)
	walk = func(n *node, prefix string) {
		for name, child := range n.now {
			if child.folder {
				walk(child, prefix+name+"/")
			} else {
				files = append(files, prefix+name)
			}
		}
	}
	walk(n, "")
	slices.Sort(files)
	return files
}

// There tells whether a path is there now.
func (d *Disk) There(path string) bool { return d.find(path) != nil }
