package deltalog

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// LastCheckpointPath is the file that says where a checkpoint is. It may be old, damaged or missing.
const LastCheckpointPath = Folder + "/_last_checkpoint"

// listing is what a list of the log shows.
type listing struct {
	storage     Storage
	commits     map[int64]int64 // version to the time of its file, in milliseconds since 1970
	checkpoints map[int64][]logFile
	newest      int64
	whole       bool   // nothing before was left out
	remains     string // a file of the log, whatever it is
}

// base is where a snapshot begins: with a checkpoint, or before version 0.
type base struct {
	version int64
	files   []logFile
}

// list lists the log: from the checkpoint that the hint names on where that is enough, else all.
func list(ctx context.Context, storage Storage, at At) (*listing, error) {
	if hint, ok := readHint(ctx, storage); ok && at.Time.IsZero() && (at.Version == nil || *at.Version >= hint) {
		l, err := listAfter(ctx, storage, versionName(hint))
		if err != nil {
			return nil, err
		}
		target := l.newest
		if at.Version != nil {
			target = *at.Version
		}
		if from, ok := l.base(target); ok && from.version >= 0 {
			return l.within(ctx, at)
		}
	}
	l, err := listAfter(ctx, storage, "")
	if err != nil {
		return nil, err
	}
	l.whole = true
	if l.newest < 0 && l.remains != "" {
		return nil, &DamagedError{File: Folder + "/" + l.remains, Reason: "it is of a Delta table whose commits are gone"}
	}
	if l.newest < 0 {
		return nil, ErrNotTable
	}
	return l.within(ctx, at)
}

// within refuses a version that the log does not reach.
func (l *listing) within(ctx context.Context, at At) (*listing, error) {
	if at.Version == nil {
		return l, nil
	}
	asked := "version " + strconv.FormatInt(*at.Version, 10)
	if *at.Version > l.newest && !l.whole {
		whole, err := listAfter(ctx, l.storage, "")
		if err != nil {
			return nil, err
		}
		whole.whole = true
		return whole.within(ctx, at)
	}
	if !l.whole {
		return l, nil
	}
	if oldest := l.oldest(); *at.Version > l.newest || *at.Version < oldest {
		return nil, &VersionError{Asked: asked, Oldest: oldest, Newest: l.newest}
	}
	return l, nil
}

// readHint gives the version that _last_checkpoint names. Whatever is wrong with it, the log itself tells the truth.
func readHint(ctx context.Context, storage Storage) (int64, bool) {
	data, err := storage.Get(ctx, LastCheckpointPath)
	if err != nil {
		return 0, false
	}
	version := int64(-1)
	r := exactjson.NewReader(data)
	r.Object(func(name []byte) {
		if string(name) == "version" {
			version = r.Long(64)
		} else {
			r.Raw()
		}
	})
	return version, r.End() == nil && version >= 0
}

func listAfter(ctx context.Context, storage Storage, after string) (*listing, error) {
	entries, err := storage.List(ctx, Folder, after)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l := &listing{storage: storage, commits: map[int64]int64{}, checkpoints: map[int64][]logFile{}, newest: -1}
	for _, e := range entries {
		if l.remains == "" && versioned(e.Name) {
			l.remains = e.Name
		}
		f, ok := parseName(e.Name)
		switch {
		case !ok:
			continue
		case f.commit:
			l.commits[f.version] = e.ModTime
		case e.Size == 0:
			continue // what a writer left that died before it wrote; no checkpoint is empty
		default:
			l.checkpoints[f.version] = append(l.checkpoints[f.version], f)
		}
		l.newest = max(l.newest, f.version)
	}
	// A checkpoint that is not whole does not make a version.
	for l.newest >= 0 {
		if _, ok := l.commits[l.newest]; ok || l.complete(l.newest) != nil {
			break
		}
		l.newest--
	}
	return l, nil
}

// base finds where the snapshot of a version begins: with the newest checkpoint that is whole and not newer, else before
// version 0; false if the list has neither.
func (l *listing) base(version int64) (base, bool) {
	best := base{version: -1}
	for v := range l.checkpoints {
		if v > version || v <= best.version {
			continue
		}
		if files := l.complete(v); files != nil {
			best = base{v, files}
		}
	}
	_, begins := l.commits[0]
	return best, best.version >= 0 || begins
}

// complete gives the files of a version's checkpoint, nil if there is none that is whole: the classic one, else all parts
// of one with parts, else one with an id.
func (l *listing) complete(version int64) []logFile {
	var named []logFile
	parts := map[int][]logFile{}
	for _, f := range l.checkpoints[version] {
		switch {
		case f.classic:
			return []logFile{f}
		case f.parts > 0:
			parts[f.parts] = append(parts[f.parts], f)
		default:
			named = []logFile{f}
		}
	}
	for of, files := range parts {
		if len(files) == of { // names are unique, so no part is there twice
			return files
		}
	}
	return named
}

// oldest is the oldest version that the log can still give.
func (l *listing) oldest() int64 {
	if _, ok := l.commits[0]; ok {
		return 0
	}
	oldest := l.newest
	for v := range l.checkpoints {
		if v < oldest && l.complete(v) != nil {
			oldest = v
		}
	}
	return oldest
}
