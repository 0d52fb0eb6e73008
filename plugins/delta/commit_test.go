package delta

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

func TestFirstAppendMakesTheTable(t *testing.T) {
	l := newLake(t)
	w := write{batch: l.batch("a", 4, 0, abi.ClassOnce), files: []abi.StagedFile{staged("part-1.parquet", 3, nil, between("id", "-1", "7", 0), between("v", "a", "c", 1))}}
	w.batch.Range = abi.JSON(`{"from":1}`)
	answer, err := l.run(w)
	if err != nil || answer.Outcome != abi.OutcomeDone || answer.Mark != (abi.Mark{Epoch: 4, Run: "run-1", Commit: "version 0"}) {
		t.Fatalf("%+v %v", answer, err)
	}
	got := l.actions(0)
	if k := kinds(got); k != "add 1, commitInfo 1, metaData 1, protocol 1, txn 1" {
		t.Error(k)
	}
	if p := text(got["protocol"][0]); p != `{"minReaderVersion":1,"minWriterVersion":2}` {
		t.Error(p)
	}
	if x := text(got["txn"][0]); x != `{"appId":"ubunye/p/t/out/a","lastUpdated":1767323045000,"version":4}` {
		t.Error(x)
	}
	meta := got["metaData"][0]
	if meta["schemaString"] != `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"v","type":"string","nullable":true,"metadata":{}}]}` {
		t.Error(meta["schemaString"])
	}
	if id := meta["id"].(string); len(id) != 36 || id[14] != '4' || !strings.ContainsAny(id[19:20], "89ab") {
		t.Errorf("id %s", id)
	}
	add := got["add"][0]
	if add["path"] != "part-1.parquet" || add["size"] != 300.0 || add["dataChange"] != true || add["stats"] != `{"numRecords":3,"minValues":{"id":-1,"v":"a"},"maxValues":{"id":7,"v":"c"},"nullCount":{"id":0,"v":1}}` {
		t.Error(text(add))
	}
	info := got["commitInfo"][0]
	if info["txnId"] != "run-1/ubunye/p/t/out/a" || info["ubunyeRun"] != "run-1" || info["ubunyeRange"] != `{"from":1}` || info["isBlindAppend"] != true || info["operation"] != "WRITE" {
		t.Error(text(info))
	}
}

// An append reads the protocol, the metadata and its own txn; not the files of the table.
func TestAppendReadsNoFiles(t *testing.T) {
	l := newLake(t)
	for i := range 11 {
		l.append(fmt.Sprint(i))
	}
	if l.Target.Read(deltalog.CheckpointPath(10)) == "" {
		t.Fatal("version 10 has no checkpoint")
	}
	l.Asked = nil
	l.append("again")
	for _, asked := range l.Asked {
		if strings.HasPrefix(asked, "get ") && !strings.HasSuffix(asked, "_last_checkpoint") && !strings.Contains(asked, "00000000000000000010.json") && !strings.Contains(asked, "00000000000000000011.json") {
			t.Errorf("it %s", asked)
		}
	}
	if len(l.live()) != 12 {
		t.Errorf("%d files", len(l.live()))
	}
}

// TestC004: the same batch committed twice is in the table once, and is told by the commit that was found.
func TestC004SameBatchTwice(t *testing.T) {
	for _, c := range []struct {
		what         string
		epoch, after int64
		class        abi.Class
		want         abi.CommitOutcome
		mark         abi.Mark
		live         int
	}{
		{"a dead run had committed it", 2, 0, abi.ClassOnce, abi.OutcomeFound, abi.Mark{Epoch: 1, Run: "run-1", Commit: "version 0"}, 1},
		{"it is finished and runs again", 2, 1, abi.ClassOnce, abi.OutcomeDone, abi.Mark{Epoch: 2, Run: "run-2", Commit: "version 1"}, 2},
		{"a later run has committed it", 1, 0, abi.ClassOnce, abi.OutcomeFenced, abi.Mark{Epoch: 1, Run: "run-1", Commit: "version 0"}, 1},
		{"neither is promised", 2, 0, abi.ClassNamed, abi.OutcomeDone, abi.Mark{Epoch: 2, Run: "run-2", Commit: "version 1"}, 2},
	} {
		l := newLake(t)
		l.append("a")
		answer, err := l.run(write{batch: l.batch("a", c.epoch, c.after, c.class)})
		if err != nil || answer.Outcome != c.want || answer.Mark != c.mark || len(l.live()) != c.live {
			t.Errorf("%s: %+v %v, %d files", c.what, answer, err, len(l.live()))
		}
	}
}

