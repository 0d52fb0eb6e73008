package deltalog

import (
	"errors"
	"strconv"
	"strings"
)

// ErrNotTable says that there is no log: no commit and no checkpoint.
var ErrNotTable = errors.New("there is no Delta table: its _delta_log has no commit")

// HoleError says that a version's commit is missing although later ones, or what the caller asked for, need it.
type HoleError struct {
	Version int64 // the commit that is missing
	Until   int64 // the version that needs it
}

func (e *HoleError) Error() string {
	return "the commit of version " + strconv.FormatInt(e.Version, 10) + " is missing from the log, and version " + strconv.FormatInt(e.Until, 10) + " needs it"
}

// DamagedError says that a file of the log is there and cannot be read, or holds what the protocol forbids.
type DamagedError struct {
	File   string // below the table's folder
	Line   int    // of JSON lines, from 1; 0: the file as a whole
	Reason string
}

func (e *DamagedError) Error() string {
	at := e.File
	if e.Line > 0 {
		at += ", line " + strconv.Itoa(e.Line)
	}
	return at + ": " + e.Reason
}

// VersionError says that a version, or what was the newest at a time, cannot be had.
type VersionError struct {
	Asked          string // what the caller asked for, for people
	Oldest, Newest int64  // what there is
}

func (e *VersionError) Error() string {
	return "the table has no " + e.Asked + ": its log reaches from version " + strconv.FormatInt(e.Oldest, 10) + " to " + strconv.FormatInt(e.Newest, 10)
}

// UnsupportedError says that a table asks for what this package does not do.
type UnsupportedError struct {
	Writing  bool     // it can be read perhaps, and not written
	Features []string // by their names in the protocol
	Reason   string   // instead of features; one line
}

func (e *UnsupportedError) Error() string {
	what := "read"
	if e.Writing {
		what = "written"
	}
	if len(e.Features) == 0 {
		return "the table cannot be " + what + ": " + e.Reason
	}
	noun := "feature "
	if len(e.Features) > 1 {
		noun = "features "
	}
	text := "the table cannot be " + what + ": it needs the Delta " + noun + strings.Join(e.Features, ", ")
	if e.Reason != "" {
		text += ", " + e.Reason
	}
	return text
}
