package delta

import (
	"context"
	"errors"
	"io/fs"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
)

// Words of a commit's own.
const (
	wordRun   = "ubunyeRun"
	wordRange = "ubunyeRange"
)

// commitID is what a commit of a batch is known by: a run has one lease of a batch, so no two commits have the same.
func commitID(b abi.Batch, output string) string {
	key := b.Key
	if key == "" {
		key = output
	}
	return b.Run + "/" + key
}

// newest gives the txn of the batch with the highest epoch, under its key or another; nil if the table has none.
func (t *table) newest(b abi.Batch) (*deltalog.Txn, error) {
	var newest *deltalog.Txn
	for _, key := range batchKeys(b) {
		txn, err := t.Txn(context.Background(), key)
		if err != nil {
			return nil, err
		}
		if txn != nil && (newest == nil || txn.Version > newest.Version) {
			newest = txn
		}
	}
	return newest, nil
}

func batchKeys(b abi.Batch) []string {
	if b.Key == "" {
		return nil
	}
	keys := []string{b.Key}
	for _, key := range b.OtherKeys {
		if !sameKey(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func sameKey(keys []string, key string) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

// find gives the commit that brought a txn; nil if the log does not have it any more. What it costs grows with what was
// committed since.
func (t *table) find(txn *deltalog.Txn) (*deltalog.Commit, error) {
	for version := t.Version; version >= 0; version-- {
		c, err := deltalog.ReadCommit(context.Background(), t.at, version)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, a := range c.Actions {
			if a.Txn != nil && a.Txn.AppID == txn.AppID && a.Txn.Version == txn.Version {
				return c, nil
			}
		}
	}
	return nil, nil
}

// earlier is a mark of a txn whose commit is not looked for, or is not in the log any more.
func (t *table) earlier(txn *deltalog.Txn) abi.Mark {
	return abi.Mark{Epoch: txn.Version, Commit: versionText(t.Version) + " or before"}
}

// mark gives what people find a txn's commit by.
func (t *table) mark(txn *deltalog.Txn) (abi.Mark, error) {
	m := t.earlier(txn)
	c, err := t.find(txn)
	if err != nil || c == nil {
		return m, err
	}
	m.Commit = versionText(c.Version)
	if info := c.Info(); info != nil {
		m.Run = info.CommitText(wordRun)
	}
	return m, nil
}
