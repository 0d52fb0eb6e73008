package deltalog_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

// memory is a Storage of hand-made logs: names below the log's folder, and what they hold. A Parquet file is one of JSON lines.
type memory struct {
	files map[string]string
	times map[string]int64
	fail  map[string]error
	// unlisted are there for Get alone, as those that another writer made while the folder was listed.
	unlisted map[string]bool
	gets     []string
	lists    int
	onList   func()
}

func (m *memory) Get(_ context.Context, path string) ([]byte, error) {
	name := strings.TrimPrefix(path, deltalog.Folder+"/")
	m.gets = append(m.gets, name)
	if err := m.fail[name]; err != nil {
		return nil, err
	}
	text, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (m *memory) List(_ context.Context, _, after string) ([]deltalog.Entry, error) {
	m.lists++
	var all []deltalog.Entry
	for name, text := range m.files {
		if name > after && !strings.Contains(name, "/") && !m.unlisted[name] {
			all = append(all, deltalog.Entry{Name: name, Size: int64(len(text)), ModTime: m.times[name]})
		}
	}
	if m.onList != nil {
		m.onList()
	}
	return all, nil
}

func (m *memory) ReadRows(ctx context.Context, req deltalog.RowsRequest, row func([]byte) error) error {
	data, err := m.Get(ctx, req.Path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			return err
		}
		wanted := false
		for _, c := range req.Columns {
			wanted = wanted || members[c] != nil
		}
		if wanted {
			if err := row([]byte(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

func liveFiles(t *testing.T, s *deltalog.Snapshot) (all []*deltalog.Add) {
	t.Helper()
	for a, err := range s.Files(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}
