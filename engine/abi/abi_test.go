package abi_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/schemas/schematest"
)

func TestClass(t *testing.T) {
	d := abi.Description{Modes: []abi.Mode{
		{Name: "append", Class: abi.ClassNamed, Exceptions: []abi.Exception{
			{Options: map[string]string{"replace_where": abi.AnyValue}, Class: abi.ClassReplaces},
			{Options: map[string]string{"once": "table", "keep": abi.AnyValue}, Class: abi.ClassOnce},
			{Class: abi.ClassClaims}, // without a condition: never
		}},
		{Name: "overwrite", Class: abi.ClassReplaces},
	}}
	for _, c := range []struct {
		mode    string
		options map[string]string
		class   abi.Class
		ok      bool
	}{
		{"append", nil, abi.ClassNamed, true},
		{"append", map[string]string{"replace_where": ""}, abi.ClassReplaces, true},
		{"append", map[string]string{"once": "table"}, abi.ClassNamed, true},
		{"append", map[string]string{"once": "table", "keep": "1"}, abi.ClassOnce, true},
		{"append", map[string]string{"once": "no", "keep": "1"}, abi.ClassNamed, true},
		{"append", map[string]string{"once": "table", "keep": "1", "replace_where": "a"}, abi.ClassReplaces, true},
		{"overwrite", map[string]string{"replace_where": "a"}, abi.ClassReplaces, true},
		{"merge", nil, "", false},
	} {
		if class, ok := d.Class(c.mode, c.options); class != c.class || ok != c.ok {
			t.Errorf("%s %v: %q, %t", c.mode, c.options, class, ok)
		}
	}
}

func TestCapability(t *testing.T) {
	for op, want := range map[abi.Operation]abi.Capability{abi.OpEncode: abi.CapRelation, abi.OpFileClose: abi.CapFiles,
		"sql.exec": abi.CapSQL, "encode": "", "": "", ".x": ""} {
		if got := op.Capability(); got != want {
			t.Errorf("%q: %q", op, got)
		}
	}
}

// messages are examples of every message, by its definition in the schema: with all fields.
func messages() map[string][]any {
	minimum := "1"
	file := abi.StagedFile{Name: "n", Partition: map[string]string{"dt": ""}, Rows: 1, Bytes: 2, Columns: []abi.ColumnStats{{Name: "c", Nulls: 3, Min: &minimum}}}
	out := abi.Output{Name: "o", Mode: "append", Target: "/t", PartitionBy: []string{"p"}, SortBy: []string{"s"}, TargetFileSize: 4, Options: map[string]string{"k": "v"}, Keys: []string{"id"}, ReplaceWhere: "w", Schema: "strict"}
	batch := abi.Batch{Key: "k", OtherKeys: []string{"o"}, Run: "r", Epoch: 5, After: 4, Class: abi.ClassOnce, Range: abi.JSON(`{}`)}
	mark := abi.Mark{Epoch: 5, Run: "r", Commit: "version 1"}
	version := int64(7)
	now := "2026-11-30T01:02:03.000000004Z"
	columns := []abi.Column{{Name: "c", Type: "t"}}
	return map[string][]any{
		"describe.request": {&abi.DescribeRequest{Memory: 1}},
		"describe.answer": {&abi.DescribeAnswer{ABI: 1, Writers: []abi.Description{{ABI: 1, Name: "n", Version: "v", Doc: "d", Options: abi.JSON(`{}`), Capabilities: []abi.Capability{abi.CapSQL},
			Modes: []abi.Mode{{Name: "m", Class: abi.ClassOnce, Exceptions: []abi.Exception{{Options: map[string]string{"k": "*"}, Class: abi.ClassNamed}}}}}}}},
		"plan.request":              {&abi.PlanRequest{Writer: "w", Output: out, Epoch: 5, Batch: &batch, Time: now, Memory: 6}},
		"plan.answer":               {&abi.PlanAnswer{Class: abi.ClassOnce, Target: "/t", Exists: "version 0", Warnings: []string{"w"}, Reads: 2, Problems: []abi.Problem{{Field: "f", Message: "m", Hint: "h"}}, Will: "w"}},
		"stage.request":             {&abi.StageRequest{Writer: "w", Output: out, Relation: "r", Schema: columns, Epoch: 5, Batch: &batch, Time: now, Memory: 6}},
		"stage.answer":              {&abi.StageAnswer{Files: []abi.StagedFile{file}, Rows: 1, State: abi.JSON(`[1]`)}, &abi.StageAnswer{}},
		"commit.request":            {&abi.CommitRequest{Writer: "w", Output: out, Batch: batch, Files: []abi.StagedFile{file}, State: abi.JSON(`[1]`), Time: now, Memory: 6}},
		"commit.answer":             {&abi.CommitAnswer{Outcome: abi.OutcomeFound, Mark: mark, Message: "m", Hint: "h"}},
		"resolve.request":           {&abi.ResolveRequest{Writer: "w", Output: out, Batch: batch, Files: []string{"f"}, Time: now, Memory: 6}},
		"resolve.answer":            {&abi.ResolveAnswer{Mark: mark, Named: []string{"f"}}},
		"table.get.request":         {&abi.GetRequest{Path: "p", Offset: 1, Length: 2}},
		"table.get.answer":          {&abi.GetAnswer{Bytes: []byte{0, 255}, Size: 2}, &abi.GetAnswer{}},
		"table.list.request":        {&abi.ListRequest{Folder: "f", After: "a"}},
		"table.list.answer":         {&abi.ListAnswer{Entries: []abi.Entry{{Name: "n", Size: 1, Modified: 2}}, More: true}, &abi.ListAnswer{}},
		"table.read_rows.request":   {&abi.ReadRowsRequest{Path: "p", Format: "parquet", Columns: []string{"c"}, Where: &abi.RowMatch{Column: "c", Field: "f", Equals: "e"}}},
		"table.read_rows.answer":    {&abi.ReadRowsAnswer{Cursor: 1}},
		"table.put_new.request":     {&abi.PutNewRequest{Path: "p", Bytes: []byte{1}}},
		"table.put_new.answer":      {&abi.PutAnswer{Outcome: abi.PutCreated}},
		"table.put.request":         {&abi.PutRequest{Path: "p", Bytes: []byte{1}}},
		"table.put.answer":          {&abi.PutAnswer{Outcome: abi.PutUnknown}},
		"table.rows_create.request": {&abi.RowsCreateRequest{Path: "p", Format: "parquet", Columns: columns}},
		"table.rows_create.answer":  {&abi.RowsCreateAnswer{File: 1}},
		"table.rows_close.request":  {&abi.RowsCloseRequest{File: 1}},
		"table.rows_close.answer":   {&abi.PutAnswer{Outcome: abi.PutExists}},
		"relation.schema.request":   {&abi.SchemaRequest{Relation: "r"}},
		"relation.schema.answer":    {&abi.SchemaAnswer{Columns: columns}},
		"relation.count.request":    {&abi.CountRequest{Relation: "r"}},
		"relation.count.answer":     {&abi.CountAnswer{Rows: 7}},
		"relation.encode.request":   {&abi.EncodeRequest{Relation: "r", Format: "csv", Options: map[string]string{"k": "v"}, PartitionBy: []string{"p"}, OrderBy: []string{"s"}, TargetFileSize: 7, Statistics: true}},
		"relation.encode.answer":    {&abi.EncodeAnswer{Files: []abi.StagedFile{file}}, &abi.EncodeAnswer{}},
		"relation.derive.request":   {&abi.DeriveRequest{SQL: "s", Inputs: []abi.DeriveInput{{Name: "n", Relation: "r"}, {Name: "m", Format: "delta", Version: &version, Files: []string{"f"}, FileColumn: "c"}}}},
		"relation.derive.answer":    {&abi.DeriveAnswer{Relation: "r"}},
		"relation.rows.request":     {&abi.RowsRequest{Relation: "r", Columns: []string{"c"}}},
		"relation.rows.answer":      {&abi.RowsAnswer{Cursor: 1}},
		"files.file_create.request": {&abi.FileCreateRequest{Partition: map[string]string{"dt": "x"}, Extension: "txt"}},
		"files.file_create.answer":  {&abi.FileCreateAnswer{File: 1, Name: "n"}},
		"files.file_close.request":  {&abi.FileCloseRequest{File: 1}},
		"files.file_close.answer":   {&abi.FileCloseAnswer{Name: "n", Bytes: 1}},
		"failure":                   {&abi.Failure{Code: "c", Message: "m", Hint: "h", Retryable: true}},
	}
}

