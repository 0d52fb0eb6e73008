package deltalog_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

func checkpointLines(t *testing.T, m *memory, now int64) (deltalog.Checkpoint, []string) {
	t.Helper()
	s, err := deltalog.Open(context.Background(), m, deltalog.At{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	done, err := s.WriteCheckpoint(context.Background(), now, func(line []byte) error {
		lines = append(lines, strings.TrimSpace(string(line)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines[2:])
	return done, lines
}

func TestWhatACheckpointHolds(t *testing.T) {
	const week = 7 * 24 * 3600 * 1000
	txn := func(app, version string) string { return `{"txn":{"appId":"` + app + `","version":` + version + "}}\n" }
	domain := func(name, removed string) string {
		return `{"domainMetadata":{"domain":"` + name + `","configuration":"c","removed":` + removed + "}}\n"
	}
	tombstone := func(path, at string) string {
		return `{"remove":{"path":"` + path + `","deletionTimestamp":` + at + `,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{},"size":1,"tags":{"x":"y"}}}` + "\n"
	}
	m := commits("damaged", "damaged",
		`{"commitInfo":{"operation":"x"}}`+"\n"+txn("a", "2")+txn("c", "5")+domain("gone", "true")+domain("new", "false")+tombstone("r", "1000")+strings.TrimSuffix(add("k"), "}}\n")+`,"future":1}}`+"\n",
		tombstone("q", "999")+add("q2"))
	m.files[checkpointName(1)] = protocol12 + metaID + txn("a", "1") + txn("b", "9007199254740993") + domain("gone", "false") + domain("old", "false") + add("r") + add("q") + add("s") +
		`{"remove":{"path":"older","deletionTimestamp":1001,"dataChange":true}}` + "\n" + `{"remove":{"path":"k","deletionTimestamp":1001,"dataChange":true}}`
	done, lines := checkpointLines(t, m, week+1000)
	want := []string{
		strings.TrimSpace(protocol12),
		strings.TrimSpace(metaID),
		`{"add":{"path":"k","partitionValues":{},"size":9007199254740993,"modificationTime":1,"dataChange":false}}`,
		`{"add":{"path":"q2","partitionValues":{},"size":9007199254740993,"modificationTime":1,"dataChange":false}}`,
		`{"add":{"path":"s","partitionValues":{},"size":9007199254740993,"modificationTime":1,"dataChange":false}}`,
		`{"domainMetadata":{"domain":"new","configuration":"c","removed":false}}`,
		`{"domainMetadata":{"domain":"old","configuration":"c","removed":false}}`,
		`{"remove":{"path":"older","deletionTimestamp":1001,"dataChange":false,"extendedFileMetadata":false}}`,
		`{"remove":{"path":"r","deletionTimestamp":1000,"dataChange":false,"extendedFileMetadata":true,"partitionValues":{},"size":1}}`,
		`{"txn":{"appId":"a","version":2}}`,
		`{"txn":{"appId":"b","version":9007199254740993}}`,
		`{"txn":{"appId":"c","version":5}}`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s\nwant %s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if done != (deltalog.Checkpoint{Version: 3, Actions: 12, Adds: 3}) {
		t.Errorf("%+v", done)
	}
	if got := string(done.LastCheckpoint(77)); got != `{"version":3,"size":12,"sizeInBytes":77,"numOfAddFiles":3}` {
		t.Error(got)
	}
}

func TestHowLongTombstonesStay(t *testing.T) {
	const day = 24 * 3600 * 1000
	for property, want := range map[string]int64{"": 7 * day, "interval 2 days": 2 * day, "interval 1 week 12 hours": 7*day + day/2, "3 minutes": 180_000, "INTERVAL 1 SECOND": 1000,
		"interval 1 month": -1, "soon": -1, "interval": -1, "interval -1 days": -1} {
		config := `"configuration":{"delta.deletedFileRetentionDuration":"` + property + `"}`
		m := commits(protocol12+strings.Replace(metaID, `"configuration":{}`, config, 1)+add("x"), remove("x"))
		ages := map[int64]bool{want: true, want + 1: false}
		if want < 0 {
			ages = map[int64]bool{1 << 50: true} // for ever
		}
		for age, stays := range ages {
			if _, lines := checkpointLines(t, m, 1+age); (len(lines) == 3) != stays {
				t.Errorf("%q: after %d ms: %q", property, age, lines)
			}
		}
	}
}

func TestWhenACheckpointIsDue(t *testing.T) {
	for property, want := range map[string][]int64{"": {10, 20, 100}, "3": {3, 6, 99}, "0": {10, 20}, "x": {10}, "1": {1, 2, 3}} {
		m := &deltalog.Metadata{Configuration: []deltalog.Pair{{Name: "delta.checkpointInterval", Value: &property}}}
		for _, v := range want {
			if !m.CheckpointDue(v) {
				t.Errorf("%q: not after version %d", property, v)
			}
		}
		if m.CheckpointDue(0) || property != "1" && m.CheckpointDue(want[0]+1) {
			t.Errorf("%q: too often", property)
		}
	}
	m := &deltalog.Metadata{Configuration: []deltalog.Pair{{Name: "delta.setTransactionRetentionDuration", Value: str("interval 1 day")}}}
	if m.TxnRetention() != "interval 1 day" || (&deltalog.Metadata{}).TxnRetention() != "" {
		t.Error("how long the table remembers is not told")
	}
}

func TestStatisticsInACheckpoint(t *testing.T) {
	for protocol, want := range map[string]bool{`{"minReaderVersion":1,"minWriterVersion":2}`: true, `{"minReaderVersion":1,"minWriterVersion":3}`: false} {
		config := `"configuration":{"delta.checkpoint.writeStatsAsJson":"false"}`
		m := commits(`{"protocol":` + protocol + "}\n" + strings.Replace(metaID, `"configuration":{}`, config, 1) + `{"add":{"path":"a","size":1,"stats":"{}"}}`)
		if _, lines := checkpointLines(t, m, 1); strings.Contains(lines[2], `"stats"`) != want {
			t.Errorf("%s: %s", protocol, lines[2])
		}
	}
}

func TestWhichColumnsATableWantsStatisticsOf(t *testing.T) {
	for _, c := range []struct {
		leading, columns string
		want             schema.StatsRule
	}{
		{"", "", schema.StatsRule{Leading: 32}},
		{"-1", "", schema.StatsRule{Leading: -1}},
		{"5", "", schema.StatsRule{Leading: 5}},
		{"x", "", schema.StatsRule{Leading: 32}},
		{"5", "a, `b c`.d,e", schema.StatsRule{Leading: 5, Columns: []string{"a", "`b c`.d", "e"}}},
	} {
		m := &deltalog.Metadata{Configuration: []deltalog.Pair{{Name: "delta.dataSkippingNumIndexedCols", Value: &c.leading}, {Name: "delta.dataSkippingStatsColumns", Value: &c.columns}}}
		if got := m.StatsRule(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q, %q: %+v, want %+v", c.leading, c.columns, got, c.want)
		}
	}
}
