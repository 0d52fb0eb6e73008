package deltalog

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"time"
)

// Properties of a table that say since when its commits hold their own time.
const (
	propICT        = "delta.enableInCommitTimestamps"
	propICTVersion = "delta.inCommitTimestampEnablementVersion"
	propICTTime    = "delta.inCommitTimestampEnablementTimestamp"
)

// versionAt gives the newest version that was committed at a time, in milliseconds since 1970, or before. A commit's time is
// the one that it holds if the table has that feature, else its file's.
func (l *listing) versionAt(ctx context.Context, millis int64) (int64, error) {
	since, err := l.ownTimes(ctx, millis)
	if err != nil {
		return 0, err
	}
	oldest := l.oldest()
	versions := make([]int64, 0, len(l.commits))
	for v := range l.commits {
		if v >= oldest && (since.from <= v) == since.own {
			versions = append(versions, v)
		}
	}
	slices.Sort(versions)
	found := int64(-1)
	if since.own {
		found, err = l.byOwnTime(ctx, versions, millis)
	} else {
		found = l.byFileTime(versions, millis)
	}
	if err == nil && found < 0 {
		asked := "version of " + time.UnixMilli(millis).UTC().Format(time.RFC3339) + " or before"
		err = &VersionError{Asked: asked, Oldest: oldest, Newest: l.newest}
	}
	return found, err
}

// ownTimes says whether the commits that matter for a time hold their own, and from which version on they do.
func (l *listing) ownTimes(ctx context.Context, millis int64) (since struct {
	own  bool
	from int64
}, err error) {
	newest, err := open(ctx, l.storage, At{Version: &l.newest})
	if err != nil {
		return since, err
	}
	since.from = l.newest + 1
	if newest.Metadata.Property(propICT) != "true" {
		return since, nil
	}
	since.own, since.from = true, 0
	version, begin := newest.Metadata.Property(propICTVersion), newest.Metadata.Property(propICTTime)
	if version == "" && begin == "" {
		return since, nil // since the first commit
	}
	from, err1 := strconv.ParseInt(version, 10, 64)
	at, err2 := strconv.ParseInt(begin, 10, 64)
	if err1 != nil || err2 != nil {
		return since, &DamagedError{File: newest.start(), Reason: "the table's properties do not say since when its commits hold their time"}
	}
	since.from, since.own = from, millis >= at
	return since, nil
}

// byFileTime looks at the times of files, each taken for a millisecond after the one before if it is not later: a clock may
// have been set back, and a copied table's files may all be of one time.
func (l *listing) byFileTime(versions []int64, millis int64) int64 {
	found, last := int64(-1), int64(-1)
	for _, v := range versions {
		at := max(l.commits[v], last+1)
		if at > millis {
			break
		}
		found, last = v, at
	}
	return found
}

// byOwnTime looks into commits; their times grow.
func (l *listing) byOwnTime(ctx context.Context, versions []int64, millis int64) (int64, error) {
	var failed error
	after, _ := slices.BinarySearchFunc(versions, millis, func(v, millis int64) int {
		if failed != nil {
			return 1
		}
		at, err := l.ownTime(ctx, v)
		if failed = err; err == nil && at <= millis {
			return -1
		}
		return 1
	})
	if failed != nil || after == 0 {
		return -1, failed
	}
	return versions[after-1], nil
}

func (l *listing) ownTime(ctx context.Context, version int64) (int64, error) {
	c, err := ReadCommit(ctx, l.storage, version)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &HoleError{Version: version, Until: l.newest}
	}
	if err != nil {
		return 0, err
	}
	if info := c.Info(); info != nil && info.InCommitTimestamp != nil {
		return *info.InCommitTimestamp, nil
	}
	return 0, &DamagedError{File: CommitPath(version), Reason: "the commit does not hold its time, as the table's protocol demands"}
}
