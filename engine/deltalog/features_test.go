package deltalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// table makes a log of one commit, with a protocol, properties and one column's metadata.
func table(t *testing.T, protocol string, properties, column map[string]string) *deltalog.Snapshot {
	t.Helper()
	field := map[string]any{"name": "id", "type": "long", "nullable": true, "metadata": column}
	schemaText, err := json.Marshal(map[string]any{"type": "struct", "fields": []any{field}})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := json.Marshal(map[string]any{"metaData": map[string]any{
		"id": "t", "format": map[string]any{"provider": "parquet", "options": map[string]string{}}, "schemaString": string(schemaText),
		"partitionColumns": []string{}, "configuration": properties}})
	if err != nil {
		t.Fatal(err)
	}
	m := commits(`{"protocol":` + protocol + "}\n" + string(meta) + "\n" + add("a"))
	s, err := deltalog.Open(context.Background(), m, deltalog.At{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func features(reader, writer string) string {
	return `{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[` + reader + `],"writerFeatures":[` + writer + `]}`
}

func TestC083_UnknownFeaturesAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		protocol           string
		properties, column map[string]string
		read, write        string // the errors
	}{
		{protocol: `{"minReaderVersion":1,"minWriterVersion":1}`},
		{protocol: `{"minReaderVersion":1,"minWriterVersion":2}`},
		{protocol: `{"minReaderVersion":2,"minWriterVersion":6}`},
		{protocol: features(`"deletionVectors","v2Checkpoint","timestampNtz","typeWidening"`, `"deletionVectors","v2Checkpoint","timestampNtz","typeWidening","domainMetadata","inCommitTimestamp"`)},
		{protocol: features(`"deletionVectors","timeTravelToTheFuture","variantType"`, `"deletionVectors"`),
			read: "the table cannot be read: it needs the Delta features timeTravelToTheFuture, variantType"},
		{protocol: features(`"catalogManaged"`, `"catalogManaged"`), read: "the table cannot be read: it needs the Delta feature catalogManaged"},
		{protocol: `{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["appendOnly","rowTracking","clustering","mystery"]}`,
			write: "the table cannot be written: it needs the Delta features rowTracking, clustering, mystery"},
		{protocol: `{"minReaderVersion":4,"minWriterVersion":7}`,
			read: "the table cannot be read: it needs reader version 4 of the Delta protocol; this program has versions 1 to 3"},
		{protocol: `{"minReaderVersion":1,"minWriterVersion":8}`,
			write: "the table cannot be written: it needs writer version 8 of the Delta protocol; this program has versions 1 to 7"},
		{protocol: `{"minReaderVersion":2,"minWriterVersion":5}`, properties: map[string]string{"delta.columnMapping.mode": "name"},
			column: map[string]string{"delta.columnMapping.physicalName": "c"},
			write:  "the table cannot be written: it needs the Delta feature columnMapping, whose mapping is by name"},
		{protocol: `{"minReaderVersion":2,"minWriterVersion":5}`, properties: map[string]string{"delta.columnMapping.mode": "name"},
			read: "column id: the column has no physical name, which the table's column mapping needs"},
		{protocol: `{"minReaderVersion":1,"minWriterVersion":2}`, properties: map[string]string{"delta.columnMapping.mode": "name"}}, // not in the protocol, so it says nothing
		{protocol: `{"minReaderVersion":1,"minWriterVersion":4}`, column: map[string]string{"delta.generationExpression": "1"},
			write: "the table cannot be written: it needs the Delta feature generatedColumns, whose column id is generated from others"},
		{protocol: `{"minReaderVersion":1,"minWriterVersion":6}`, column: map[string]string{"delta.identity.start": "1"},
			write: "the table cannot be written: it needs the Delta feature identityColumns, whose column id is counted up by the table"},
		{protocol: features(``, `"allowColumnDefaults"`), column: map[string]string{"CURRENT_DEFAULT": "1"},
			write: "the table cannot be written: it needs the Delta feature allowColumnDefaults, whose column id has a default"},
	} {
		s := table(t, c.protocol, c.properties, c.column)
		if c.read != "" {
			c.write = c.read
		}
		if _, err := s.CheckRead(); text(err) != c.read {
			t.Errorf("%s: read: %v, want %s", c.protocol, err, c.read)
		}
		if _, err := s.CheckWrite(); text(err) != c.write {
			t.Errorf("%s: write: %v, want %s", c.protocol, err, c.write)
		}
	}
	var unsupported *deltalog.UnsupportedError
	_, err := table(t, features(`"x"`, ``), nil, nil).CheckRead()
	if !errors.As(err, &unsupported) || unsupported.Writing || !slices.Equal(unsupported.Features, []string{"x"}) {
		t.Errorf("%+v", unsupported)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestDuties(t *testing.T) {
	all := map[string]string{
		"delta.appendOnly": "TRUE", "delta.enableChangeDataFeed": "true", "delta.enableInCommitTimestamps": "true", "delta.constraints.old": "id > 3",
		"delta.checkpoint.writeStatsAsStruct": "true",
	}
	invariant := map[string]string{"delta.invariants": `{"expression":{"expression":"id < 9"}}`}
	d, err := table(t, features(``, `"appendOnly","changeDataFeed","inCommitTimestamp","checkConstraints","invariants"`), all, invariant).CheckWrite()
	if err != nil {
		t.Fatal(err)
	}
	want := []deltalog.Condition{{Name: "old", SQL: "id > 3"}, {Name: "id", SQL: "id < 9"}}
	if !d.AppendOnly || !d.ChangeFeed || !d.OwnTimes || !reflect.DeepEqual(d.Conditions, want) || d.NoCheckpoint == "" || len(d.Schema.Fields) != 1 {
		t.Errorf("%+v", d)
	}
	// A property counts only with its feature.
	d, err = table(t, `{"minReaderVersion":1,"minWriterVersion":1}`, all, invariant).CheckWrite()
	if err != nil || d.AppendOnly || d.ChangeFeed || d.OwnTimes || d.Conditions != nil || d.NoCheckpoint != "" {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = table(t, `{"minReaderVersion":1,"minWriterVersion":2}`, all, invariant).CheckWrite()
	if err != nil || !d.AppendOnly || d.ChangeFeed || len(d.Conditions) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := table(t, protocolTwo, nil, map[string]string{"delta.invariants": `{"expression":1}`}).CheckWrite(); err == nil {
		t.Error("an invariant that cannot be read is passed over")
	}
}

const protocolTwo = `{"minReaderVersion":1,"minWriterVersion":2}`

func TestC072_TheProtocolIsRaisedOnlyAsFarAsNeeded(t *testing.T) {
	plain := schema.Type{Kind: schema.Struct, Fields: []schema.Field{{Name: "a", Type: schema.Type{Kind: schema.Timestamp}}}}
	if p := deltalog.NewProtocol(plain); p.MinReader != 1 || p.MinWriter != 2 || p.ReaderFeatures != nil || p.WriterFeatures != nil {
		t.Errorf("%+v", p)
	}
	inner := schema.Type{Kind: schema.TimestampNTZ}
	deep := schema.Type{Kind: schema.Struct, Fields: []schema.Field{{Name: "a", Type: schema.Type{Kind: schema.Array, Element: &inner}}}}
	p := deltalog.NewProtocol(deep)
	if p.MinReader != 3 || p.MinWriter != 7 || !slices.Equal(p.ReaderFeatures, []string{"timestampNtz"}) || !slices.Equal(p.WriterFeatures, []string{"appendOnly", "invariants", "timestampNtz"}) {
		t.Errorf("%+v", p)
	}
	old := &deltalog.Protocol{MinReader: 2, MinWriter: 5}
	p = old.With("deletionVectors")
	if !slices.Equal(p.ReaderFeatures, []string{"columnMapping", "deletionVectors"}) ||
		!slices.Equal(p.WriterFeatures, []string{"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping", "deletionVectors"}) {
		t.Errorf("%+v", p)
	}
	p = old.With("domainMetadata")
	if p.MinReader != 2 || p.MinWriter != 7 || p.ReaderFeatures != nil || !p.Has("columnMapping") {
		t.Errorf("%+v", p)
	}
	if old.With("columnMapping") != old {
		t.Error("a feature that the table has raises the protocol")
	}
}

func TestVoidsThatNoFileHolds(t *testing.T) {
	field := func(name, typ string) string {
		return `{"name":"` + name + `","type":` + typ + `,"nullable":true,"metadata":{}}`
	}
	for fields, want := range map[string]string{
		field("a", `"void"`) + "," + field("b", `"long"`): "",
		field("a", `"void"`):                              "every column has the type void where no data file can hold it",
		field("b", `"long"`) + "," + field("a", `{"type":"array","elementType":"void"}`):                 "its column a has the type void where no data file can hold it",
		field("b", `"long"`) + "," + field("s", `{"type":"struct","fields":[`+field("v", `"void"`)+`]}`): "its column s has the type void where no data file can hold it",
		field("b", `"long"`) + "," + field("s", `{"type":"struct","fields":[]}`):                         "",
	} {
		schemaText, err := json.Marshal(`{"type":"struct","fields":[` + fields + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		m := commits(protocol12 + `{"metaData":{"id":"t","format":{"provider":"parquet"},"schemaString":` + string(schemaText) + `,"partitionColumns":[]}}` + "\n")
		s, err := deltalog.Open(context.Background(), m, deltalog.At{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CheckRead(); err != nil {
			t.Errorf("%s: %v", fields, err)
		}
		if want != "" {
			want = "the table cannot be written: " + want
		}
		if _, err := s.CheckWrite(); text(err) != want {
			t.Errorf("%s: %v, want %s", fields, err, want)
		}
	}
}
