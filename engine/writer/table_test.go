package writer_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// target is the engine's side of a table: files by their names.
type target struct {
	files map[string][]byte
	put   func(name string) (abi.PutOutcome, error) // decides before a file is made; "": it is made
	gets  []abi.GetRequest
	rows  [][]byte
}

func (t *target) Get(_ context.Context, req abi.GetRequest) (abi.GetAnswer, error) {
	t.gets = append(t.gets, req)
	data, ok := t.files[req.Path]
	if !ok {
		return abi.GetAnswer{}, &abi.Failure{Code: abi.CodeNotFound, Message: "not there"}
	}
	begin := min(req.Offset, int64(len(data)))
	return abi.GetAnswer{Bytes: data[begin:min(begin+req.Length, int64(len(data)))], Size: int64(len(data))}, nil
}

func (t *target) List(_ context.Context, req abi.ListRequest, most int) (a abi.ListAnswer, err error) {
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		if path.Dir(name) == req.Folder && path.Base(name) > req.After {
			a.More = len(a.Entries) == most
			if a.More {
				break
			}
			a.Entries = append(a.Entries, abi.Entry{Name: path.Base(name), Size: int64(len(t.files[name]))})
		}
	}
	if len(a.Entries) == 0 {
		err = &abi.Failure{Code: abi.CodeNotFound, Message: "not there"}
	}
	return a, err
}

func (t *target) ReadRows(context.Context, abi.ReadRowsRequest) (writer.RowStream, error) {
	return &stream{r: &relations{}, left: t.rows}, nil
}

func (t *target) PutNew(_ context.Context, req abi.PutNewRequest) (abi.PutOutcome, error) {
	if t.put != nil {
		if outcome, err := t.put(req.Path); outcome != "" || err != nil {
			return outcome, err
		}
	}
	if t.files[req.Path] != nil {
		return abi.PutExists, nil
	}
	t.files[req.Path] = req.Bytes
	return abi.PutCreated, nil
}

func (t *target) Put(_ context.Context, req abi.PutRequest) (abi.PutOutcome, error) {
	t.files[req.Path] = req.Bytes
	return abi.PutCreated, nil
}

func (t *target) CreateRows(context.Context, abi.RowsCreateRequest) (writer.RowsFile, error) {
	return nil, &abi.Failure{Code: abi.CodeNotPut, Message: "no room"}
}

func numberedSession(t testing.TB, on writer.Table) *writer.Session {
	t.Helper()
	file, err := numbered()
	if err != nil {
		t.Fatal(err)
	}
	r := &relations{files: []abi.StagedFile{{Name: "part-1.parquet.staged", Rows: 2, Bytes: 9}}}
	return start(t, newHost(t, writer.Config{}), writer.Module{Name: "numbered", Path: file}, writer.Limits{}, writer.Grants{Relation: r, Table: on})
}

func batchOf(run string, epoch, after int64) abi.Batch {
	return abi.Batch{Key: "ubunye/p/t/o/k", Run: run, Epoch: epoch, After: after, Class: abi.ClassOnce}
}

func commitOf(b abi.Batch, do string) abi.CommitRequest {
	return abi.CommitRequest{Output: abi.Output{Name: "o", Mode: "append", Target: "/lake", Options: map[string]string{"do": do}}, Batch: b,
		Files: []abi.StagedFile{{Name: "part-" + b.Run + ".parquet", Rows: 2, Bytes: 9}}, State: abi.JSON(`{"staged":true}`)}
}

