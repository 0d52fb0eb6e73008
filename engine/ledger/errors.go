package ledger

import (
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// UnreadableError is a file of the ledger, or a folder's target file, that is there and cannot be
// understood. It is never taken for absent, free or dead (I7).
type UnreadableError = store.UnreadableError

// UnwritableError is a ledger that could not be made or written when a run began. Nothing was read.
type UnwritableError struct {
	Path string
	Err  error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("the ledger %s cannot be written: %v", e.Path, e.Err)
}
func (e *UnwritableError) Unwrap() error { return e.Err }

// HeldError is a batch that another run holds. Nothing was changed.
type HeldError struct {
	Batch    Batch
	Holder   Holder
	Age      time.Duration // since its last heartbeat; negative: that is dated in the future
	Beat     time.Time     // its last heartbeat, by the clock of the ledger's disk; zero: it could not be read
	Gone     bool          // it has certainly ended: it will not come back
	Dead     bool          // the next start takes the batch over
	Looks    time.Duration // its heartbeat is too old, and must be seen unchanged for so long yet before it counts as dead
	Yields   bool          // it has not staged anything and gives the batch back, because this run, which writes to the same place, comes first
	Document string        // path of the document
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("batch %s is held by run %s (%s, process %d, since %s)", e.Batch.Name(), e.Holder.Run,
		e.Holder.Host, e.Holder.PID, e.Holder.Since.UTC().Format(time.RFC3339))
}

// TargetHeldError is an output that another run writes too, whatever its batch, where one of the two
// replaces what is there. Nothing was changed.
type TargetHeldError struct {
	Path   string // of the output
	Other  Record
	Age    time.Duration // since its last heartbeat
	Looks  time.Duration // as in HeldError
	Asking bool          // it has not staged anything yet; it came first
}

func (e *TargetHeldError) Error() string {
	return fmt.Sprintf("run %s (%s, process %d, since %s) writes to %s too", e.Other.Run, e.Other.Host, e.Other.PID,
		e.Other.Since.UTC().Format(time.RFC3339), e.Path)
}

// TargetTwiceError is one folder that a run would write to by two paths, of which one replaces it.
type TargetTwiceError struct{ Path, Other string }

func (e *TargetTwiceError) Error() string {
	return fmt.Sprintf("%s and %s are one folder, or lie in one another, and one of the two outputs replaces it", e.Path, e.Other)
}

// FinishedError is a named batch that was committed before and would be appended twice.
type FinishedError struct {
	Batch    Batch
	Finished Finished
	Document string
}

func (e *FinishedError) Error() string {
	return fmt.Sprintf("batch %s was finished by run %s at %s", e.Batch.Name(), e.Finished.Run,
		e.Finished.At.UTC().Format(time.RFC3339))
}

// PinnedError is an incremental batch of which what it is to read next is settled: a run that ended before its commit has pinned
// it, or tables may hold it, so that nothing else can be read, or replaced, now.
type PinnedError struct {
	Batch    Batch
	Pending  []Pending // tables that may hold what runs read which did not commit
	Document string
}

func (e *PinnedError) Error() string {
	if len(e.Pending) > 0 {
		return fmt.Sprintf("whether a table holds what batch %s read last is not known yet", e.Batch.Name())
	}
	return fmt.Sprintf("what batch %s is to read next is pinned, and not what its last commit read", e.Batch.Name())
}

// KeptError is a batch that was never committed, of which a run had replaced an output that is only added to now.
type KeptError struct {
	Batch  Batch
	Run    string // the run that had replaced it and did not commit
	Output string // what the output was called then
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("run %s had replaced output %s of batch %s and did not commit", e.Run, e.Output, e.Batch.Name())
}

// ClaimsMissingError is a batch that is to be replaced, some of whose files are not where they were
// landed: compacted, moved, or on a disk that is not there. Replacing it could double its rows.
type ClaimsMissingError struct {
	Batch   Batch
	Output  string
	Base    string
	Missing int
	Of      int
	Example string // the first name that is missing
}

func (e *ClaimsMissingError) Error() string {
	return fmt.Sprintf("%d of the %d files that batch %s landed in %s are missing (first: %s)", e.Missing, e.Of,
		e.Batch.Name(), e.Base, e.Example)
}

// Left is an entry of a to-do list that could not be carried out; or, without an entry, a record or a
// document that could not be used.
type Left struct {
	Batch Batch
	Entry Entry
	Path  string // the file or folder that stood in the way
	Err   error
}

func (l Left) String() string {
	if l.Entry.Do == "" { // no list could be read; such an error names its file
		return l.Err.Error()
	}
	return fmt.Sprintf("%s of output %s (run %s): %s: %v", l.Entry.Do, l.Entry.Output, l.Entry.Run, l.Path, l.Err)
}

// LeftError is a batch with earlier work that cannot be finished now, so that it cannot be written
// either. Nothing of the batch was changed but what could be finished.
type LeftError struct {
	Batch Batch
	Left  []Left
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("batch %s has unfinished work of an earlier run: %s", e.Batch.Name(), e.Left[0])
}

// NotAllLandedError is a batch that is committed and not wholly visible yet. The next start of the
// pipeline goes on with it.
type NotAllLandedError struct {
	Batch Batch
	Left  []Left // may be empty: everything landed, and the list could not be saved as done
	Err   error  // why the list could not be saved; may be nil
}

func (e *NotAllLandedError) Error() string {
	if len(e.Left) == 0 {
		return fmt.Sprintf("batch %s is committed and landed, but that could not be written down: %v", e.Batch.Name(), e.Err)
	}
	return fmt.Sprintf("batch %s is committed, but not all of it landed: %s", e.Batch.Name(), e.Left[0])
}
func (e *NotAllLandedError) Unwrap() error { return e.Err }

// StagingLeftError is a failed run's staging that could not all be removed. Nobody sees it, and the
// document names it: the next start removes it.
type StagingLeftError struct {
	Batch Batch
	Left  []Left
	Err   error // why the document could not be saved; may be nil
}

func (e *StagingLeftError) Error() string {
	if len(e.Left) == 0 {
		return fmt.Sprintf("batch %s: the staged files were removed, but that could not be written down: %v", e.Batch.Name(), e.Err)
	}
	return fmt.Sprintf("batch %s: staged files are left: %s", e.Batch.Name(), e.Left[0])
}
func (e *StagingLeftError) Unwrap() error { return e.Err }

// LostError is a lease that another run took over: the run writes nothing more (I2). By is the run
// that the document names now, if any.
type LostError struct {
	Batch    Batch
	By       string
	Document string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("batch %s was taken over by run %s", e.Batch.Name(), orUnknown(e.By))
}

func orUnknown(run string) string {
	if run == "" {
		return "(unknown)"
	}
	return run
}

// UnknownError is a save, or a commit to a table, whose outcome could not be found out. Nothing was removed and nothing
// landed (I8); what became of a save is in the document, and what of the commit the next run of the batch asks the table.
type UnknownError struct {
	Batch    Batch
	Step     string
	Output   string // of a commit to a table: the output; else ""
	Document string
	Err      error
}

func (e *UnknownError) Error() string {
	if e.Output != "" {
		return fmt.Sprintf("batch %s: whether the table of output %s took the commit is unknown: %v", e.Batch.Name(), e.Output, e.Err)
	}
	return fmt.Sprintf("batch %s: whether the ledger took the save %q is unknown: %v", e.Batch.Name(), e.Step, e.Err)
}
func (e *UnknownError) Unwrap() error { return e.Err }

// SaveError is a save that certainly did not happen. The batch is as it was before.
type SaveError struct {
	Batch Batch
	Step  string
	Err   error
}

func (e *SaveError) Error() string {
	return fmt.Sprintf("batch %s: the ledger did not take the save %q: %v", e.Batch.Name(), e.Step, e.Err)
}
func (e *SaveError) Unwrap() error { return e.Err }

// OutputUnwritableError is an output for which files could not be staged, or in which they could not be landed. Nothing
// was staged.
type OutputUnwritableError struct {
	Output  string
	Path    string
	Staging bool // Path is the folder that they were to be staged in, not that of the output
	Err     error
}

func (e *OutputUnwritableError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.Cannot(), e.Path, e.Err)
}

