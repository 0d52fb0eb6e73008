package deltalog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

const (
	protocol12 = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n"
	metaID     = `{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}` + "\n"
)

func add(path string) string {
	return `{"add":{"path":"` + path + `","partitionValues":{},"size":9007199254740993,"modificationTime":1,"dataChange":true}}` + "\n"
}

func remove(path string) string {
	return `{"remove":{"path":"` + path + `","deletionTimestamp":1,"dataChange":true}}` + "\n"
}

func commitName(v int64) string { return fmt.Sprintf("%020d.json", v) }

// commits makes a log of commits from version 0 on.
func commits(contents ...string) *memory {
	m := &memory{files: map[string]string{}, times: map[string]int64{}, fail: map[string]error{}, unlisted: map[string]bool{}}
	for v, text := range contents {
		m.files[commitName(int64(v))] = text
		m.times[commitName(int64(v))] = int64(1000 * (v + 1))
	}
	return m
}

func paths(t *testing.T, m *memory, at deltalog.At) []string {
	t.Helper()
	s, err := deltalog.Open(context.Background(), m, at)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range liveFiles(t, s) {
		all = append(all, a.Path)
	}
	slices.Sort(all)
	return all
}

func wantPaths(t *testing.T, m *memory, at deltalog.At, want ...string) {
	t.Helper()
	if got := paths(t, m, at); !slices.Equal(got, want) {
		t.Errorf("live files %q, want %q", got, want)
	}
}

func version(v int64) deltalog.At { return deltalog.At{Version: &v} }

func TestAHoleIsAnErrorThatNamesItsVersion(t *testing.T) {
	m := commits(protocol12+metaID+add("a"), add("b"), add("c"), add("d"))
	delete(m.files, commitName(2))
	_, err := deltalog.Open(context.Background(), m, deltalog.At{})
	var hole *deltalog.HoleError
	if !errors.As(err, &hole) || *hole != (deltalog.HoleError{Version: 2, Until: 3}) {
		t.Fatalf("error %v", err)
	}
	wantPaths(t, m, version(1), "a", "b")
	m = commits("", add("b"))
	delete(m.files, commitName(0))
	if _, err := deltalog.Open(context.Background(), m, deltalog.At{}); !errors.As(err, &hole) || hole.Version != 0 {
		t.Fatalf("error %v", err)
	}
}

// A list is not of one moment: it may show version 2 and not version 1, which is there.
func TestAListThatMissedACommitIsNoHole(t *testing.T) {
	m := commits(protocol12+metaID+add("a"), add("b"), add("c"))
	m.unlisted[commitName(1)] = true
	wantPaths(t, m, deltalog.At{}, "a", "b", "c")
}

// Another writer makes a checkpoint and removes old commits between the list and the reading.
func TestCommitsThatAreCleanedUpMeanwhile(t *testing.T) {
	m := commits(protocol12+metaID+add("a"), add("b"), add("c"))
	m.onList = func() {
		m.onList = nil
		for v := range int64(3) {
			delete(m.files, commitName(v))
		}
		m.files[checkpointName(2)] = protocol12 + metaID + add("a") + add("b") + add("c")
	}
	wantPaths(t, m, deltalog.At{}, "a", "b", "c")
}

func checkpointName(v int64) string { return fmt.Sprintf("%020d.checkpoint.parquet", v) }

func TestTheNewestWholeCheckpointIsRead(t *testing.T) {
	part := func(v int64, of, parts int) string {
		return fmt.Sprintf("%020d.checkpoint.%010d.%010d.parquet", v, of, parts)
	}
	m := commits("damaged", "damaged", "damaged", add("c"), remove("a"), add("d"))
	m.files[part(2, 1, 2)] = protocol12 + add("a")
	m.files[part(2, 2, 2)] = metaID + add("b")
	m.files[part(4, 1, 2)] = "one part of two is missing"
	m.files[part(4, 1, 1)+".tmp"] = "no checkpoint"
	m.files[fmt.Sprintf("%020d.checkpoint.parquet", 5)] = "" // a writer died
	wantPaths(t, m, deltalog.At{}, "b", "c", "d")
	wantPaths(t, m, version(3), "a", "b", "c")
	if slices.Contains(m.gets, commitName(2)) {
		t.Errorf("commits of the checkpoint are read: %q", m.gets)
	}
	if _, err := deltalog.Open(context.Background(), m, version(1)); err == nil || !strings.Contains(err.Error(), commitName(1)) {
		t.Errorf("error %v", err)
	}
}