// The schema of the messages takes each of them, and refuses it with a field missing, of another kind or too many.
func TestMessagesFitTheirSchema(t *testing.T) {
	for name, all := range messages() {
		s, err := schematest.Open("messages#" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var members map[string]any
			if err := json.Unmarshal(data, &members); err != nil {
				t.Fatal(err)
			}
			for key, was := range members {
				if key == "state" {
					continue // any JSON
				}
				members[key] = 1.5 // what no member is
				if wrong, _ := json.Marshal(members); s.Check(wrong) == nil {
					t.Errorf("%s: the schema takes %s", name, wrong)
				}
				members[key] = was
			}
			if s.Check([]byte(`{}`)) == nil {
				t.Errorf("%s: the schema takes a message without members", name)
			}
			members["extra"] = "x"
			if wrong, _ := json.Marshal(members); s.Check(wrong) == nil {
				t.Errorf("%s: the schema takes %s", name, wrong)
			}
		}
	}
}

// What is said arrives: every field of every message survives JSON.
func TestMessagesSurviveJSON(t *testing.T) {
	var all []any
	for _, some := range messages() {
		all = append(all, some...)
	}
	for _, m := range all {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again := reflect.New(reflect.TypeOf(m).Elem()).Interface()
		if err := json.Unmarshal(data, again); err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%T: %s became %+v (%v)", m, data, again, err)
		}
	}
}

func TestCheckPut(t *testing.T) {
	for path, want := range map[string][2]bool{ // put_new, put
		"_log/1.json": {true, false}, "_log/_last": {true, true}, "_log/a/b.json": {true, false}, "_log/..b": {true, false},
		"x.parquet": {}, "dt=1/x": {}, "dt=1/_x": {}, "_x": {}, "": {}, "/": {}, "/_log/1": {}, "_log/": {}, "_log//1": {}, "_log/../1": {}, "./_log/1": {}, "_log/.": {},
		"_ubunye-target/x": {}, "_ubunye-0123456789ab/x": {}, `_log\1`: {}, "_log/1\x00": {},
	} {
		for i, op := range []abi.Operation{abi.OpPutNew, abi.OpPut} {
			err := abi.CheckPut(op, path)
			if (err == nil) != want[i] {
				t.Errorf("%s %q: %v", op, path, err)
			}
			if f := new(abi.Failure); err != nil && (!errors.As(err, &f) || f.Code != abi.CodeInvalid) {
				t.Errorf("%s %q: %#v", op, path, err)
			}
		}
	}
}
