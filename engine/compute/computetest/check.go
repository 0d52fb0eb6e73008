package computetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// What is wrong with an input by itself is found without its files, all at once, and what is right is not refused.
func checkInput(t *testing.T, f *fixture) {
	for _, tt := range []struct {
		format, columns, options string   // options as a=b;c=d
		want                     []string // option or column, then a text of the message with its hint
	}{
		{"csvv", "id bigint", "", []string{": did you mean csv?"}},
		{"csv", "id bigint; when timestamp; n decimal(18,2); big hugeint; u uuid; t time", "delimiter=;;decimal=,;header=false;null=NULL", nil},
		{"csv", "", "", nil},
		{"csv", "id bigintt; ok date; n decimal(99,2); all struct(a integer)", "delimeter=;;header=yes;quote=long",
			[]string{"delimeter: did you mean delimiter?", `header: option header: "yes" is not true or false`, "quote: one byte", `id: "bigintt" is not a type`, "id: did you mean bigint?",
				`n: "decimal(99,2)" is not a type`, "all: text cannot be read as the type"}},
		{"csv", "id bigint; ID varchar", "", []string{"ID: the same name"}},
		{"csv", "id int), (SELECT 1", "", []string{"id: is not a type"}},
		{"json", "id bigint; x struct(a integer); l varchar[]; m map(varchar, integer); j json", "layout=lines", nil},
		{"json", "id bigint; d interval; m map(integer, varchar); s struct(a time with time zone)", "layout=rows;delimiter=,;undeclared=drop",
			[]string{"delimiter: json has no option delimiter", "layout: lines, array or auto", "undeclared: error or ignore", "d: this type", "m: a map with keys", "s: this type"}},
		{"parquet", "id bigint; d interval; x struct(a integer)", "partitions=false", nil},
		{"parquet", "id bigin", "partitions=no;header=true", []string{"header: parquet has no option header", "partitions: true or false", "id: did you mean bigint?"}},
	} {
		in := compute.Input{Name: "raw", Format: tt.format, Path: f.dir + "/none/*.csv", Options: optionsOf(tt.options)}
		if tt.columns != "" {
			in.Columns = columns(tt.columns)
		}
		given := compute.Input{Name: in.Name, Format: in.Format, Path: in.Path, Options: maps.Clone(in.Options), Columns: slices.Clone(in.Columns)}
		wrong, err := f.h.New(t).Check(t.Context(), in)
		if err != nil {
			t.Errorf("%s %s: %v", tt.format, tt.columns, err)
		}
		if !slices.Equal(in.Columns, given.Columns) || !maps.Equal(in.Options, given.Options) {
			t.Errorf("the input was changed: %+v", in)
		}
		var said []string
		about := map[string]bool{}
		for _, e := range wrong {
			f.wantError(e, compute.Error{Kind: compute.BadOption, Input: "raw"})
			said = append(said, fmt.Sprintf("%s%s: %s (%s)", e.Option, e.Column, e.Message, e.Hint))
			about[e.Option+e.Column] = true
		}
		wanted := map[string]bool{}
		for _, want := range tt.want {
			name, text, _ := strings.Cut(want, ": ")
			wanted[name] = true
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, name+": ") && strings.Contains(s, text) }) {
				t.Errorf("%s %s %s: %q, want %q among them", tt.format, tt.columns, tt.options, said, want)
			}
		}
		if !maps.Equal(about, wanted) || len(wrong) != len(wanted) {
			t.Errorf("%s %s %s: %q, want just one of each of %q", tt.format, tt.columns, tt.options, said, tt.want)
		}
	}
}

// optionsOf reads a=b;c=d; a value may be a ; of its own.
func optionsOf(text string) map[string]string {
	options := map[string]string{}
	for _, pair := range strings.Split(strings.ReplaceAll(text, ";;", "\x00;"), ";") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			options[name] = strings.ReplaceAll(value, "\x00", ";")
		}
	}
	return options
}
