package deltalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

func str(s string) *string { return &s }

func num(n int64) *int64 { return &n }

func TestEncode(t *testing.T) {
	info := deltalog.Provenance{
		ID: "id-1", Timestamp: 5, Operation: "WRITE", Parameters: []deltalog.Pair{{Name: "mode", Value: str("Append")}}, ReadVersion: num(3), BlindAppend: true,
		Engine: "ubunye/1", More: []deltalog.Pair{{Name: "range", Value: str("1..2")}}, OwnTime: num(6),
	}.Info()
	c := deltalog.Commit{Version: 4, Actions: []deltalog.Action{
		{Add: &deltalog.Add{Path: "p=a%20b/x.parquet", Partition: []deltalog.Pair{{Name: "p", Value: str("a b")}, {Name: "q"}}, Size: 9007199254740993, ModificationTime: 7, DataChange: true, Stats: `{"numRecords":1}`}},
		{Remove: (&deltalog.Add{Path: "old", Size: 3, DeletionVector: &deltalog.DeletionVector{Storage: "i", Path: "x", Size: 1, Cardinality: 2}}).Remove(8, true)},
		{Txn: &deltalog.Txn{AppID: "a\"b", Version: 9, LastUpdated: num(5)}},
		{Protocol: &deltalog.Protocol{MinReader: 1, MinWriter: 2, ReaderFeatures: []string{"not listed"}}},
		{Protocol: nil, Metadata: &deltalog.Metadata{ID: "m", Provider: "parquet", SchemaString: "{}", PartitionColumns: []string{"p", "q"}, Configuration: []deltalog.Pair{{Name: "k", Value: str("v")}}, CreatedTime: num(1)}},
		{CommitInfo: info},
	}}
	got, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"commitInfo":{"inCommitTimestamp":6,"timestamp":5,"operation":"WRITE","operationParameters":{"mode":"Append"},"readVersion":3,"isBlindAppend":true,"engineInfo":"ubunye/1","txnId":"id-1","range":"1..2"}}
{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"{}","partitionColumns":["p","q"],"createdTime":1,"configuration":{"k":"v"}}}
{"txn":{"appId":"a\"b","version":9,"lastUpdated":5}}
{"remove":{"path":"old","deletionTimestamp":8,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{},"size":3,"deletionVector":{"storageType":"i","pathOrInlineDv":"x","sizeInBytes":1,"cardinality":2}}}
{"add":{"path":"p=a%20b/x.parquet","partitionValues":{"p":"a b","q":null},"size":9007199254740993,"modificationTime":7,"dataChange":true,"stats":"{\"numRecords\":1}"}}
`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	m := commits(protocol12+metaID, string(got))
	back, err := deltalog.ReadCommit(context.Background(), m, 1)
	if err != nil {
		t.Fatal(err)
	}
	if back.ID() != "id-1" || back.Info().CommitText("range") != "1..2" || *back.Info().InCommitTimestamp != 6 || len(back.Actions) != 6 || back.Info().CommitText("timestamp") != "" {
		t.Errorf("%+v", back)
	}
	if again, err := back.Encode(); err != nil || string(again) != want {
		t.Errorf("%s, %v", again, err)
	}
	if _, err := deltalog.ReadCommit(context.Background(), m, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestACommitSaysOneThingAboutAFile(t *testing.T) {
	a := &deltalog.Add{Path: "a%2Db"}
	for _, actions := range [][]deltalog.Action{
		{{Add: a}, {Add: &deltalog.Add{Path: "a-b"}}},
		{{Add: a}, {Remove: a.Remove(1, true)}},
		{{Txn: &deltalog.Txn{AppID: "x"}}, {Txn: &deltalog.Txn{AppID: "x", Version: 2}}},
		{{Metadata: &deltalog.Metadata{}}, {Metadata: &deltalog.Metadata{}}},
		{{}},
		{{Add: &deltalog.Add{Path: "%"}}},
	} {
		c := deltalog.Commit{Actions: actions}
		if got, err := c.Encode(); err == nil {
			t.Errorf("%s is taken", got)
		}
	}
	vector := &deltalog.DeletionVector{Storage: "i", Path: "x"}
	c := deltalog.Commit{Actions: []deltalog.Action{{Add: &deltalog.Add{Path: "a", DeletionVector: vector}}, {Remove: (&deltalog.Add{Path: "a"}).Remove(1, true)}}}
	if _, err := c.Encode(); err != nil {
		t.Error(err)
	}
}

// What we do not know of an action is carried on with it.
func TestUnknownMembersAreKept(t *testing.T) {
	for _, line := range []string{
		`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[],"future":[1.50]}}`,
		`{"metaData":{"id":"m","format":{"provider":"parquet","options":{}},"schemaString":"","partitionColumns":[],"configuration":{},"future":{"a":9007199254740993}}}`,
		`{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"tags":{"k":null},"deletionVector":{"storageType":"i","pathOrInlineDv":"x","offset":1,"sizeInBytes":1,"cardinality":1,"maxRowIndex":5},"baseRowId":1,"defaultRowCommitVersion":2,"clusteringProvider":"c","future":1e400}}`,
		`{"remove":{"path":"a","dataChange":false,"extendedFileMetadata":false,"tags":{},"future":"x"}}`,
	} {
		a, err := deltalog.ParseAction([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		c := deltalog.Commit{Actions: []deltalog.Action{a}}
		got, err := c.Encode()
		if err != nil || string(got) != line+"\n" {
			t.Errorf("%s, %v; want %s", got, err, line)
		}
	}
}

func TestCommitTime(t *testing.T) {
	before := &deltalog.CommitInfo{InCommitTimestamp: num(100)}
	for now, want := range map[int64]int64{99: 101, 100: 101, 101: 101, 102: 102} {
		if got := deltalog.CommitTime(now, before); got != want {
			t.Errorf("%d: %d, want %d", now, got, want)
		}
	}
	if deltalog.CommitTime(7, nil) != 7 || deltalog.CommitTime(7, &deltalog.CommitInfo{}) != 7 {
		t.Error("without a commit before it is now")
	}
}

func TestConflicts(t *testing.T) {
	inSlice := func(a *deltalog.Add) bool { v, _ := a.PartitionText("dt"); return v == "1" }
	file := func(kind, path, dt string) string {
		return fmt.Sprintf(`{%q:{"path":%q,"partitionValues":{"dt":%q},"size":1,"modificationTime":1,"dataChange":true}}`, kind, path, dt)
	}
	mine := map[string]bool{"mine 1": true}
	attempts := map[string]deltalog.Attempt{
		"append":    {AppID: "app", Appends: true},
		"overwrite": {AppID: "app", Removes: mine},
		"replace":   {AppID: "app", Removes: mine, Touches: inSlice},
		"merge":     {AppID: "app", Removes: mine, Touches: inSlice, Copies: true},
	}
	const clear, refile, redo, stop = deltalog.Clear, deltalog.Refile, deltalog.Redo, deltalog.Stop
	for name, c := range map[string]struct {
		commit  string
		cause   deltalog.Cause // of the last attempt
		verdict map[string]deltalog.Verdict
	}{
		"nothing of ours": {`{"commitInfo":{}}` + "\n" + file("add", "x", "2") + "\n" + file("remove", "y", "1") + "\n" + `{"txn":{"appId":"other","version":1}}`, deltalog.CauseNone,
			map[string]deltalog.Verdict{"append": clear, "overwrite": refile, "replace": clear, "merge": clear}},
		"a file in the slice": {file("add", "x", "1"), deltalog.CauseAdded,
			map[string]deltalog.Verdict{"append": clear, "overwrite": refile, "replace": refile, "merge": redo}},
		"our file went": {file("remove", "mine%201", "1"), deltalog.CauseRemoved,
			map[string]deltalog.Verdict{"append": clear, "overwrite": refile, "replace": refile, "merge": redo}},
		"the schema": {file("add", "x", "1") + "\n" + strings.TrimSpace(metaID), deltalog.CauseMetadata,
			map[string]deltalog.Verdict{"append": stop, "overwrite": stop, "replace": stop, "merge": stop}},
		"the protocol": {strings.TrimSpace(protocol12), deltalog.CauseProtocol,
			map[string]deltalog.Verdict{"append": stop, "overwrite": stop, "replace": stop, "merge": stop}},
		"the same batch": {`{"txn":{"appId":"app","version":1}}`, deltalog.CauseTransaction,
			map[string]deltalog.Verdict{"append": stop, "overwrite": stop, "replace": stop, "merge": stop}},
	} {
		commit, err := deltalog.ReadCommit(context.Background(), commits(c.commit), 0)
		if err != nil {
			t.Fatal(err)
		}
		for kind, attempt := range attempts {
			got, err := attempt.Check(commit)
			if err != nil || got.Verdict != c.verdict[kind] {
				t.Errorf("%s, %s: %+v, %v; want %d", name, kind, got, err, c.verdict[kind])
			}
			if kind == "merge" && got.Cause != c.cause {
				t.Errorf("%s: cause %d, want %d", name, got.Cause, c.cause)
			}
			if (got.Cause == deltalog.CauseAdded || got.Cause == deltalog.CauseRemoved) && got.Path == "" {
				t.Errorf("%s, %s: the file is not named", name, kind)
			}
		}
	}
	overwrite := attempts["overwrite"]
	damaged, err := deltalog.ReadCommit(context.Background(), commits(`{"remove":{"path":"%"}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := overwrite.Check(damaged); err == nil {
		t.Errorf("%+v", got)
	}
}

