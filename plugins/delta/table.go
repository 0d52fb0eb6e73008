package delta

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// storage reads a target as deltalog wants it.
type storage struct{ host sdk.Table }

// gone is the error of a file that is certainly not there.
type gone struct{ err error }

func (g gone) Error() string   { return g.err.Error() }
func (g gone) Unwrap() []error { return []error{g.err, fs.ErrNotExist} }

func certain(err error) error {
	if sdk.NotFound(err) {
		return gone{err}
	}
	return err
}

func (s storage) Get(_ context.Context, path string) ([]byte, error) {
	data, err := s.host.Get(path)
	return data, certain(err)
}

func (s storage) List(_ context.Context, folder, after string) ([]deltalog.Entry, error) {
	entries, err := s.host.List(folder, after)
	if err != nil {
		return nil, certain(err)
	}
	all := make([]deltalog.Entry, len(entries))
	for i, e := range entries {
		all[i] = deltalog.Entry{Name: e.Name, Size: e.Size, ModTime: e.Modified}
	}
	return all, nil
}

func (s storage) ReadRows(_ context.Context, req deltalog.RowsRequest, row func([]byte) error) error {
	ask := abi.ReadRowsRequest{Path: req.Path, Format: "parquet", Columns: req.Columns}
	if w := req.Where; w != nil {
		ask.Where = &abi.RowMatch{Column: w.Column, Field: w.Field, Equals: w.Equals}
	}
	return certain(s.host.ReadRows(ask, row))
}

// table is a Delta table as one call sees it. There is one call at a time and nothing to give up for, so contexts are empty.
type table struct {
	*deltalog.Snapshot
	duties deltalog.Duties
	at     deltalog.Storage
}

// open looks at the newest version of the target; nil if it is certainly no table.
func open(h sdk.Table) (*table, error) {
	at := storage{h}
	snapshot, err := deltalog.Open(context.Background(), at, deltalog.At{})
	if errors.Is(err, deltalog.ErrNotTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	duties, err := snapshot.CheckWrite()
	if err != nil {
		return nil, err
	}
	return &table{snapshot, duties, at}, nil
}

// unfit tells whether an error says that the table cannot be written as it is, and gives what to do.
func unfit(err error) (hint string, is bool) {
	var hole *deltalog.HoleError
	var damaged *deltalog.DamagedError
	var unsupported *deltalog.UnsupportedError
	var wrong *schema.Error
	switch {
	case errors.As(err, &hole), errors.As(err, &damaged):
		return "bring the file back; nothing is written to a table whose log is not whole", true
	case errors.As(err, &unsupported), errors.As(err, &wrong):
		return "have its own writer drop what is named, or write to another folder", true
	}
	return "", false
}

// identity tells a table's protocol and metadata from others.
func identity(p *deltalog.Protocol, m *deltalog.Metadata) (string, error) {
	data, err := (&deltalog.Commit{Actions: []deltalog.Action{{Protocol: p}, {Metadata: m}}}).Encode()
	if err != nil {
		return "", err
	}
	// FNV-1a, 64 bits: it tells changes of one table apart, and nobody gains by a collision.
	hash := uint64(14695981039346656037)
	for _, b := range data {
		hash = (hash ^ uint64(b)) * 1099511628211
	}
	return strconv.FormatUint(hash, 16), nil
}

// moment reads the time of a request as milliseconds since 1970.
func moment(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, errors.New("the request's time cannot be read: " + err.Error())
	}
	return t.UnixMilli(), nil
}