// The keys of dead runs are looked for and carried too: an output may have got another name.
func TestOtherKeys(t *testing.T) {
	l := newLake(t)
	l.append("old name")
	w := write{batch: l.batch("new name", 2, 0, abi.ClassOnce)}
	w.batch.OtherKeys = []string{"ubunye/p/t/out/old name"}
	if answer, err := l.run(w); err != nil || answer.Outcome != abi.OutcomeFound || answer.Mark.Run != "run-1" {
		t.Errorf("%+v %v", answer, err)
	}
	w.batch.Class = abi.ClassReplaces
	w.out.Mode = modeOverwrite
	l.must(w)
	if got := text(l.actions(1)["txn"]); strings.Count(got, `"version":2`) != 2 || !strings.Contains(got, "old name") {
		t.Error(got)
	}
}

// TestC006: a day that is written after a later one is written.
func TestC006LateDay(t *testing.T) {
	l := newLake(t)
	l.append("2026-01-05")
	l.append("2026-01-03")
	if len(l.live()) != 2 {
		t.Errorf("%q", l.live())
	}
}

// TestR75: what others append meanwhile is there with ours, and nothing is lost.
func TestR75AppendBesideOthers(t *testing.T) {
	l := newLake(t)
	l.append("a")
	lost := 0
	l.Before = func(op abi.Operation, path string) {
		if op == abi.OpPutNew && lost < 3 {
			lost++
			l.foreign(fmt.Sprintf(`{"add":{"path":"theirs-%d.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`, lost))
		}
	}
	answer, err := l.run(write{batch: l.batch("b", 1, 0, abi.ClassOnce)})
	if err != nil || answer.Mark.Commit != "version 4" {
		t.Errorf("%+v %v", answer, err)
	}
	if got := strings.Join(l.live(), " "); got != "part-1.parquet part-2.parquet theirs-1.parquet theirs-2.parquet theirs-3.parquet" {
		t.Error(got)
	}
}

// TestC018 and R74: an answer that was lost is read back.
func TestC018LostAnswer(t *testing.T) {
	first := deltalog.CommitPath(1)
	theirs := `{"add":{"path":"theirs.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`
	for _, c := range []struct {
		what   string
		lose   abi.PutOutcome
		before func(l *lake)
		fail   bool
		want   abi.CommitOutcome
		commit string
		live   int
	}{
		{"it was made", abi.PutUnknown, nil, false, abi.OutcomeDone, "version 1", 2},
		{"it was not made", sdktest.PutLost, nil, false, abi.OutcomeDone, "version 1", 2},
		{"another was faster", sdktest.PutLost, func(l *lake) { l.foreign(theirs) }, false, abi.OutcomeDone, "version 2", 3},
		{"it was made, and the log cannot be read", abi.PutUnknown, nil, true, abi.OutcomeUnknown, "", 2},
	} {
		l := newLake(t)
		l.append("a")
		failing := false
		l.Fail = func(op abi.Operation) *abi.Failure {
			if failing && op == abi.OpGet {
				return &abi.Failure{Code: abi.CodeNotRead, Message: "the disk is away"}
			}
			return nil
		}
		w := write{batch: l.batch("b", 1, 0, abi.ClassOnce)}
		answer, err := l.stage(&w)
		if err != nil {
			t.Fatal(err)
		}
		made := false
		l.Before = func(op abi.Operation, path string) {
			if path == first && !made {
				if made = true; c.before != nil {
					c.before(l)
				}
				failing = c.fail
			}
		}
		w.lose = map[string]abi.PutOutcome{first: c.lose}
		got, err := l.commit(w, answer)
		failing = false
		if err != nil || got.Outcome != c.want || got.Mark.Commit != c.commit || len(l.live()) != c.live {
			t.Errorf("%s: %+v %v, %q", c.what, got, err, l.live())
		}
	}
}