func TestTheHintIsAHintOnly(t *testing.T) {
	for name, hint := range map[string]string{
		"damaged":     `{"version":2,"si`,
		"no version":  `{"size":1}`,
		"negative":    `{"version":-1}`,
		"too new":     `{"version":7,"size":1}`,
		"of nothing":  `{"version":1,"size":1}`,
		"no integer":  `{"version":2.0}`,
		"right":       `{"version":2,"size":4,"checksum":"x"}`,
		"old":         `{"version":0}`,
		"not JSON":    "\x00\x00",
		"empty":       "",
		"a directory": "fails",
	} {
		m := commits(protocol12+metaID+add("a"), add("b"), remove("a"), add("c"))
		m.files[checkpointName(2)] = protocol12 + metaID + add("b")
		m.files["_last_checkpoint"] = hint
		if hint == "fails" {
			m.fail["_last_checkpoint"] = errors.New("is a directory")
		}
		if got := paths(t, m, deltalog.At{}); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("%s: %q", name, got)
		}
		if got := paths(t, m, version(1)); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: version 1: %q", name, got)
		}
	}
	// With a good hint nothing before it is asked for.
	m := commits("damaged", "damaged", "damaged", add("c"))
	m.files[checkpointName(2)] = protocol12 + metaID + add("b")
	m.files["_last_checkpoint"] = `{"version":2,"size":3}`
	wantPaths(t, m, deltalog.At{}, "b", "c")
	if m.lists != 1 {
		t.Errorf("%d lists", m.lists)
	}
}

func TestI7_WhatCannotBeReadIsNotTakenForAbsent(t *testing.T) {
	refused := errors.New("permission denied")
	m := commits(protocol12+metaID+add("a"), add("b"))
	m.fail[commitName(1)] = refused
	if _, err := deltalog.Open(context.Background(), m, deltalog.At{}); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	m.fail = map[string]error{checkpointName(1): refused}
	m.files[checkpointName(1)] = protocol12 + metaID + add("a")
	if _, err := deltalog.Open(context.Background(), m, deltalog.At{}); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
}

// nowhere is a folder without a log.
type nowhere struct{ *memory }

func (nowhere) List(context.Context, string, string) ([]deltalog.Entry, error) {
	return nil, fs.ErrNotExist
}