// Cannot says what cannot be done in the folder, which is to follow.
func (e *OutputUnwritableError) Cannot() string {
	if e.Staging {
		return "files cannot be staged in"
	}
	return "files cannot be landed in"
}

func (e *OutputUnwritableError) Unwrap() error { return e.Err }

// ReplaceError is an output folder that could not be replaced, or not all of it: Lease.Replaced tells.
type ReplaceError struct {
	Output string
	Path   string // the output folder
	Moved  bool   // what is in it was being moved; Fail puts it back
	Err    error
}

func (e *ReplaceError) Error() string {
	return fmt.Sprintf("the folder %s could not be replaced: %v", e.Path, e.Err)
}
func (e *ReplaceError) Unwrap() error { return e.Err }

// TableError is a target with a commit of its own that could not be asked, or was certainly not committed to.
type TableError struct {
	Output string
	Path   string // the table's folder, or its name
	Err    error
}

func (e *TableError) Error() string {
	return fmt.Sprintf("the table %s could not be written: %v", e.Path, e.Err)
}
func (e *TableError) Unwrap() error { return e.Err }

// TargetElsewhereError is an output folder that belongs to another ledger.
type TargetElsewhereError struct {
	Output string
	Path   string // of the target file
	Ledger string // the other ledger's id
	Mine   string // "" if this one has not been made yet
}

func (e *TargetElsewhereError) Error() string {
	if e.Mine == "" {
		return fmt.Sprintf("%s says that the folder belongs to ledger %s, not to this one, which is new", e.Path, e.Ledger)
	}
	return fmt.Sprintf("%s says that the folder belongs to ledger %s, not to this one (%s)", e.Path, e.Ledger, e.Mine)
}

// StagedError is a staging folder that does not hold what it must. Nothing became visible.
type StagedError struct {
	Output string
	Path   string
	Reason string
}

func (e *StagedError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// HeartbeatError is a run that could not touch its heartbeat for so long that others may soon judge
// it dead. It is the cause of the end of Run.Context.
type HeartbeatError struct {
	Path string
	For  time.Duration // since the last beat that succeeded, suspend included
	Err  error         // of the latest try; nil if that has not come back
}

func (e *HeartbeatError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("the heartbeat %s was not touched for %s: the process was suspended, or the disk does not answer", e.Path, e.For.Round(time.Second))
	}
	return fmt.Sprintf("the heartbeat %s could not be touched for %s: %v", e.Path, e.For.Round(time.Second), e.Err)
}
func (e *HeartbeatError) Unwrap() error { return e.Err }