// TestC085: a look-up that fails is neither "not there" nor "there".
func TestC085FailingLookUp(t *testing.T) {
	l := newLake(t)
	l.append("a")
	before := len(l.Target)
	w := write{batch: l.batch("b", 1, 0, abi.ClassOnce)}
	answer, err := l.stage(&w)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []abi.Operation{abi.OpList, abi.OpGet} {
		n := 0
		l.Fail = func(asked abi.Operation) *abi.Failure {
			if n++; asked == op && (op == abi.OpList || n > 2) { // the hint may be missing
				return &abi.Failure{Code: abi.CodeNotRead, Message: "the disk is away"}
			}
			return nil
		}
		got, err := l.commit(w, answer)
		if err != nil || got.Outcome != abi.OutcomeNotDone || got.Message != "the disk is away" {
			t.Errorf("%s: %+v %v", op, got, err)
		}
		l.Fail = func(asked abi.Operation) *abi.Failure {
			if asked == op {
				return &abi.Failure{Code: abi.CodeNotRead, Message: "the disk is away"}
			}
			return nil
		}
		if _, err := l.stage(&w); err == nil || !strings.Contains(err.Error(), "the disk is away") {
			t.Errorf("%s: plan says %v", op, err)
		}
	}
	if len(l.Target) != before {
		t.Errorf("%q", l.Target.Names())
	}
}

// What certainly was not made is not done, and what nobody knows is not taken for it.
func TestPutThatFails(t *testing.T) {
	for code, want := range map[string]abi.CommitOutcome{abi.CodeNotPut: abi.OutcomeNotDone, abi.CodeFailed: abi.OutcomeUnknown} {
		l := newLake(t)
		l.append("a")
		l.Fail = func(op abi.Operation) *abi.Failure {
			if op == abi.OpPutNew {
				return &abi.Failure{Code: code, Message: "no room"}
			}
			return nil
		}
		if got, err := l.run(write{batch: l.batch("b", 1, 0, abi.ClassOnce)}); err != nil || got.Outcome != want || len(l.live()) != 1 {
			t.Errorf("%s: %+v %v", code, got, err)
		}
	}
}

func TestTableThatChanges(t *testing.T) {
	meta := func(l *lake, with string) string {
		line := ""
		for one := range strings.Lines(l.Target.Read(deltalog.CommitPath(0))) {
			if strings.HasPrefix(one, `{"metaData"`) {
				line = one
			}
		}
		return strings.TrimSpace(strings.Replace(line, `"configuration":{}`, `"configuration":{`+with+`}`, 1))
	}
	for _, c := range []struct {
		what   string
		before func(l *lake)
		want   string
	}{
		{"a property", func(l *lake) { l.foreign(meta(l, `"delta.appendOnly":"true"`)) }, "another writer has changed the table's columns or properties"},
		{"a protocol", func(l *lake) { l.foreign(`{"protocol":{"minReaderVersion":1,"minWriterVersion":3}}`) }, "another writer has changed the table's columns or properties"},
		{"a protocol that we do not have", func(l *lake) {
			l.foreign(`{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["glitter"]}}`)
		}, "needs the Delta feature glitter"},
		{"the table went", func(l *lake) { clear(l.Target) }, "the table is gone"},
	} {
		l := newLake(t)
		l.append("a")
		w := write{batch: l.batch("b", 1, 0, abi.ClassOnce), between: func() { c.before(l) }}
		got, err := l.run(w)
		if err != nil || got.Outcome != abi.OutcomeNotDone || !strings.Contains(got.Message, c.want) || got.Hint == "" {
			t.Errorf("%s: %+v %v", c.what, got, err)
		}
	}
}

// Two that make a table at once: the second one's files are in the first one's table, if it is the same.
func TestTwoMakeTheTable(t *testing.T) {
	for _, other := range [][]abi.Column{idAndV, columns("id", "BIGINT", "v", "BIGINT")} {
		l := newLake(t)
		mine := write{batch: l.batch("b", 1, 0, abi.ClassOnce), files: []abi.StagedFile{staged("mine.parquet", 1, nil)}}
		answer, err := l.stage(&mine)
		if err != nil {
			t.Fatal(err)
		}
		l.must(write{batch: l.batch("a", 1, 0, abi.ClassOnce), columns: other, files: []abi.StagedFile{staged("theirs.parquet", 1, nil)}})
		got, err := l.commit(mine, answer)
		want, live := abi.OutcomeDone, "mine.parquet theirs.parquet"
		if other[1].Type != "VARCHAR" {
			want, live = abi.OutcomeNotDone, "theirs.parquet"
		}
		if err != nil || got.Outcome != want || strings.Join(l.live(), " ") != live {
			t.Errorf("%+v %v %q", got, err, l.live())
		}
	}
}