func TestNoTable(t *testing.T) {
	for _, m := range []*memory{commits(), {files: map[string]string{"x.json": "{}", "_commits": "", "0.json": "{}"}}} {
		if _, err := deltalog.Open(context.Background(), m, deltalog.At{}); !errors.Is(err, deltalog.ErrNotTable) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := deltalog.Open(context.Background(), nowhere{commits()}, deltalog.At{}); !errors.Is(err, deltalog.ErrNotTable) {
		t.Errorf("error %v", err)
	}
}

// A log of which only a part is left is no place for a new table.
func TestI7_TheRestOfALogIsNotTakenForNone(t *testing.T) {
	for _, name := range []string{"00000000000000000007.crc", "00000000000000000007.checkpoint.0000000001.0000000002.parquet", checkpointName(7), "00000000000000000001.00000000000000000002.compacted.json"} {
		m := commits()
		m.files[name] = ""
		var damaged *deltalog.DamagedError
		if _, err := deltalog.Open(context.Background(), m, deltalog.At{}); !errors.As(err, &damaged) || damaged.File != "_delta_log/"+name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADamagedLineIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"add":{"path":"b"}`:                                 "_delta_log/00000000000000000001.json, line 2: the JSON ends early",
		`{"add":{"path":"b","size":1.5,"dataChange":true}}`:   "_delta_log/00000000000000000001.json, line 2: not an integer of 64 bits: 1.5 at byte 29",
		`{"add":{"size":1}}`:                                  "_delta_log/00000000000000000001.json, line 2: the add has no path at byte 17",
		`{"remove":{"path":"%zz"}}`:                           `_delta_log/00000000000000000001.json, line 2: the path "%zz" has a % that encodes nothing`,
		`{"txn":{"appId":"a","version":9223372036854775808}}`: "_delta_log/00000000000000000001.json, line 2: not an integer of 64 bits: 9223372036854775808 at byte 49",
		`[]`: "_delta_log/00000000000000000001.json, line 2: the JSON has no { at byte 0",
	} {
		m := commits(protocol12+metaID+add("a"), `{"commitInfo":{}}`+"\n"+text+"\n")
		s, err := deltalog.Open(context.Background(), m, deltalog.At{})
		if err == nil {
			for _, err = range s.Files(context.Background()) {
				if err != nil {
					break
				}
			}
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var damaged *deltalog.DamagedError
	if _, err := deltalog.Open(context.Background(), commits(protocol12+metaID, ""), deltalog.At{}); !errors.As(err, &damaged) || damaged.File != "_delta_log/"+commitName(1) {
		t.Errorf("an empty commit: %v", err)
	}
}

// What is not known is ignored, and a file's path is the same however it is written.
func TestReplay(t *testing.T) {
	m := commits(
		`{"commitInfo":["free"]}`+"\n"+`{"commitInfo":{"operation":"x","isBlindAppend":"maybe","deep":[{"a":1e999}]}}`+"\n"+protocol12+metaID+add("/x/with%20space")+add("b%2Dc")+add("d"),
		`{"fromTheFuture":{"path":"d"}}`+"\n\n"+remove("file:/x/with%20space")+remove("b-c")+`{"cdc":{"path":"d","size":1,"dataChange":false}}`+"\n",
		remove("d")+add("d"),
		add("e")+remove("e"),
	)
	wantPaths(t, m, deltalog.At{}, "d")
	s, _ := deltalog.Open(context.Background(), m, deltalog.At{})
	if size := liveFiles(t, s)[0].Size; size != 9007199254740993 {
		t.Errorf("size %d", size)
	}
	wantPaths(t, m, version(1), "d")
	wantPaths(t, m, version(0), "/x/with%20space", "b%2Dc", "d")
}

// One data file with another deletion vector is another file.
func TestReplayKnowsFilesByTheirDeletionVectors(t *testing.T) {
	vector := func(action, id string, offset string) string {
		return `{"` + action + `":{"path":"a","size":1,"modificationTime":1,"dataChange":true,"deletionVector":{"storageType":"i","pathOrInlineDv":"` + id + `"` + offset + `,"sizeInBytes":1,"cardinality":1}}}` + "\n"
	}
	m := commits(protocol12+metaID+add("a"), vector("add", "x", "")+remove("a"), vector("add", "x", `,"offset":1`)+vector("remove", "x", ""))
	s, err := deltalog.Open(context.Background(), m, deltalog.At{})
	if err != nil {
		t.Fatal(err)
	}
	files := liveFiles(t, s)
	if len(files) != 1 || files[0].DeletionVector == nil || files[0].DeletionVector.Offset == nil {
		t.Errorf("%+v", files)
	}
}

func TestSidecars(t *testing.T) {
	m := commits("damaged", "damaged", "damaged", remove("b"))
	id := "00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11"
	text := `{"checkpointMetadata":{"version":2}}` + "\n" + protocol12 + metaID + `{"txn":{"appId":"x","version":5}}` + "\n" +
		`{"sidecar":{"path":"a.parquet","sizeInBytes":1,"modificationTime":1}}` + "\n" + `{"sidecar":{"path":"file:/elsewhere/b.parquet","sizeInBytes":1,"modificationTime":1}}` + "\n"
	m.files["_sidecars/a.parquet"] = add("a")
	m.files["_sidecars/b.parquet"] = add("b") + add("c")
	for _, name := range []string{id + ".json", id + ".parquet", checkpointName(2)} {
		m.files[name] = text
		wantPaths(t, m, deltalog.At{}, "a", "c")
		s, _ := deltalog.Open(context.Background(), m, deltalog.At{})
		if txn, err := s.Txn(context.Background(), "x"); err != nil || txn == nil || txn.Version != 5 {
			t.Errorf("%s: %+v, %v", name, txn, err)
		}
		delete(m.files, name)
	}
	m.files[id+".json"] = text
	delete(m.files, "_sidecars/b.parquet")
	s, err := deltalog.Open(context.Background(), m, deltalog.At{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range s.Files(context.Background()) {
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a sidecar is missing: %v", err)
	}
}

// An append needs no more of a checkpoint than this.
func TestOpeningReadsNoFilesOfTheCheckpoint(t *testing.T) {
	m := commits("damaged", "damaged", "damaged", `{"txn":{"appId":"mine","version":3}}`+"\n"+add("c"))
	m.files[checkpointName(2)] = protocol12 + metaID + `{"txn":{"appId":"mine","version":1}}` + "\n" + `{"txn":{"appId":"theirs","version":9007199254740993}}` + "\n" + `{"add":"damaged"}`
	s, err := deltalog.Open(context.Background(), m, deltalog.At{})
	if err != nil {
		t.Fatal(err)
	}
	for app, want := range map[string]int64{"mine": 3, "theirs": 9007199254740993} {
		if txn, err := s.Txn(context.Background(), app); err != nil || txn == nil || txn.Version != want {
			t.Errorf("%s: %+v, %v", app, txn, err)
		}
	}
	if txn, err := s.Txn(context.Background(), "nobody"); txn != nil || err != nil {
		t.Errorf("%+v, %v", txn, err)
	}
}

func TestVersions(t *testing.T) {
	m := commits(protocol12+metaID+add("a"), add("b"), add("c"))
	for _, v := range []int64{-1, 3} {
		var err *deltalog.VersionError
		if _, got := deltalog.Open(context.Background(), m, version(v)); !errors.As(got, &err) || err.Oldest != 0 || err.Newest != 2 {
			t.Errorf("version %d: %v", v, got)
		}
	}
	m.files[checkpointName(1)] = protocol12 + metaID + add("a") + add("b")
	m.files["_last_checkpoint"] = `{"version":1}`
	delete(m.files, commitName(0))
	delete(m.files, commitName(1))
	_, err := deltalog.Open(context.Background(), m, version(0))
	if want := "the table has no version 0: its log reaches from version 1 to 2"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	wantPaths(t, m, version(1), "a", "b")
	if _, err := deltalog.Open(context.Background(), m, version(9)); err == nil || !strings.Contains(err.Error(), "from version 1 to 2") {
		t.Errorf("error %v", err)
	}
}

func at(millis int64) deltalog.At { return deltalog.At{Time: time.UnixMilli(millis)} }

func TestTimesOfFiles(t *testing.T) {
	m := commits(protocol12+metaID+add("a"), add("b"), add("c"), add("d"))
	m.times[commitName(2)] = 1500 // the clock was set back after version 1, of 2000
	for millis, want := range map[int64]int64{1000: 0, 1999: 0, 2000: 1, 2001: 2, 3999: 2, 4000: 3, 1 << 40: 3} {
		s, err := deltalog.Open(context.Background(), m, at(millis))
		if err != nil || s.Version != want {
			t.Errorf("at %d: %+v, %v; want %d", millis, s, err, want)
		}
	}
	_, err := deltalog.Open(context.Background(), m, at(999))
	if want := "the table has no version of 1970-01-01T00:00:00Z or before: its log reaches from version 0 to 3"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

// Since version 2 each commit holds its own time; the files' times tell nothing then.
func TestTimesOfCommits(t *testing.T) {
	own := func(millis int64) string { return fmt.Sprintf(`{"commitInfo":{"inCommitTimestamp":%d}}`+"\n", millis) }
	with := func(properties string) string {
		return strings.Replace(metaID, `"configuration":{}`, `"configuration":{"delta.enableInCommitTimestamps":"true"`+properties+`}`, 1)
	}
	since := `,"delta.inCommitTimestampEnablementVersion":"2","delta.inCommitTimestampEnablementTimestamp":"5000"`
	m := commits(protocol12+metaID+add("a"), add("b"), own(5000)+with(since), own(6000)+add("c"), own(7000)+add("d"))
	m.times[commitName(1)] = 4000
	for millis, want := range map[int64]int64{1000: 0, 3999: 0, 4000: 1, 4999: 1, 5000: 2, 5999: 2, 6000: 3, 7000: 4, 1 << 40: 4} {
		s, err := deltalog.Open(context.Background(), m, at(millis))
		if err != nil || s.Version != want {
			t.Errorf("at %d: %+v, %v; want %d", millis, s, err, want)
		}
	}
	m = commits(own(5000)+protocol12+with(""), own(6000)+add("a"))
	if s, err := deltalog.Open(context.Background(), m, at(5999)); err != nil || s.Version != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := deltalog.Open(context.Background(), m, at(4999)); err == nil {
		t.Error("a time before the first commit is taken")
	}
	m = commits(protocol12+with(""), add("a"))
	var damaged *deltalog.DamagedError
	if _, err := deltalog.Open(context.Background(), m, at(5999)); !errors.As(err, &damaged) {
		t.Errorf("error %v", err)
	}
}

func TestWhatACommitSaysOfItself(t *testing.T) {
	m := commits(protocol12+metaID, `{"commitInfo":{"operation":"WRITE"}}`+"\n"+add("a"))
	text := func() string {
		s, err := deltalog.Open(context.Background(), m, deltalog.At{})
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.CommitInfo(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if info == nil {
			return ""
		}
		return info.CommitText("operation")
	}
	if got := text(); got != "WRITE" {
		t.Error(got)
	}
	m.files[checkpointName(1)] = protocol12 + metaID + add("a")
	if got := text(); got != "WRITE" {
		t.Errorf("beside a checkpoint: %q", got)
	}
	delete(m.files, commitName(1))
	if got := text(); got != "" {
		t.Errorf("with a checkpoint alone: %q", got)
	}
	if c, err := deltalog.ReadCommit(context.Background(), m, 0); err != nil || c.ID() != "" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestACallerMayStopEarly(t *testing.T) {
	m := commits("damaged", add("c")+add("d"))
	m.files[checkpointName(0)] = protocol12 + metaID + add("a") + add("b")
	for want := range 4 {
		s, err := deltalog.Open(context.Background(), m, deltalog.At{})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, err := range s.Files(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen > want {
				break
			}
		}
		if seen != want+1 {
			t.Errorf("%d files seen, want %d", seen, want+1)
		}
	}
}

// What stops the reading of a checkpoint's rows is told with the file that it is in.
func TestADamagedCheckpointIsNamed(t *testing.T) {
	for row, want := range map[string]string{
		`{"add":{"size":"x"}}`:                                `the JSON has no number at byte 15 in the row {"add":{"size":"x"}}`,
		`{"add":{"path":"%"}}`:                                `the path "%" has a % that encodes nothing in the row {"add":{"path":"%"}}`,
		`{"add":{"path":"a","deletionVector":{"offset":-1}}}`: `the deletion vector's offset is none at byte 48 in the row {"add":{"path":"a","deletionVector":{"offset":-1}}}`,
	} {
		want = "_delta_log/" + checkpointName(0) + ": " + want
		m := commits("damaged")
		m.files[checkpointName(0)] = protocol12 + metaID + add("a") + row
		s, err := deltalog.Open(context.Background(), m, deltalog.At{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range s.Files(context.Background()) {
			if err != nil {
				break
			}
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
	m := commits("damaged")
	m.files["00000000000000000000.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"] = protocol12 + metaID + "{\n"
	if _, err := deltalog.Open(context.Background(), m, deltalog.At{}); err == nil || !strings.Contains(err.Error(), "80a083e8-7026-4e79-81be-64bd76c43a11.json, line 3: ") {
		t.Errorf("error %v", err)
	}
}

func TestAHoleIsTold(t *testing.T) {
	err := &deltalog.HoleError{Version: 2, Until: 5}
	if want := "the commit of version 2 is missing from the log, and version 5 needs it"; err.Error() != want {
		t.Error(err)
	}
}
