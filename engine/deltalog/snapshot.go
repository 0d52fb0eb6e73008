package deltalog

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// At says which version of a table is meant; the zero At is the newest.
type At struct {
	Version *int64
	Time    time.Time // the newest version that was committed then or before; not together with Version
}

// Snapshot is one version of a table. Opening one reads the commits since the newest checkpoint and, of the checkpoint, no
// more than the protocol and the metadata; Files reads the rest.
type Snapshot struct {
	Version  int64
	Protocol *Protocol
	Metadata *Metadata

	storage    Storage
	commits    []*commitFile // after the checkpoint, newest first
	checkpoint []logFile     // the files of one; none: the log begins with version 0
	sidecars   []string      // of the checkpoint, once known
	known      bool          // sidecars is known
}

// commitFile is a commit as far as opening reads it: its file actions stay as they are written.
type commitFile struct {
	version int64
	info    *CommitInfo
	files   []fileLine
	txns    []*Txn
	domains []*Domain
}

type fileLine struct {
	line int
	raw  []byte
}

// times is how often opening lists the log anew: another writer may clean up between a list and the reading.
const times = 3

// Open finds a version of a table. It checks neither that the table can be read nor that it can be written: CheckRead and
// CheckWrite do.
func Open(ctx context.Context, storage Storage, at At) (*Snapshot, error) {
	var err error
	for range times {
		var s *Snapshot
		if s, err = open(ctx, storage, at); err == nil {
			return s, nil
		}
		var hole *HoleError
		if !errors.As(err, &hole) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

func open(ctx context.Context, storage Storage, at At) (*Snapshot, error) {
	log, err := list(ctx, storage, at)
	if err != nil {
		return nil, err
	}
	version := log.newest
	switch {
	case at.Version != nil:
		version = *at.Version
	case !at.Time.IsZero():
		if version, err = log.versionAt(ctx, at.Time.UnixMilli()); err != nil {
			return nil, err
		}
	}
	s := &Snapshot{Version: version, storage: storage}
	from, ok := log.base(version)
	if !ok {
		return nil, &HoleError{Version: 0, Until: version}
	}
	s.checkpoint = from.files
	// A commit that the list lacks may be there all the same, for a list is not of one moment: reading it tells.
	for v := version; v > from.version; v-- {
		c, err := s.load(ctx, v)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &HoleError{Version: v, Until: version}
		}
		if err != nil {
			return nil, err
		}
		s.commits = append(s.commits, c)
	}
	return s, s.complete(ctx)
}

// load reads a commit; the newest protocol and metadata stay.
func (s *Snapshot) load(ctx context.Context, version int64) (*commitFile, error) {
	path := CommitPath(version)
	data, err := s.storage.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &commitFile{version: version}
	var protocol *Protocol
	var metadata *Metadata
	err = eachLine(path, data, func(line []byte, number int) error {
		return parseLine(line, func(kind string, r *exactjson.Reader) {
			switch kind {
			case "protocol":
				protocol = readProtocol(r)
			case "metaData":
				metadata = readMetadata(r)
			case "add", "remove":
				r.Raw()
				c.files = append(c.files, fileLine{number, line})
			case "txn":
				c.txns = append(c.txns, readTxn(r))
			case "domainMetadata":
				c.domains = append(c.domains, readDomain(r))
			case "commitInfo":
				c.info = readCommitInfo(r)
			default:
				r.Raw()
			}
		})
	})
	if s.Protocol == nil {
		s.Protocol = protocol
	}
	if s.Metadata == nil {
		s.Metadata = metadata
	}
	return c, err
}

// eachLine calls line for each line that is not empty, with its number from 1; its error becomes a *DamagedError.
func eachLine(path string, data []byte, line func(line []byte, number int) error) error {
	number := 0
	for len(data) > 0 {
		var one []byte
		one, data, _ = bytes.Cut(data, []byte("\n"))
		number++
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		if err := line(one, number); err != nil {
			return &DamagedError{File: path, Line: number, Reason: err.Error()}
		}
	}
	if number == 0 {
		return &DamagedError{File: path, Reason: "the file is empty"}
	}
	return nil
}

// complete reads what no commit said from the checkpoint.
func (s *Snapshot) complete(ctx context.Context) error {
	if s.Protocol == nil || s.Metadata == nil {
		var protocol *Protocol
		var metadata *Metadata
		err := s.rows(ctx, []string{"protocol", "metaData"}, nil, func(a Action, _ string) error {
			if a.Protocol != nil {
				protocol = a.Protocol
			}
			if a.Metadata != nil {
				metadata = a.Metadata
			}
			return nil
		})
		if err != nil {
			return err
		}
		if s.Protocol == nil {
			s.Protocol = protocol
		}
		if s.Metadata == nil {
			s.Metadata = metadata
		}
	}
	missing := "protocol"
	if s.Protocol != nil {
		missing = "metaData"
	}
	if s.Protocol == nil || s.Metadata == nil {
		return &DamagedError{File: s.start(), Reason: "version " + strconv.FormatInt(s.Version, 10) + " of the table has no " + missing + " action"}
	}
	return nil
}

// start is the file with which the snapshot begins.
func (s *Snapshot) start() string {
	if len(s.checkpoint) > 0 {
		return Folder + "/" + s.checkpoint[0].name
	}
	return CommitPath(0)
}

// Txn gives how far an application had come; nil if the table does not know it.
func (s *Snapshot) Txn(ctx context.Context, appID string) (*Txn, error) {
	for _, c := range s.commits {
		for _, t := range c.txns {
			if t.AppID == appID {
				return t, nil
			}
		}
	}
	var found *Txn
	err := s.rows(ctx, []string{"txn"}, &Where{Column: "txn", Field: "appId", Equals: appID}, func(a Action, _ string) error {
		if a.Txn != nil && a.Txn.AppID == appID {
			found = a.Txn
		}
		return nil
	})
	return found, err
}

// CommitInfo gives what the snapshot's own commit says of itself; nil if it says nothing, or if there is only a checkpoint.
func (s *Snapshot) CommitInfo(ctx context.Context) (*CommitInfo, error) {
	if len(s.commits) > 0 {
		return s.commits[0].info, nil
	}
	c, err := ReadCommit(ctx, s.storage, s.Version)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.Info(), nil
}

// Commit is a commit of another writer, or one's own read back.
type Commit struct {
	Version int64
	Actions []Action
}

// ReadCommit reads a commit whole. One that is not there wraps fs.ErrNotExist.
func ReadCommit(ctx context.Context, storage Storage, version int64) (*Commit, error) {
	path := CommitPath(version)
	data, err := storage.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &Commit{Version: version}
	return c, eachLine(path, data, func(line []byte, _ int) error {
		a, err := ParseAction(line)
		c.Actions = append(c.Actions, a)
		return err
	})
}

// Info gives what the commit says of itself; nil if nothing.
func (c *Commit) Info() *CommitInfo {
	for _, a := range c.Actions {
		if a.CommitInfo != nil {
			return a.CommitInfo
		}
	}
	return nil
}
