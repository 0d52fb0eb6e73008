package delta

import (
	"context"
	"errors"
	"io/fs"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Resolve upholds sdk.Committer.
func (Writer) Resolve(h sdk.Host, req abi.ResolveRequest) (answer abi.ResolveAnswer, err error) {
	t, err := open(h)
	if err != nil || t == nil {
		return answer, err
	}
	txn, err := t.newest(req.Batch)
	if err != nil {
		return answer, err
	}
	if txn != nil {
		if answer.Mark = t.earlier(txn); txn.Version > req.Batch.After {
			if answer.Mark, err = t.mark(txn); err != nil {
				return answer, err
			}
		}
	}
	switch {
	case len(req.Files) == 0:
	case req.Batch.Key == "":
		err = errors.New("the dead run's commit carries no key, so that nobody can tell which files it named")
	case txn != nil && txn.Version >= req.Batch.Epoch:
		answer.Named, err = t.named(req.Batch, req.Files)
	}
	return answer, err
}

// named tells which of a dead run's files the log has ever named. The run's own commit is the only one that can have: it carries
// the batch's key and the run's epoch, and epochs grow, so that it is looked for down to a commit of a lower one.
func (t *table) named(b abi.Batch, files []string) (named []string, err error) {
	asked := map[string]string{}
	for _, f := range files {
		key, err := (&deltalog.Add{Path: deltalog.EncodePath(f)}).Key()
		if err != nil {
			return nil, err
		}
		asked[key] = f
	}
	keys := batchKeys(b)
	for version := t.Version; version >= 0 && len(asked) > 0; version-- {
		c, err := deltalog.ReadCommit(context.Background(), t.at, version)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("the log was cleaned up to " + versionText(version) + ", so that nobody can tell what it named before")
		}
		if err != nil {
			return nil, err
		}
		before := false
		for _, a := range c.Actions {
			before = before || a.Txn != nil && sameKey(keys, a.Txn.AppID) && a.Txn.Version < b.Epoch
			if a.Add == nil {
				continue
			}
			key, err := a.Add.Key()
			if err != nil {
				return nil, err
			}
			if f, ok := asked[key]; ok {
				named = append(named, f)
				delete(asked, key)
			}
		}
		if before {
			break
		}
	}
	return named, nil
}
