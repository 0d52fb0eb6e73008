package delta

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
)

const runAgain = "nothing was committed: run again, which looks at the table anew"

// conflict is what another writer has done that the staged files do not fit any more.
type conflict string

func (c conflict) Error() string { return string(c) }

// since looks at what others have done to the table after stage looked at it.
func (c *committing) since() (answer abi.CommitAnswer, decided bool, err error) {
	if c.state.version < 0 {
		return c.made()
	}
	if c.table.Version < c.state.version {
		return notDone("the table went back from "+versionText(c.state.version)+" to "+versionText(c.table.Version), runAgain), true, nil
	}
	now, err := identity(c.table.Protocol, c.table.Metadata)
	if err != nil {
		return answer, false, err
	}
	if now != c.state.identity {
		return notDone("another writer has changed the table's columns or properties since the rows were made ("+versionText(c.state.version)+" to "+versionText(c.table.Version)+")", runAgain), true, nil
	}
	if c.table.Version == c.state.version || len(c.state.copied) == 0 && c.where() == nil && c.out.Mode != modeMerge {
		return answer, false, nil // what goes is listed from the newest version
	}
	return c.conflicts()
}

// made looks at a table that was made since: the files fit if it is the same.
func (c *committing) made() (answer abi.CommitAnswer, decided bool, err error) {
	if c.out.Mode == modeCreate || c.out.Mode == modeIgnore {
		return notDone("another writer has made the table", runAgain), true, nil
	}
	same := c.table.Metadata.SchemaString == c.state.schema && slices.Equal(c.table.Metadata.PartitionColumns, c.state.partition) && len(c.table.duties.Conditions) == 0
	if !same || c.out.Mode == modeMerge || c.where() != nil || c.table.duties.AppendOnly && replaces(c.out) {
		return notDone("another writer has made the table since the rows were made", runAgain), true, nil
	}
	return answer, false, nil
}

// where is the condition of replace_where, nil if there is none. Stage has bound it, so that it can be.
func (c *committing) where() *predicate.Bound {
	if c.out.ReplaceWhere == "" {
		return nil
	}
	parsed, err := predicate.Parse(c.out.ReplaceWhere, predicate.Standard)
	if err != nil {
		return nil
	}
	bound, err := parsed.Bind(c.schema)
	if err != nil {
		return nil
	}
	return bound
}

// conflicts asks of each commit that came between whether the staged files still say what is to be in the table.
func (c *committing) conflicts() (answer abi.CommitAnswer, decided bool, err error) {
	attempt := deltalog.Attempt{Copies: len(c.state.copied) > 0 || c.out.Mode == modeMerge, Removes: map[string]bool{}, Touches: c.touches()}
	for _, key := range c.state.copied {
		attempt.Removes[key] = true
	}
	for version := c.state.version + 1; version <= c.table.Version; version++ {
		commit, err := deltalog.ReadCommit(context.Background(), c.table.at, version)
		if errors.Is(err, fs.ErrNotExist) {
			return notDone(versionText(version)+" is gone from the log, which says what it did to the rows that are replaced", runAgain), true, nil
		}
		if err != nil {
			return answer, false, err
		}
		found, err := attempt.Check(commit)
		if err != nil {
			return answer, false, err
		}
		if found.Verdict >= deltalog.Redo {
			what := "has changed the table"
			if found.Path != "" {
				what = "has changed rows that are replaced (" + found.Path + ")"
			}
			return notDone("another writer "+what+" in "+versionText(version), runAgain), true, nil
		}
	}
	return answer, false, nil
}

// touches tells which files of others matter to the write.
func (c *committing) touches() func(*deltalog.Add) bool {
	if where := c.where(); where != nil {
		return func(a *deltalog.Add) bool { return c.table.match(where, a) != predicate.None }
	}
	var keys []schema.Field
	for _, name := range c.out.Keys {
		f, ok := c.schema.Field(name)
		if !ok {
			return nil
		}
		keys = append(keys, f)
	}
	return newReach(c.table, keys, c.state).touches
}