func TestOwnApplicationID(t *testing.T) {
	l := newLake(t)
	w := write{batch: l.batch("a", 1, 0, abi.ClassNamed)}
	w.out.Options = map[string]string{optAppID: "nightly", optAppVersion: "7"}
	l.must(w)
	if got := text(l.actions(0)["txn"]); !strings.Contains(got, `"appId":"nightly"`) || !strings.Contains(got, `"version":7`) || strings.Contains(got, "ubunye/") {
		t.Error(got)
	}
	for _, version := range []string{"7", "8"} {
		want := map[string]abi.CommitOutcome{"7": abi.OutcomeNotDone, "8": abi.OutcomeDone}[version]
		w := write{batch: l.batch("b", 1, 0, abi.ClassNamed), out: abi.Output{Options: map[string]string{optAppID: "nightly", optAppVersion: version}}}
		if got, err := l.run(w); err != nil || got.Outcome != want {
			t.Errorf("%s: %+v %v", version, got, err)
		}
	}
	d := Writer{}.Describe()
	for _, m := range d.Modes {
		if class, ok := d.Class(m.Name, w.out.Options); !ok || class != abi.ClassNamed {
			t.Errorf("%s is %s", m.Name, class)
		}
	}
}

func TestCheckpointEveryTenCommits(t *testing.T) {
	l := newLake(t)
	for i := range 21 {
		l.append(fmt.Sprint(i))
	}
	var made []string
	for _, name := range l.Target.Names() {
		if strings.Contains(name, "checkpoint") {
			made = append(made, name)
		}
	}
	if got := strings.Join(made, " "); got != "_delta_log/00000000000000000010.checkpoint.parquet _delta_log/00000000000000000020.checkpoint.parquet _delta_log/_last_checkpoint" {
		t.Error(got)
	}
	hint := l.Target.Read(deltalog.LastCheckpointPath)
	size := len(l.Target.Read(deltalog.CheckpointPath(20)))
	if want := fmt.Sprintf(`{"version":20,"size":44,"sizeInBytes":%d,"numOfAddFiles":21}`, size); hint != want {
		t.Errorf("%s, want %s", hint, want)
	}
	// What goes wrong with a checkpoint does not undo the commit that it follows.
	l.Fail = func(op abi.Operation) *abi.Failure {
		if op == abi.OpRowsClose {
			return &abi.Failure{Code: abi.CodeNotPut, Message: "no room"}
		}
		return nil
	}
	for i := range 9 {
		l.append(fmt.Sprint("more ", i))
	}
	l.Fail = func(op abi.Operation) *abi.Failure {
		if op == abi.OpRowsCreate {
			return &abi.Failure{Code: abi.CodeNotPut, Message: "no room"}
		}
		return nil
	}
	l.Logged = nil
	l.append("thirty")
	if len(l.live()) != 31 || !strings.Contains(strings.Join(l.Logged, "\n"), "no checkpoint was made of version 30") {
		t.Errorf("%d files; %q", len(l.live()), l.Logged)
	}
}

// A file without rows is in no commit; the batch is.
func TestC081EmptyResult(t *testing.T) {
	l := newLake(t)
	l.append("a")
	l.append("b", staged("empty.parquet", 0, nil))
	if got := kinds(l.actions(1)); got != "commitInfo 1, txn 1" {
		t.Error(got)
	}
	l.must(write{out: abi.Output{Mode: modeOverwrite}, batch: l.batch("c", 1, 0, abi.ClassReplaces), files: []abi.StagedFile{staged("none.parquet", 0, nil)}})
	if got := l.live(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestStateThatCannotBeRead(t *testing.T) {
	_, err := Writer{}.Commit(newLake(t), abi.CommitRequest{State: abi.JSON(`{"version":`), Time: "2026-01-01T00:00:00Z"})
	if err == nil {
		t.Error("it was read")
	}
	var f *abi.Failure
	if errors.As(err, &f) {
		t.Errorf("%v", err)
	}
}

// A table whose commits hold their time gets one that is later than the last.
func TestCommitsThatHoldTheirTime(t *testing.T) {
	l := logged(t, `{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["inCommitTimestamp"]}`, `"delta.enableInCommitTimestamps":"true"`, twoFields, "")
	l.foreign(`{"commitInfo":{"inCommitTimestamp":1900000000000}}`)
	l.append("a")
	first := strings.SplitN(l.Target.Read(deltalog.CommitPath(2)), "\n", 2)[0]
	if !strings.HasPrefix(first, `{"commitInfo":{"inCommitTimestamp":1900000000001,`) {
		t.Error(first)
	}
}