// A writer of a table commits once, finds what a dead run committed, and is told when a later run was there.
func TestCommits(t *testing.T) {
	on := &target{files: map[string][]byte{}}
	s := numberedSession(t, on)
	for _, c := range []struct {
		b    abi.Batch
		want abi.CommitAnswer
	}{
		{batchOf("a", 3, 0), abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: 3, Run: "a", Commit: "version 1"}}},
		{batchOf("b", 4, 0), abi.CommitAnswer{Outcome: abi.OutcomeFound, Mark: abi.Mark{Epoch: 3, Run: "a", Commit: "version 1"}}},
		{batchOf("z", 2, 0), abi.CommitAnswer{Outcome: abi.OutcomeFenced, Mark: abi.Mark{Epoch: 3, Run: "a", Commit: "version 1"}}},
		{batchOf("b", 4, 3), abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: 4, Run: "b", Commit: "version 2"}}},
	} {
		if got, err := s.Commit(t.Context(), commitOf(c.b, "")); got != c.want || err != nil {
			t.Errorf("%+v: %+v, %v", c.b, got, err)
		}
	}
	if names := slices.Sorted(maps.Keys(on.files)); !slices.Equal(names, []string{"_numbered/00000001.json", "_numbered/00000002.json", "_numbered/_last"}) {
		t.Errorf("files %q", names)
	}
	got, err := s.Resolve(t.Context(), abi.ResolveRequest{Batch: batchOf("c", 5, 4), Files: []string{"part-a.parquet", "part-x.parquet"}})
	if err != nil || got.Mark != (abi.Mark{Epoch: 4, Run: "b", Commit: "version 2"}) || !slices.Equal(got.Named, []string{"part-a.parquet"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// After an error it is known whether something may have been put.
func TestCommitsThatFail(t *testing.T) {
	refused := &abi.Failure{Code: abi.CodeNotPut, Message: "the disk is full"}
	for _, c := range []struct {
		do   string
		put  func(string) (abi.PutOutcome, error)
		want abi.CommitOutcome
		kind writer.Kind
		text string
	}{
		{"die-before", nil, abi.OutcomeNotDone, writer.Trap, "it ended itself with exit code 3"},
		{"die-after", nil, abi.OutcomeUnknown, writer.Trap, "it ended itself with exit code 3"},
		{"lie", nil, abi.OutcomeNotDone, writer.Output, `its answer makes no sense: the outcome "done" with the commit "version 1" of epoch 3 by run "a" cannot be, for a batch of class once with epoch 3 after 0`},
		{"", func(string) (abi.PutOutcome, error) { return "", refused }, abi.OutcomeNotDone, writer.Reported, "the disk is full"},
		{"", func(string) (abi.PutOutcome, error) { return "", context.DeadlineExceeded }, abi.OutcomeUnknown, writer.HostFailed, "context deadline exceeded"},
	} {
		s := numberedSession(t, &target{files: map[string][]byte{}, put: c.put})
		got, err := s.Commit(t.Context(), commitOf(batchOf("a", 3, 0), c.do))
		wantError(t, err, c.kind, "plugin numbered: commit: "+c.text)
		if got != (abi.CommitAnswer{Outcome: c.want}) {
			t.Errorf("%s: %+v", c.do, got)
		}
	}
}

// A name that was taken meanwhile, and an answer that is lost, have the writer look again.
func TestCommitsThatLookAgain(t *testing.T) {
	on := &target{files: map[string][]byte{}}
	times := 0
	on.put = func(name string) (abi.PutOutcome, error) {
		switch times++; times {
		case 1: // another writer comes between
			on.files[name] = []byte(`{"files":["theirs"]}`)
		case 2: // it is made, and nobody knows
			on.files[name] = []byte(`{"keys":["ubunye/p/t/o/k"],"run":"a","epoch":3}`)
			return abi.PutUnknown, nil
		}
		return "", nil
	}
	got, err := numberedSession(t, on).Commit(t.Context(), commitOf(batchOf("a", 3, 0), ""))
	if want := (abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: 3, Run: "a", Commit: "version 2"}}); got != want || err != nil || times != 2 {
		t.Errorf("%+v, %v after %d tries", got, err, times)
	}
}

// A long log is read in parts, and what is read is bounded.
func TestALongLogIsReadInParts(t *testing.T) {
	on := &target{files: map[string][]byte{}}
	for i := range 10_001 {
		on.files[fmt.Sprintf("_numbered/%08d.json", i+1)] = []byte(`{}`)
	}
	last := "_numbered/00010001.json"
	on.files[last] = append([]byte(`{"keys":["ubunye/p/t/o/k"],"run":"a","epoch":7,"files":["`), append(bytes.Repeat([]byte("x"), 9<<20), []byte(`"]}`)...)...)
	got, err := numberedSession(t, on).Resolve(t.Context(), abi.ResolveRequest{Batch: batchOf("b", 8, 0)})
	if err != nil || got.Mark.Commit != "version 10001" {
		t.Fatalf("%+v, %v", got.Mark, err)
	}
	if parts := on.gets[10_000:]; len(parts) != 2 || parts[0] != (abi.GetRequest{Path: last, Length: 8 << 20}) || parts[1].Offset != 8<<20 {
		t.Errorf("asked for %+v", parts)
	}
}

// What a call may not do is refused, whatever the pipeline grants.
func TestATableIsWrittenInCommitOnly(t *testing.T) {
	on := &target{files: map[string][]byte{}}
	b := batchOf("a", 3, 0)
	_, err := numberedSession(t, on).Plan(t.Context(), abi.PlanRequest{Output: abi.Output{Mode: "append", Options: map[string]string{"do": "put-at-plan"}}, Batch: &b})
	wantError(t, err, writer.Refused, "plugin numbered: plan: table.put_new is not allowed during plan")
	if len(on.files) > 0 {
		t.Error("it was put")
	}
	_, err = numberedSession(t, nil).Plan(t.Context(), abi.PlanRequest{Batch: &b})
	wantError(t, err, writer.Refused, `plugin numbered: plan: table.list needs the capability "table", which the pipeline does not grant`)

	s := numberedSession(t, on)
	answer, err := s.Stage(t.Context(), abi.StageRequest{Output: abi.Output{Mode: "append"}, Relation: "r", Batch: &b})
	if err != nil || string(answer.State) != `{"staged":true}` {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestModulesThatMakeNoCommits(t *testing.T) {
	s := start(t, newHost(t, writer.Config{}), goguestModule(t), writer.Limits{}, writer.Grants{})
	_, err := s.Commit(t.Context(), commitOf(batchOf("a", 3, 0), ""))
	wantError(t, err, writer.Reported, "plugin copier: commit: the writer goguest makes no commits")
}
