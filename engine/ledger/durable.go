package ledger

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
)

// Every sync of files and folders by this package is made by Ledger.durable, which is told the reason. What else is
// synced is made so as it is written: documents (package store), and the small files by which the ledger tells its runs,
// folders and disks (fsops.WriteNew, fsops.Replace).
//
//	reason               what a power cut would do without                                durability: fast
//	stagedFirst          a committed batch lacks files, or has damaged ones               skips it
//	exchangedFirst       a document says done, and readers find the old folder again      skips it
//	movedFirst           the marker tells of entries that are not all there               the same as safe
//	namedFirst           a table's log names files that are damaged or not there          the same as safe
//	landedFirst          a list is emptied whose files have not got their names           skips it
//	removedFirst         a list is emptied, and readers see replaced rows beside the new  the same as safe
//	keptFirst            the only copy of older data is gone                              the same as safe
//	recordFirst          no later start finds what a run has left                         the same as safe
//	ledgerFirst          the folder of all of it is gone                                  the same as safe
//
// So fast risks the files that were written last, and nothing that was there before; the documents are never at risk.
// What is skipped follows from the batch, whose list another run may carry out: Entry.Fast.

// reason is why something is made durable before a run goes on.
type reason struct {
	newest bool // only files that the batch has just written are at risk
	gone   bool // a folder that is not there any more is fine: another process went on
}

var (
	stagedFirst    = reason{newest: true}
	exchangedFirst = reason{newest: true, gone: true}
	movedFirst     = reason{}
	namedFirst     = reason{}
	landedFirst    = reason{newest: true, gone: true}
	removedFirst   = reason{gone: true}
	keptFirst      = reason{gone: true}
	recordFirst    = reason{}
	ledgerFirst    = reason{}
)

// names are files, whose contents are made durable, and folders, of which the names in them are.
type names struct {
	disk  string // a path on the disk that all are on
	files map[string]bool
	dirs  map[string]bool
}

func (n names) count() int { return len(n.files) + len(n.dirs) }

// many is from where on one syncfs of a disk is cheaper than a sync each.
const many = 16

// durable makes files and names survive a power cut, for the reason; with fast, if it is one that fast skips, it does
// nothing. Many on one disk are made so by one syncfs, which since Linux 5.8 also tells of a write that failed.
func (l *Ledger) durable(why reason, fast bool, all ...names) error {
	if fast && why.newest {
		return nil
	}
	for _, n := range byDisk(all) {
		if n.count() > many {
			err := l.fs.SyncFS(n.disk)
			if err == nil {
				continue
			}
			if !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
		}
		for _, file := range sortedKeys(n.files) {
			if err := l.fs.SyncFile(file); err != nil {
				return err
			}
		}
		for _, dir := range sortedKeys(n.dirs) {
			if err := l.fs.SyncDir(dir); err != nil && !(why.gone && errors.Is(err, fs.ErrNotExist)) {
				return err
			}
		}
	}
	return nil
}

// byDisk puts together what is on one disk.
func byDisk(all []names) (disks []names) {
next:
	for _, n := range all {
		for i, d := range disks {
			if sameDisk(d.disk, n.disk) {
				maps.Copy(disks[i].files, n.files)
				maps.Copy(disks[i].dirs, n.dirs)
				continue next
			}
		}
		own := names{disk: n.disk, files: map[string]bool{}, dirs: map[string]bool{}}
		maps.Copy(own.files, n.files)
		maps.Copy(own.dirs, n.dirs)
		disks = append(disks, own)
	}
	return disks
}

// folder is one folder, of which the names in it are made durable.
func folder(dir string) names { return names{disk: dir, dirs: map[string]bool{dir: true}} }

// staged are an output's staged files and the names that lead to them; suffix is what they still have after their final
// names.
func (s *Lease) staged(p preparedOutput, claims []string, suffix string) names {
	n := names{disk: p.staging, files: map[string]bool{}, dirs: map[string]bool{}}
	for _, name := range claims {
		file := filepath.Join(p.data(), filepath.FromSlash(name)+suffix)
		n.files[file] = true
		for dir := filepath.Dir(file); dir != p.staging && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			n.dirs[dir] = true
		}
	}
	for _, part := range p.Parts {
		n.dirs[filepath.Join(p.data(), filepath.FromSlash(part))] = true // for its marker
	}
	if p.exchanged() {
		n.dirs[p.data()] = true
	}
	// the staging folder itself, and those above it that this run may have made
	top := filepath.Dir(p.staging)
	if p.inLedger() {
		top = s.ledger.sub(stagingFolder)
	}
	for dir := p.staging; ; dir = filepath.Dir(dir) {
		if n.dirs[dir] = true; dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	return n
}