// Whatever a line is, it is a mistake, or what is read of it is the same after it was written.
func FuzzParseAction(f *testing.F) {
	for _, line := range []string{strings.TrimSpace(protocol12), strings.TrimSpace(metaID), strings.TrimSpace(add("a%20b")), strings.TrimSpace(remove("a")),
		`{"add":{"path":"a","deletionVector":{"storageType":"u","offset":1}}}`, `{"txn":{"appId":"x","version":1}}`, `{"commitInfo":{"a":[{}]}}`, `{"x":null,"add":null}`,
		`{"sidecar":{"path":"x"}}`, `{"cdc":{}}`, `{"domainMetadata":{"domain":"a"}}`, `{`, `[]`, `{"add":1}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := deltalog.ParseAction(line)
		if valid := json.Valid(line); err == nil && !valid {
			t.Fatalf("%q is no JSON", line)
		}
		if err != nil {
			return
		}
		c := deltalog.Commit{Actions: []deltalog.Action{a}}
		first, err := c.Encode()
		if err != nil {
			return
		}
		again, err := deltalog.ParseAction(first)
		if err != nil {
			t.Fatalf("%q was written as %s: %v", line, first, err)
		}
		c.Actions[0] = again
		if second, err := c.Encode(); err != nil || string(second) != string(first) {
			t.Fatalf("%q was written as %s, then as %s: %v", line, first, second, err)
		}
	})
}
