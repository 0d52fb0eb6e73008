package delta

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// textRows is a relation of texts.
func textRows(names []string, rows ...[]any) sdktest.Relation {
	fields := make([]sdk.Field, len(names))
	for i, n := range names {
		fields[i] = sdk.Field{Name: n, Kind: sdk.Text}
	}
	return sdktest.Table(fields, rows)
}

var dated = columns("id", "BIGINT", "dt", "DATE")

// days makes a table of three files, one a day; those of the second day hold ids 10 to 19.
func days(t *testing.T, partitioned bool) *lake {
	l := newLake(t)
	for i, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
		stats := []abi.ColumnStats{between("id", fmt.Sprint(10*i), fmt.Sprint(10*i+9), 0)}
		out, partition, name := abi.Output{}, map[string]string(nil), "day-"+day
		if partitioned {
			out.PartitionBy, partition, name = []string{"dt"}, map[string]string{"dt": day}, "dt="+day+"/day"
		} else {
			stats = append(stats, between("dt", day, day, 0))
		}
		l.must(write{out: out, columns: dated, batch: l.batch(day, 1, 0, abi.ClassOnce), files: []abi.StagedFile{staged(name, 10, partition, stats...)}})
	}
	return l
}

func TestOverwrite(t *testing.T) {
	l := days(t, false)
	w := write{out: abi.Output{Mode: modeOverwrite}, columns: dated, batch: l.batch("all", 1, 0, abi.ClassReplaces)}
	w.between = func() {
		l.foreign(`{"add":{"path":"theirs","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`)
	}
	l.must(w)
	if got := strings.Join(l.live(), " "); got != "part-4.parquet" {
		t.Error(got) // what came before the commit is replaced by it
	}
	if got := kinds(l.actions(4)); got != "add 1, commitInfo 1, remove 4, txn 1" {
		t.Error(got)
	}
	remove := l.actions(4)["remove"][0]
	if remove["dataChange"] != true || remove["extendedFileMetadata"] != true || remove["deletionTimestamp"] != float64(now.UnixMilli()) {
		t.Error(text(remove))
	}
	if info := l.actions(4)["commitInfo"][0]; info["isBlindAppend"] != false || text(info["operationParameters"]) != `{"mode":"Overwrite"}` {
		t.Error(text(info))
	}
}

