package engine

import (
	"reflect"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/ledger"
)

func TestChangesOfColumns(t *testing.T) {
	was := []ledger.Column{{Name: "id", Type: "BIGINT"}, {Name: "Note", Type: "VARCHAR"}, {Name: "gone", Type: "DATE"}}
	is := []compute.Column{{Name: "new", Type: "DATE"}, {Name: "note", Type: "VARCHAR"}, {Name: "ID", Type: "DOUBLE"}}
	got := changes(was, is)
	want := []change{{"new", "", "DATE"}, {"ID", "BIGINT", "DOUBLE"}, {"gone", "DATE", ""}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for schema, allowed := range map[string][]bool{"strict": {false, false, false}, schemaAdd: {true, false, false}, schemaEvolve: {true, true, true}} {
		for i, c := range got {
			if c.allowed(schema) != allowed[i] {
				t.Errorf("%s allows %v: %v", schema, c, !allowed[i])
			}
		}
	}
}

func TestDeclarationIsYAML(t *testing.T) {
	columns := []ledger.Column{{Name: "id", Type: "BIGINT"}, {Name: "No", Type: "TIMESTAMP WITH TIME ZONE"}, {Name: "a: b, <c>", Type: "DECIMAL(38,0)"}, {Name: "2026", Type: `STRUCT("x y" BIGINT[])`}, {Name: "", Type: "DATE"}, {Name: "ä\n", Type: "DATE"}}
	const want = `{id: BIGINT, "No": TIMESTAMP WITH TIME ZONE, "a: b, <c>": "DECIMAL(38,0)", "2026": "STRUCT(\"x y\" BIGINT[])", "": DATE, "ä\n": DATE}`
	if got := declaration(columns); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
