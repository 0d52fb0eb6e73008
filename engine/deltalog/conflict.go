package deltalog

// Verdict is what to do with a write whose version another commit has taken.
type Verdict uint8

// The verdicts, from the least to the most to do. Of several commits the greatest counts.
const (
	Clear  Verdict = iota // write the same as the next version
	Refile                // list anew which files go; the files that come are right
	Redo                  // make the files that come again: they hold rows of files that have changed
	Stop                  // look at the table anew: it is another one, or this batch is in it
)

// Cause is why.
type Cause uint8

// The causes.
const (
	CauseNone        Cause = iota
	CauseProtocol          // the table's protocol changed
	CauseMetadata          // its schema, partitions or properties changed
	CauseTransaction       // the same application committed
	CauseAdded             // a file came that may hold rows which the write replaces or matches
	CauseRemoved           // a file went that the write removes
)

// Conflict says what a commit means for a write.
type Conflict struct {
	Verdict Verdict
	Cause   Cause
	Version int64  // of the commit
	Path    string // the file, as the log names it
}

// Attempt is a write that has lost the race for a version.
type Attempt struct {
	AppID string // of its txn; empty: it has none
	// Appends says that the write replaces nothing and reads nothing of the table.
	Appends bool
	// Copies says that its files hold rows of the files that it removes: a merge, or a replacement of some rows of a file.
	Copies bool
	// Touches tells whether a file may hold rows that the write replaces or matches; nil: every file may.
	Touches func(*Add) bool
	// Removes are the files that it removes, by Add.Key.
	Removes map[string]bool
}

// Check finds what a commit that came between means for the write. The order of commits becomes the order of writes: what
// another one appended before a replacement is replaced too.
func (a *Attempt) Check(c *Commit) (Conflict, error) {
	worst := Conflict{Version: c.Version}
	for _, action := range c.Actions {
		found, path, err := a.one(action)
		if err != nil {
			return Conflict{}, &DamagedError{File: CommitPath(c.Version), Reason: err.Error()}
		}
		if verdict := a.verdict(found); verdict > worst.Verdict {
			worst.Verdict, worst.Cause, worst.Path = verdict, found, path
		}
	}
	return worst, nil
}

func (a *Attempt) one(action Action) (Cause, string, error) {
	switch {
	case action.Protocol != nil:
		return CauseProtocol, "", nil
	case action.Metadata != nil:
		return CauseMetadata, "", nil
	case action.Txn != nil && action.Txn.AppID == a.AppID && a.AppID != "":
		return CauseTransaction, "", nil
	case a.Appends:
		return CauseNone, "", nil
	case action.Add != nil:
		if a.Touches == nil || a.Touches(action.Add) {
			return CauseAdded, action.Add.Path, nil
		}
	case action.Remove != nil:
		key, err := action.Remove.Key()
		if err != nil || a.Removes[key] {
			return CauseRemoved, action.Remove.Path, err
		}
	}
	return CauseNone, "", nil
}

func (a *Attempt) verdict(c Cause) Verdict {
	switch c {
	case CauseNone:
		return Clear
	case CauseAdded, CauseRemoved:
		if a.Copies {
			return Redo
		}
		return Refile
	}
	return Stop
}
