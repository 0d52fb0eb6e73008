package delta

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// races is how often a version may be lost to another writer before the commit is given up; it certainly was not made then.
const races = 1000

// lookups is how often a commit whose answer was lost is looked for, and tried again where it is certainly not there.
const lookups = 5

// Commit upholds sdk.Committer.
func (Writer) Commit(h sdk.Host, req abi.CommitRequest) (abi.CommitAnswer, error) {
	c := &committing{h: h, req: req, out: req.Output, id: commitID(req.Batch, req.Output.Name)}
	var err error
	if c.state, err = decodeState(req.State); err != nil {
		return abi.CommitAnswer{}, err
	}
	if c.schema, err = schema.Parse(c.state.schema); err != nil {
		return abi.CommitAnswer{}, err
	}
	if c.now, err = moment(req.Time); err != nil {
		return abi.CommitAnswer{}, err
	}
	for range races {
		answer, again, err := c.try()
		if err != nil {
			return c.failed(err)
		}
		if !again {
			return answer, nil
		}
	}
	return notDone("other writers have taken each of 1000 versions that were tried", "run again when fewer programs write to the table"), nil
}

// committing is one call of Commit.
type committing struct {
	h      sdk.Host
	req    abi.CommitRequest
	out    abi.Output
	id     string
	state  *state
	schema schema.Type // of the table with the write
	now    int64       // milliseconds since 1970
	put    bool        // a commit was sent, and may be in the log
	table  *table      // nil: it is to be made
}

func notDone(message, hint string) abi.CommitAnswer {
	return abi.CommitAnswer{Outcome: abi.OutcomeNotDone, Message: message, Hint: hint}
}

func unknown(message string) abi.CommitAnswer {
	return abi.CommitAnswer{Outcome: abi.OutcomeUnknown, Message: message}
}

// failed makes the answer of what could not be looked at or tried.
func (c *committing) failed(err error) (abi.CommitAnswer, error) {
	if c.put {
		return unknown(err.Error()), nil
	}
	hint, _ := unfit(err)
	if other := conflict(""); errors.As(err, &other) {
		hint = runAgain
	}
	return notDone(err.Error(), hint), nil
}

// try looks at the log and makes the commit after the last one; again tells that somebody else was faster.
func (c *committing) try() (answer abi.CommitAnswer, again bool, err error) {
	if c.table, err = open(c.h); err != nil {
		return answer, false, err
	}
	if c.table != nil {
		answer, decided, err := c.look()
		if decided || err != nil {
			return answer, false, err
		}
		if answer, decided, err = c.since(); decided || err != nil {
			return answer, false, err
		}
	} else if c.state.version >= 0 {
		return notDone("the table is gone", "bring its _delta_log back, or let the output make a new table by running again"), false, nil
	}
	data, version, err := c.encode()
	if err != nil {
		return answer, false, err
	}
	return c.send(version, data)
}

// look tells whether the batch is in the table already.
func (c *committing) look() (answer abi.CommitAnswer, decided bool, err error) {
	if id := c.out.Options[optAppID]; id != "" {
		return c.lookOwn(id)
	}
	b := c.req.Batch
	txn, err := c.table.newest(b)
	if err != nil || txn == nil {
		return answer, false, err
	}
	switch {
	case txn.Version < b.Epoch && !(b.Class == abi.ClassOnce && txn.Version > b.After):
		return answer, false, nil
	case txn.Version < b.Epoch:
		answer.Outcome = abi.OutcomeFound
	default:
		answer.Outcome = abi.OutcomeFenced
	}
	if answer.Mark, err = c.table.mark(txn); err != nil {
		return answer, false, err
	}
	if txn.Version == b.Epoch && answer.Mark.Run == b.Run {
		answer.Outcome = abi.OutcomeDone
	}
	return answer, true, nil
}

// lookOwn refuses what other programs would take for a commit that they know already, and pass over in silence.
func (c *committing) lookOwn(id string) (answer abi.CommitAnswer, decided bool, err error) {
	txn, err := c.table.Txn(context.Background(), id)
	if err != nil || txn == nil || txn.Version < c.ownVersion() {
		return answer, false, err
	}
	return notDone("the table has version "+strconv.FormatInt(txn.Version, 10)+" of the application "+id+" already, and txnVersion is "+c.out.Options[optAppVersion],
		"give each commit a higher txnVersion, or leave txnAppId and txnVersion out: batches are told apart without them"), true, nil
}

func (c *committing) ownVersion() int64 {
	version, _ := strconv.ParseInt(c.out.Options[optAppVersion], 10, 64) // plan has read it
	return version
}

// send makes the file of a commit.
func (c *committing) send(version int64, data []byte) (answer abi.CommitAnswer, again bool, err error) {
	path := deltalog.CommitPath(version)
	for range lookups {
		outcome, err := c.h.PutNew(path, data)
		if f := (*abi.Failure)(nil); errors.As(err, &f) && f.Code == abi.CodeNotPut && !c.put {
			return notDone(f.Message, f.Hint), false, nil
		}
		c.put = true
		switch {
		case err == nil && outcome == abi.PutCreated:
			return c.done(version), false, nil
		case err == nil && outcome == abi.PutExists:
			mine, err := c.mine(version)
			if mine {
				return c.done(version), false, nil
			}
			c.put = err != nil
			return answer, true, err
		}
		// Nobody can tell: the log is read. A commit that is certainly not there is sent again, by the same name and with the same
		// id, so that it is there once even if the first one comes late.
		mine, err := c.mine(version)
		switch {
		case mine:
			return c.done(version), false, nil
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return unknown("the answer to the commit of " + versionText(version) + " was lost, and the log cannot be read: " + err.Error()), false, nil
		}
		c.put = false
		return answer, true, nil
	}
	return unknown("the commit of " + versionText(version) + " was sent " + plural(lookups, "time") + " and is not in the log yet"), false, nil
}

// mine tells whether the commit of a version is this one.
func (c *committing) mine(version int64) (bool, error) {
	commit, err := deltalog.ReadCommit(context.Background(), storage{c.h}, version)
	if err != nil {
		return false, err
	}
	return commit.ID() == c.id, nil
}

func (c *committing) done(version int64) abi.CommitAnswer {
	checkpoint(c.h, version, c.now)
	mark := abi.Mark{Epoch: c.req.Batch.Epoch, Run: c.req.Batch.Run, Commit: versionText(version)}
	return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: mark}
}
