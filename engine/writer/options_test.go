package writer_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

func TestOptions(t *testing.T) {
	got, err := writer.Options(abi.Description{Options: json.RawMessage(`{"type":"object","required":["b"],"properties":{
		"b":{"type":"integer","minimum":1,"maximum":22,"description":"how\u001b[1m much"}, "a":{"enum":["zstd","none",3],"default":"zstd"}, "c":{"type":["string","null"],"default":5}}}`)})
	want := []writer.Option{{Name: "a", Type: "zstd | none | 3", Default: "zstd"}, {Name: "b", Type: "integer from 1 to 22", Required: true, Doc: "how [1m much"},
		{Name: "c", Type: `["string","null"]`, Default: "5"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	for _, schema := range []string{``, `{}`, `null`, `{"type":"object"}`} {
		if got, err := writer.Options(abi.Description{Options: json.RawMessage(schema)}); len(got) != 0 || err != nil {
			t.Errorf("%q: %+v, %v", schema, got, err)
		}
	}
	for _, schema := range []string{`[]`, `"x"`, `{"properties":[]}`, `{"properties":{"a\nb":{}}}`} {
		if got, err := writer.Options(abi.Description{Options: json.RawMessage(schema)}); err == nil {
			t.Errorf("%s was taken: %+v", schema, got)
		}
	}
}

// A file with several writers is told which one it is to be, by the pipeline or by the plugin's name.
func TestChoose(t *testing.T) {
	several := writer.Inspection{Writers: []abi.Description{{Name: "csv"}, {Name: "json"}}}
	one := writer.Inspection{Writers: []abi.Description{{Name: "csv"}}}
	for _, c := range []struct {
		found writer.Inspection
		m     writer.Module
		want  string // what is chosen, or a text of the error
	}{
		{several, writer.Module{Name: "json"}, "json"},
		{several, writer.Module{Name: "mine", Writer: "json"}, "json"},
		{several, writer.Module{Name: "csv", Writer: "json"}, "json"},
		{several, writer.Module{Name: "mine"}, `the module has no writer "mine"; it has csv, json`},
		{one, writer.Module{Name: "mine"}, "csv"},
		{one, writer.Module{Name: "mine", Writer: "json"}, `the module has no writer "json"; it has csv`},
	} {
		d, err := c.found.Choose(c.m)
		if err != nil {
			wantError(t, err, writer.Incompatible, "")
			d.Name = err.Error()
		}
		if d.Name != c.want && !strings.HasSuffix(d.Name, c.want) {
			t.Errorf("%+v: %s, want %s", c.m, d.Name, c.want)
		}
	}
}