// TestC043 and TestC045: the same slice again and again leaves one live file of it, whatever its values hold.
func TestC043C045OverwriteOnePartitionAgain(t *testing.T) {
	l := newLake(t)
	for epoch := range int64(3) {
		w := write{out: abi.Output{Mode: modePartitions, PartitionBy: []string{"p", "dt"}}, columns: columns("p", "VARCHAR", "dt", "DATE", "v", "BIGINT"), batch: l.batch("a", epoch+1, epoch, abi.ClassReplaces)}
		for _, p := range []string{"profile 1", "a/b=c:%d", "é"} {
			w.files = append(w.files, staged(fmt.Sprintf("p=%s/dt=2026-01-01/part-%d", strings.ReplaceAll(p, "/", "%2F"), epoch), 1, map[string]string{"p": p, "dt": "2026-01-01"}))
		}
		l.must(w)
		want := []string{fmt.Sprintf("p=a%%252Fb=c%%3A%%25d/dt=2026-01-01/part-%d", epoch), fmt.Sprintf("p=profile%%201/dt=2026-01-01/part-%d", epoch), fmt.Sprintf("p=%%C3%%A9/dt=2026-01-01/part-%d", epoch)}
		slices.Sort(want)
		if got := l.live(); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if got := text(l.actions(2)["add"][0]["partitionValues"]); got != `{"dt":"2026-01-01","p":"profile 1"}` {
		t.Error(got)
	}
}

// The slice that the batch declares is replaced also when no row is of it; the other partitions of the same values are not touched.
func TestDeclaredSlice(t *testing.T) {
	for value, want := range map[string]string{"2026-01-02": "dt=2026-01-01/day dt=2026-01-03/day", "2026-01": "dt=2026-01-01/day dt=2026-01-02/day dt=2026-01-03/day"} {
		l := days(t, true)
		out := abi.Output{Mode: modePartitions, PartitionBy: []string{"dt"}, Slice: map[string]string{"DT": value}}
		l.must(write{out: out, columns: dated, batch: l.batch("slice", 1, 0, abi.ClassReplaces), files: []abi.StagedFile{}})
		if got := strings.Join(l.live(), " "); got != want {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func TestC069NullPartition(t *testing.T) {
	l := newLake(t)
	out := abi.Output{Mode: modePartitions, PartitionBy: []string{"p"}}
	for epoch := range int64(2) {
		l.must(write{out: out, columns: columns("id", "BIGINT", "p", "INTEGER"), batch: l.batch("a", epoch+1, epoch, abi.ClassReplaces), files: []abi.StagedFile{
			staged(fmt.Sprintf("p=__HIVE_DEFAULT_PARTITION__/%d", epoch), 1, map[string]string{}), staged(fmt.Sprintf("p=7/%d", epoch), 1, map[string]string{"p": "7"})}})
	}
	if got := text(l.actions(0)["add"]); !strings.Contains(got, `"partitionValues":{"p":null}`) || !strings.Contains(got, `"partitionValues":{"p":"7"}`) {
		t.Error(got)
	}
	if got := l.live(); len(got) != 2 || !strings.HasSuffix(got[0], "/1") || !strings.HasSuffix(got[1], "/1") {
		t.Errorf("%q", got)
	}
}

func TestReplaceWhere(t *testing.T) {
	for _, c := range []struct {
		what, where string
		partitioned bool
		derived     int    // relations
		sql         string // of the last one
		live        string
	}{
		{"a partition", "dt = '2026-01-02'", true, 2, `SELECT 1 AS one FROM rows WHERE (("dt" = CAST('2026-01-02' AS DATE))) IS NOT TRUE`,
			"dt=2026-01-01/day dt=2026-01-03/day new"},
		{"a whole file", "dt = '2026-01-02'", false, 2, `SELECT 1 AS one FROM rows WHERE (("dt" = CAST('2026-01-02' AS DATE))) IS NOT TRUE`,
			"day-2026-01-01 day-2026-01-03 new"},
		{"half a file", "id >= 15", false, 3, `SELECT "id", "dt" FROM new UNION ALL SELECT "id", "dt" FROM (SELECT "id", "dt" FROM old) AS old WHERE ((CAST('15' AS BIGINT) <= "id")) IS NOT TRUE`,
			"day-2026-01-01 new"},
		{"nothing that is there", "id = 99", false, 2, "", "day-2026-01-01 day-2026-01-02 day-2026-01-03 new"},
	} {
		l := days(t, c.partitioned)
		w := write{out: abi.Output{ReplaceWhere: c.where}, columns: dated, batch: l.batch("slice", 1, 0, abi.ClassReplaces)}
		partition := map[string]string(nil)
		if c.partitioned {
			partition = map[string]string{"dt": "2026-01-02"}
		}
		w.files = []abi.StagedFile{staged("new", 4, partition)}
		l.must(w)
		if got := strings.Join(l.live(), " "); got != c.live {
			t.Errorf("%s: %s", c.what, got)
		}
		if len(l.Derived) != c.derived || c.sql != "" && l.Derived[c.derived-1].SQL != c.sql {
			t.Errorf("%s: %+v", c.what, l.Derived)
		}
		if c.what == "half a file" {
			old := l.Derived[2].Inputs[0]
			if old.Format != "delta" || *old.Version != 2 || !slices.Equal(old.Files, []string{"day-2026-01-02"}) {
				t.Errorf("%+v", old)
			}
		}
		if got := text(l.actions(3)["commitInfo"][0]["operationParameters"]); !strings.Contains(got, `"predicate":"`+strings.ReplaceAll(c.where, ">", ">")) && !strings.Contains(got, "predicate") {
			t.Error(got)
		}
	}
}

// TestC042 and R73: rows outside of the condition fail before anything is written, with how many and one of them.
func TestC042RowsOutside(t *testing.T) {
	l := days(t, true)
	before := l.live()
	w := write{out: abi.Output{ReplaceWhere: "dt = '2026-01-02'"}, columns: dated, batch: l.batch("slice", 1, 0, abi.ClassReplaces),
		derived: map[int]sdktest.Relation{2: {Rows: 2}, 3: {Rows: 2}, 4: textRows([]string{"dt"}, []any{"2026-01-01"})}}
	_, err := l.run(w)
	if err == nil || err.Error() != "rows outside of replace_where (dt = '2026-01-02'): 2, as dt = 2026-01-01" {
		t.Errorf("%v", err)
	}
	if len(l.Encoded) != 0 || !slices.Equal(l.live(), before) {
		t.Errorf("%d encoded", len(l.Encoded))
	}
}

// R73: a bad condition is refused at plan, table or no table.
func TestR73BadCondition(t *testing.T) {
	for _, l := range []*lake{newLake(t), days(t, false)} {
		for where, want := range map[string]string{
			"dt =":            `the condition cannot be used: the end of the condition stands where a column or a literal is expected (after "dt =")`,
			"lower(dt) = 'a'": `the condition cannot be used: "lower" calls a function, which is not understood here`,
		} {
			w := write{out: abi.Output{ReplaceWhere: where}, columns: dated, batch: l.batch("slice", 1, 0, abi.ClassReplaces)}
			if _, err := l.run(w); err == nil || err.Error() != "plan: replace_where: "+want {
				t.Errorf("%s: %v", where, err)
			}
		}
		l.Encoded = nil
		w := write{out: abi.Output{ReplaceWhere: "nope = 1"}, columns: dated, batch: l.batch("slice", 1, 0, abi.ClassReplaces)}
		if _, err := l.run(w); err == nil || !strings.Contains(err.Error(), `there is no column "nope"`) || len(l.Encoded) != 0 {
			t.Errorf("%v", err)
		}
	}
}

// R75: what others do to rows that a write replaces ends it cleanly; what they do to others does not hinder it.
func TestR75ReplaceBesideOthers(t *testing.T) {
	add := func(path, low, high string) string {
		return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1,\"minValues\":{\"id\":%s},\"maxValues\":{\"id\":%s},\"nullCount\":{\"id\":0}}"}}`, path, low, high)
	}
	remove := func(path string) string {
		return fmt.Sprintf(`{"remove":{"path":%q,"deletionTimestamp":1,"dataChange":true}}`, path)
	}
	for _, c := range []struct {
		what, where string
		theirs      string
		want        abi.CommitOutcome
		live        string
	}{
		{"rows elsewhere", "id >= 15", add("x", "1", "2"), abi.OutcomeDone, "day-2026-01-01 new x"},
		{"rows in the slice, and files are written again", "id >= 15", add("x", "16", "17"), abi.OutcomeNotDone, "day-2026-01-01 day-2026-01-02 day-2026-01-03 x"},
		{"rows in the slice, and only whole files go", "id >= 10", add("x", "16", "17"), abi.OutcomeDone, "day-2026-01-01 new"},
		{"a file that is written again goes", "id >= 15", remove("day-2026-01-02"), abi.OutcomeNotDone, "day-2026-01-01 day-2026-01-03"},
		{"another file goes", "id >= 15", remove("day-2026-01-01"), abi.OutcomeDone, "new"},
		{"a file on both sides comes", "id >= 10", add("x", "5", "17"), abi.OutcomeNotDone, "day-2026-01-01 day-2026-01-02 day-2026-01-03 x"},
	} {
		l := days(t, false)
		w := write{out: abi.Output{ReplaceWhere: c.where}, columns: dated, batch: l.batch("slice", 1, 0, abi.ClassReplaces), files: []abi.StagedFile{staged("new", 4, nil)}}
		w.between = func() { l.foreign(c.theirs) }
		got, err := l.run(w)
		if err != nil || got.Outcome != c.want || strings.Join(l.live(), " ") != c.live {
			t.Errorf("%s: %+v %v %q", c.what, got, err, l.live())
		}
		if c.want == abi.OutcomeNotDone && (got.Message == "" || got.Hint == "") {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
}

func merging(l *lake, keys ...string) write {
	return write{out: abi.Output{Mode: modeMerge, Keys: keys}, columns: dated, batch: l.batch("merge", 1, 0, abi.ClassReplaces), files: []abi.StagedFile{staged("new", 4, nil)}}
}

// A merge writes again the files that hold a key, and passes over those that cannot.
func TestMerge(t *testing.T) {
	l := days(t, false)
	w := merging(l, "id")
	w.derived = map[int]sdktest.Relation{
		4: textRows([]string{"a", "b"}, []any{"12", "25"}),
		5: textRows([]string{"f"}, []any{"day-2026-01-02"}),
	}
	l.must(w)
	if got := strings.Join(l.live(), " "); got != "day-2026-01-01 day-2026-01-03 new" {
		t.Error(got)
	}
	var sql []string
	for _, d := range l.Derived {
		sql = append(sql, d.SQL)
	}
	want := []string{
		`SELECT "id", "dt" FROM rows`,
		`SELECT 1 AS one FROM rows WHERE ("id" IS NOT NULL) IS NOT TRUE`,
		`SELECT "id" FROM rows GROUP BY "id" HAVING count(*) > 1`,
		`SELECT CAST(min("id") AS VARCHAR), CAST(max("id") AS VARCHAR) FROM rows`,
		`SELECT DISTINCT CAST("ubunye_file" AS VARCHAR) FROM old WHERE EXISTS (SELECT 1 FROM new WHERE new."id" = old."id")`,
		`SELECT "id", "dt" FROM new UNION ALL SELECT "id", "dt" FROM (SELECT "id", "dt" FROM old) AS old WHERE NOT EXISTS (SELECT 1 FROM new WHERE new."id" = old."id")`,
	}
	if !slices.Equal(sql, want) {
		t.Errorf("%q", sql)
	}
	if asked := l.Derived[4].Inputs[0]; !slices.Equal(sorted(asked.Files), []string{"day-2026-01-02", "day-2026-01-03"}) || asked.FileColumn != "ubunye_file" {
		t.Errorf("%+v", asked)
	}
	if again := l.Derived[5].Inputs[0]; !slices.Equal(again.Files, []string{"day-2026-01-02"}) {
		t.Errorf("%+v", again)
	}
	if got := l.actions(3)["commitInfo"][0]["operation"]; got != "MERGE" {
		t.Error(got)
	}
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

// TestC054 and TestC055: rows without a key and keys that come twice are refused by name, in a new table too.
func TestC054C055Keys(t *testing.T) {
	for _, l := range []*lake{newLake(t), days(t, false)} {
		w := merging(l, "id", "dt")
		w.derived = map[int]sdktest.Relation{2: {Rows: 1}, 4: {Rows: 1}, 5: textRows([]string{"id", "dt"}, []any{"7", nil})}
		if _, err := l.run(w); err == nil || err.Error() != "rows without a value in the key column dt: 1, as id = 7, dt = NULL" {
			t.Errorf("%v", err)
		}
		twice := textRows([]string{"id"}, []any{"1"}, []any{"2"})
		w = merging(l, "id")
		w.derived = map[int]sdktest.Relation{3: twice, 4: twice}
		if _, err := l.run(w); err == nil || err.Error() != "2 keys come more than once in the rows: id = 1; id = 2" {
			t.Errorf("%v", err)
		}
		if len(l.Encoded) != 0 {
			t.Error("rows were encoded")
		}
	}
}

// A file that came since may hold a key that the merge has matched with nothing.
func TestR75MergeBesideOthers(t *testing.T) {
	for theirs, want := range map[string]abi.CommitOutcome{"40": abi.OutcomeDone, "13": abi.OutcomeNotDone} {
		l := days(t, false)
		w := merging(l, "id")
		w.derived = map[int]sdktest.Relation{4: textRows([]string{"a", "b"}, []any{"12", "25"}), 5: textRows([]string{"f"})}
		w.between = func() {
			l.foreign(fmt.Sprintf(`{"add":{"path":"x","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1,\"minValues\":{\"id\":%s},\"maxValues\":{\"id\":%s}}"}}`, theirs, theirs))
		}
		if got, err := l.run(w); err != nil || got.Outcome != want {
			t.Errorf("%s: %+v %v", theirs, got, err)
		}
	}
}

func TestResolve(t *testing.T) {
	l := days(t, false)
	l.must(write{out: abi.Output{Mode: modeOverwrite}, columns: dated, batch: l.batch("2026-01-02", 5, 1, abi.ClassReplaces)})
	resolve := func(key string, epoch, after int64, files ...string) (abi.ResolveAnswer, error) {
		return Writer{}.Resolve(l, abi.ResolveRequest{Batch: abi.Batch{Key: "ubunye/p/t/out/" + key, Run: "run-9", Epoch: epoch, After: after}, Files: files})
	}
	for _, c := range []struct {
		key          string
		epoch, after int64
		mark         abi.Mark
		named        string
	}{
		{"2026-01-02", 9, 0, abi.Mark{Epoch: 5, Run: "run-4", Commit: "version 3"}, ""},
		{"2026-01-02", 5, 5, abi.Mark{Epoch: 5, Commit: "version 3 or before"}, "day-2026-01-02 part-4.parquet"},
		{"2026-01-02", 1, 0, abi.Mark{Epoch: 5, Run: "run-4", Commit: "version 3"}, "day-2026-01-02 part-4.parquet"}, // one is gone from the table, and was named
		{"never", 1, 0, abi.Mark{}, ""},
	} {
		got, err := resolve(c.key, c.epoch, c.after, "day-2026-01-02", "part-4.parquet", "nobody's.parquet")
		if err != nil || got.Mark != c.mark || strings.Join(sorted(got.Named), " ") != c.named {
			t.Errorf("%s %d: %+v %v", c.key, c.epoch, got, err)
		}
	}
	// What the log was cleaned of, nobody can tell.
	delete(l.Target, deltalog.CommitPath(1))
	if _, err := resolve("2026-01-02", 1, 9, "day-2026-01-02"); err == nil || !strings.Contains(err.Error(), "00000000000000000001") && !strings.Contains(err.Error(), "version 1") {
		t.Errorf("%v", err)
	}
	if got, err := (Writer{}).Resolve(newLake(t), abi.ResolveRequest{Files: []string{"x"}}); err != nil || len(got.Named) != 0 || got.Mark.Epoch != 0 {
		t.Errorf("%+v %v", got, err)
	}
}
