package deltalog

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// Provenance is what a commit of ours says of itself.
type Provenance struct {
	ID          string // unique: it tells our commit from another's when the answer to writing it was lost
	Timestamp   int64  // milliseconds since 1970
	Operation   string // as "WRITE"
	Parameters  []Pair // of the operation
	ReadVersion *int64 // the version that was looked at; nil for a new table
	BlindAppend bool   // nothing of the table was read
	Engine      string // the program and its version
	More        []Pair // words of the caller's own
	OwnTime     *int64 // the time of the commit, where Duties.OwnTimes asks for it; CommitTime gives it
}

// provenanceID is the member that holds the id.
const provenanceID = "txnId"

// Info makes the commitInfo of it.
func (p Provenance) Info() *CommitInfo {
	e := &encoder{}
	e.Object(func() {
		e.long("inCommitTimestamp", p.OwnTime)
		e.Name("timestamp").Long(p.Timestamp)
		e.Name("operation").Text(p.Operation)
		e.pairs("operationParameters", p.Parameters)
		e.long("readVersion", p.ReadVersion)
		e.Name("isBlindAppend").Bool(p.BlindAppend)
		e.Name("engineInfo").Text(p.Engine)
		e.Name(provenanceID).Text(p.ID)
		for _, m := range p.More {
			e.text(m.Name, m.Value)
		}
	})
	return &CommitInfo{InCommitTimestamp: p.OwnTime, BlindAppend: p.BlindAppend, Members: e.Bytes()}
}

// ID gives the id that a commit was made with; empty if it has none.
func (c *Commit) ID() string {
	if info := c.Info(); info != nil {
		return info.CommitText(provenanceID)
	}
	return ""
}

// CommitTime is the time that a commit holds: now, or a millisecond after the commit before it, in milliseconds since 1970.
func CommitTime(now int64, before *CommitInfo) int64 {
	if before != nil && before.InCommitTimestamp != nil {
		return max(now, *before.InCommitTimestamp+1)
	}
	return now
}

// Remove makes the action that takes a file out of the table. dataChange is false if its rows stay in other files. now is in
// milliseconds since 1970.
func (a *Add) Remove(now int64, dataChange bool) *Remove {
	return &Remove{
		Path: a.Path, DeletionTimestamp: now, DataChange: dataChange, Extended: true, Partition: a.Partition, Size: a.Size,
		DeletionVector: a.DeletionVector, BaseRowID: a.BaseRowID, RowCommitVersion: a.RowCommitVersion, tags: a.tags,
	}
}

// StatsRule says which columns the table wants statistics of.
func (m *Metadata) StatsRule() schema.StatsRule {
	rule := schema.StatsRule{Leading: schema.DefaultLeading}
	if n, err := strconv.Atoi(m.Property(propStatsLeading)); err == nil && n >= -1 {
		rule.Leading = n
	}
	for name := range strings.SplitSeq(m.Property(propStatsColumns), ",") {
		if name = strings.TrimSpace(name); name != "" {
			rule.Columns = append(rule.Columns, name)
		}
	}
	return rule
}

// Properties that say which columns have statistics.
const (
	propStatsLeading = "delta.dataSkippingNumIndexedCols"
	propStatsColumns = "delta.dataSkippingStatsColumns"
)

// Encode gives the content of the commit's file. Two actions that the protocol does not allow together are an error.
func (c *Commit) Encode() ([]byte, error) {
	actions := slices.Clone(c.Actions)
	slices.SortStableFunc(actions, func(a, b Action) int { return cmp.Compare(rank(a), rank(b)) })
	e := &encoder{}
	seen := map[string]bool{}
	for _, a := range actions {
		once, err := identity(a)
		if err != nil {
			return nil, err
		}
		if seen[once] {
			return nil, errors.New("a commit holds two actions for " + strconv.Quote(once))
		}
		seen[once] = true
		e.action(a)
	}
	return e.Bytes(), nil
}

// rank orders the actions of a commit: what it says of itself comes first, for tables whose commits hold their time.
func rank(a Action) int {
	switch {
	case a.CommitInfo != nil:
		return 0
	case a.Protocol != nil:
		return 1
	case a.Metadata != nil:
		return 2
	case a.Txn != nil:
		return 3
	case a.Domain != nil:
		return 4
	case a.Remove != nil:
		return 5
	}
	return 6
}

// identity names what a commit may say one thing about only.
func identity(a Action) (string, error) {
	switch {
	case a.CommitInfo != nil:
		return "commitInfo", nil
	case a.Protocol != nil:
		return "protocol", nil
	case a.Metadata != nil:
		return "metaData", nil
	case a.Txn != nil:
		return "txn " + a.Txn.AppID, nil
	case a.Domain != nil:
		return "domainMetadata " + a.Domain.Name, nil
	case a.Add == nil && a.Remove == nil:
		return "", errors.New("a commit holds an action that is none")
	}
	key, err := a.fileKey()
	return "file " + key, err
}
