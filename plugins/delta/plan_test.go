package delta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// logged makes a table by its log alone.
func logged(t *testing.T, protocol, properties, fields, partition string) *lake {
	l := newLake(t)
	l.foreign(fmt.Sprintf(`{"protocol":%s}`, protocol),
		fmt.Sprintf(`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":%q,"partitionColumns":[%s],"configuration":{%s}}}`, `{"type":"struct","fields":[`+fields+`]}`, partition, properties))
	return l
}

func logField(name, typ string, nullable bool) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"nullable":%v,"metadata":{}}`, name, typ, nullable)
}

const plain = `{"minReaderVersion":1,"minWriterVersion":3}`

var twoFields = logField("id", "long", true) + "," + logField("v", "string", true)

func (l *lake) plan(out abi.Output, class abi.Class) abi.PlanAnswer {
	l.Helper()
	out.Target = "/lake/t"
	if out.Mode == "" {
		out.Mode = modeAppend
	}
	answer, err := Writer{}.Plan(l, abi.PlanRequest{Output: out, Batch: &abi.Batch{Key: "ubunye/p/t/out/a", Run: "run-1", Epoch: 1, Class: class}})
	if err != nil {
		l.Fatal(err)
	}
	return answer
}

func TestPlanFindsWhatIsWrong(t *testing.T) {
	none := newLake(t)
	table := logged(t, plain, "", twoFields, `"v"`)
	for _, c := range []struct {
		l     *lake
		out   abi.Output
		field string
		want  string
	}{
		{none, abi.Output{Mode: "upsert"}, "mode", `"upsert" is no mode of delta outputs`},
		{none, abi.Output{Mode: modeMerge}, "keys", "none are named"},
		{none, abi.Output{Keys: []string{"id"}}, "keys", "mode append has no keys"},
		{none, abi.Output{Mode: modeMerge, Keys: []string{"id", "ID"}}, "keys", "named twice"},
		{none, abi.Output{Mode: modeOverwrite, ReplaceWhere: "id = 1"}, "replace_where", "goes with mode append"},
		{none, abi.Output{ReplaceWhere: "id = "}, "replace_where", "the end of the condition"},
		{none, abi.Output{Schema: "loose"}, "schema", "no policy"},
		{none, abi.Output{Options: map[string]string{"txnAppId": "x"}}, "options.txnAppId", "go together"},
		{none, abi.Output{Options: map[string]string{"compression": "lzo"}}, "options.compression", "no compression"},
		{none, abi.Output{Options: map[string]string{"nope": "1"}}, "options.nope", "no option"},
		{none, abi.Output{PartitionBy: []string{"a"}, TargetFileSize: 5}, "target_file_size", "does not go with partition_by"},
		{table, abi.Output{PartitionBy: []string{"id"}}, "partition_by", "the table is partitioned by v, not by id"},
		{table, abi.Output{ReplaceWhere: "nope = 1"}, "replace_where", `there is no column "nope"`},
		{table, abi.Output{Mode: modeMerge, Keys: []string{"nope"}}, "keys", `no column "nope"`},
		{logged(t, plain, "", twoFields, ""), abi.Output{Mode: modePartitions}, "mode", "the table has none"},
		{logged(t, plain, "", twoFields+","+logField("größe", "string", true), `"größe"`), abi.Output{}, "path", `partitioned by the column "größe", whose name is not of ASCII`},
		{logged(t, plain, "", twoFields+","+logField("_p", "string", true), `"v","_p"`), abi.Output{}, "path", `partitioned by the column "_p", whose name is not of ASCII`},
		{logged(t, plain, "", twoFields+","+logField("f", "double", true), `"f"`), abi.Output{Mode: modeOverwrite}, "path", `partitioned by the column "f", which is a double`},
		{logged(t, plain, `"delta.appendOnly":"true"`, twoFields, ""), abi.Output{Mode: modeOverwrite}, "mode", "append-only"},
		{logged(t, plain, `"delta.appendOnly":"true"`, twoFields, ""), abi.Output{ReplaceWhere: "id = 1"}, "mode", "append-only"},
		{logged(t, `{"minReaderVersion":1,"minWriterVersion":4}`, `"delta.enableChangeDataFeed":"true"`, twoFields, ""), abi.Output{Mode: modeMerge, Keys: []string{"id"}}, "mode", "records changed rows"},
		{logged(t, plain, `"delta.constraints.small":"sqrt(id) < 3"`, twoFields, ""), abi.Output{}, "path", "its constraint small (sqrt(id) < 3) cannot be checked here"},
		{logged(t, `{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["glitter"],"writerFeatures":["glitter"]}`, "", twoFields, ""), abi.Output{}, "path", "glitter"},
		{logged(t, `{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["rowTracking"]}`, "", twoFields, ""), abi.Output{}, "path", "rowTracking"},
	} {
		got := c.l.plan(c.out, abi.ClassOnce)
		found := false
		for _, p := range got.Problems {
			found = found || p.Field == c.field && strings.Contains(p.Message, c.want)
		}
		if !found {
			t.Errorf("%+v: %+v, want %s: %s", c.out, got.Problems, c.field, c.want)
		}
	}
	if got := table.plan(abi.Output{PartitionBy: []string{"V"}}, abi.ClassOnce); len(got.Problems) != 0 || got.Will == "" {
		t.Errorf("%+v", got)
	}
	// What a hint says goes with the mode.
	for mode, want := range map[string]string{modeAppend: "leave partition_by out: the table's own columns are used", modePartitions: "partition_by: [v]"} {
		if got := table.plan(abi.Output{Mode: mode, PartitionBy: []string{"id"}}, abi.ClassOnce); len(got.Problems) != 1 || got.Problems[0].Hint != want {
			t.Errorf("%s: %+v", mode, got.Problems)
		}
	}
	if got := logged(t, plain, "", twoFields+","+logField("a.b-~1", "date", true), `"a.b-~1"`).plan(abi.Output{}, abi.ClassOnce); len(got.Problems) != 0 {
		t.Errorf("%+v", got.Problems)
	}
	// A hole in the log is told with what to do.
	hole := days(t, false)
	delete(hole.Target, deltalog.CommitPath(1))
	if got := hole.plan(abi.Output{}, abi.ClassOnce); len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Message, "version 1 is missing") || got.Problems[0].Hint == "" {
		t.Errorf("%+v", got.Problems)
	}
}

func TestPlanClasses(t *testing.T) {
	table := logged(t, plain, "", twoFields, "")
	for _, c := range []struct {
		l     *lake
		out   abi.Output
		batch abi.Class
		want  abi.Class
	}{
		{table, abi.Output{}, abi.ClassOnce, abi.ClassOnce},
		{table, abi.Output{}, abi.ClassNamed, abi.ClassNamed},
		{table, abi.Output{ReplaceWhere: "id = 1"}, abi.ClassReplaces, abi.ClassReplaces},
		{table, abi.Output{Mode: modeOverwrite}, abi.ClassReplaces, abi.ClassReplaces},
		{table, abi.Output{Mode: modeMerge, Keys: []string{"id"}}, abi.ClassReplaces, abi.ClassReplaces},
		{table, abi.Output{Options: map[string]string{"txnAppId": "x", "txnVersion": "1"}}, abi.ClassOnce, abi.ClassNamed},
		{logged(t, plain, `"delta.setTransactionRetentionDuration":"interval 7 days"`, twoFields, ""), abi.Output{}, abi.ClassOnce, abi.ClassNamed},
	} {
		if got := c.l.plan(c.out, c.batch); got.Class != c.want || len(got.Problems) != 0 {
			t.Errorf("%+v: %s, want %s; %+v", c.out, got.Class, c.want, got.Problems)
		}
	}
	kept := logged(t, plain, `"delta.setTransactionRetentionDuration":"interval 7 days"`, twoFields, "").plan(abi.Output{}, abi.ClassOnce)
	if len(kept.Warnings) != 1 || !strings.Contains(kept.Warnings[0], "interval 7 days") {
		t.Errorf("%q", kept.Warnings)
	}
}

func TestPlanTellsWhatIsThere(t *testing.T) {
	l := days(t, false)
	for _, mode := range []string{modeCreate, modeIgnore} {
		if got := l.plan(abi.Output{Mode: mode}, abi.ClassOnce); got.Exists != "version 2" {
			t.Errorf("%s: %+v", mode, got)
		}
		if got := newLake(t).plan(abi.Output{Mode: mode}, abi.ClassOnce); got.Exists != "" {
			t.Errorf("%s: %+v", mode, got)
		}
		mine := newLake(t)
		mine.append("a")
		if got := mine.plan(abi.Output{Mode: mode}, abi.ClassOnce); got.Exists != "" {
			t.Errorf("%s: its own table: %+v", mode, got)
		}
	}
	if got := l.plan(abi.Output{}, abi.ClassOnce); got.Exists != "" {
		t.Errorf("%+v", got)
	}
}

// NOT NULL, CHECK constraints and invariants are asked of all rows before any is written.
func TestDemandsOfTheTable(t *testing.T) {
	invariant := `{"name":"v","type":"string","nullable":true,"metadata":{"delta.invariants":"{\"expression\":{\"expression\":\"v <> 'x'\"}}"}}`
	l := logged(t, plain, `"delta.constraints.small":"id < 10"`, logField("id", "long", false)+","+invariant, "")
	w := write{batch: l.batch("a", 1, 0, abi.ClassOnce)}
	l.must(w)
	if got, want := l.Derived[1].SQL, `SELECT 1 AS one FROM rows WHERE ("id" IS NOT NULL) IS NOT TRUE OR (("id" < CAST('10' AS BIGINT))) IS NOT TRUE OR ((NOT ("v" = CAST('x' AS VARCHAR)))) IS NOT TRUE`; got != want {
		t.Errorf("%s", got)
	}
	w = write{batch: l.batch("b", 1, 0, abi.ClassOnce), derived: map[int]sdktest.Relation{2: {Rows: 1}, 3: {Rows: 0}, 4: {Rows: 1}, 5: textRows([]string{"id"}, []any{"12"})}}
	if _, err := l.run(w); err == nil || err.Error() != "rows that do not meet the table's constraint small (id < 10): 1, as id = 12" {
		t.Errorf("%v", err)
	}
	nested := logged(t, plain, "", twoFields+`,{"name":"s","type":{"type":"struct","fields":[`+logField("a", "long", false)+`]},"nullable":true,"metadata":{}}`, "")
	if got := nested.plan(abi.Output{}, abi.ClassOnce); len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Message, "s.a") {
		t.Errorf("%+v", got.Problems)
	}
}

func TestAddColumns(t *testing.T) {
	l := newLake(t)
	l.append("a")
	w := write{out: abi.Output{Schema: schemaAdd}, batch: l.batch("b", 1, 0, abi.ClassOnce), columns: append(columns("new", "TIMESTAMP"), idAndV...)}
	l.must(w)
	meta := l.actions(1)["metaData"][0]
	if !strings.HasSuffix(meta["schemaString"].(string), `{"name":"new","type":"timestamp","nullable":true,"metadata":{}}]}`) || meta["id"] != l.actions(0)["metaData"][0]["id"] {
		t.Error(text(meta))
	}
	// What asks more of readers does so only when it is wanted, and says so.
	w = write{out: abi.Output{Schema: schemaAdd, Options: map[string]string{optTimestampNTZ: "true"}}, batch: l.batch("c", 1, 0, abi.ClassOnce), columns: append(columns("new", "TIMESTAMP", "wall", "TIMESTAMP"), idAndV...)}
	l.must(w)
	if got := text(l.actions(2)["protocol"]); got != `[{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["timestampNtz"],"writerFeatures":["appendOnly","invariants","timestampNtz"]}]` {
		t.Error(got)
	}
}
