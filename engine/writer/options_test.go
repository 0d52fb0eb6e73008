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

// Options are held against the schema; what the schema does not say for certain is left to the writer.
func TestCheckOptions(t *testing.T) {
	closed := `{"type":"object","additionalProperties":false,"required":["must"],"properties":{"must":{},"compression":{"enum":["zstd","none",3]},
		"level":{"type":"integer","minimum":1,"maximum":22},"ratio":{"type":"number","minimum":0.5},"flag":{"type":"boolean"},
		"quote":{"type":"string","minLength":1,"maxLength":2,"pattern":"^[^x]*$"},"odd":{"type":["string","null"]},"new":{"format":"uri"},"lookahead":{"type":"string","pattern":"^(?!x)"}}}`
	for _, c := range []struct {
		schema string
		given  map[string]string
		want   []string // option: message, then the word and what was known
	}{
		{closed, map[string]string{"must": "", "compression": "3", "level": "22", "ratio": "0.5", "flag": "false", "quote": "é\"", "odd": "1", "new": "no uri", "lookahead": "x"}, nil},
		{closed, map[string]string{"compresion": "zstd", "compression": "zstdd", "level": "23", "ratio": "0.4", "flag": "yes", "quote": ""}, []string{
			`compresion: the writer has no such option|compresion|compression flag level lookahead must new odd quote ratio`, `compression: "zstdd" is not one of its values|zstdd|zstd none 3`,
			`flag: "yes" is not true or false|yes|`, `level: "23" is not a whole number from 1 to 22|23|`, `quote: "" is too short: it wants at least 1 character||`,
			`ratio: "0.4" is not a number from 0.5|0.4|`, `must: the writer wants it, and it is not given||`}},
		{closed, map[string]string{"must": "", "level": "1.5", "quote": "abc"}, []string{`level: "1.5" is not a whole number from 1 to 22|1.5|`, `quote: "abc" is too long: it wants at most 2 characters|abc|`}},
		{closed, map[string]string{"must": "", "quote": "ax"}, []string{`quote: "ax" does not match the pattern ^[^x]*$|ax|`}},
		{`{"properties":{"a":{}}}`, map[string]string{"b": "1"}, nil},
		{`{"additionalProperties":false,"patternProperties":{"^x":{}},"properties":{"a":{}}}`, map[string]string{"xb": "1"}, nil},
		{`{"additionalProperties":false}`, map[string]string{"b": "1"}, []string{"b: the writer has no such option|b|"}},
		{``, map[string]string{"b": "1"}, nil},
	} {
		var got []string
		for _, e := range writer.CheckOptions(abi.Description{Options: json.RawMessage(c.schema)}, c.given) {
			got = append(got, e.Option+": "+e.Message+"|"+e.Wrong+"|"+strings.Join(e.Known, " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q:\n got %q\nwant %q", c.given, got, c.want)
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
