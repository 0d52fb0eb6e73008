package config

import (
	"strings"
	"testing"
)

// testScope has one variable of each type of time, and an environment.
func testScope() *scope {
	return &scope{
		vars: map[string]value{
			"dt":     {text: "2026-01-31", typ: TypeDate, set: true, outside: true, name: "$dt"},
			"month":  {text: "2026-01", typ: TypeMonth, set: true, outside: true, name: "$month"},
			"hour":   {text: "2026-01-31T23", typ: TypeHour, set: true, outside: true, name: "$hour"},
			"at":     {text: "2026-01-31T23:01:02.5", typ: TypeTimestamp, set: true, outside: true, name: "$at"},
			"region": {text: "eu", typ: TypeText, set: true, outside: true, name: "$region"},
			"tricky": {text: "{{ region }} ${region} $region %Y", typ: TypeText, set: true, outside: true, name: "$tricky"},
			"none":   {typ: TypeText, outside: true, name: "$none"},
			"n":      {text: "-2", typ: TypeInt, set: true, outside: true, name: "$n"},
		},
		declared: []string{"dt", "month", "hour", "at", "region", "tricky", "none", "n"},
		env:      map[string]string{"PW": "ab$defgh@jk{{ dt }}", "EMPTY": "", "DAY": "20260131"},
	}
}

// renderText renders a text for a field of a kind.
func renderText(text string, k Kind, s *scope) (*node, *loader) {
	l := &loader{file: "x"}
	n := &node{tag: tagText, text: text}
	l.render(n, &Field{Kind: k}, s)
	return n, l
}

// TestC102_Templates includes what goes wrong elsewhere with "$" in values: nothing but {{ }} is looked at, and once.
func TestC102_Templates(t *testing.T) {
	tests := []struct{ text, want string }{
		{"plain", "plain"},
		{"{{dt}}", "2026-01-31"},
		{"a {{ dt }} b {{ region }} c", "a 2026-01-31 b eu c"},
		{"pa$USERword $$ ${UNSET} ${UNSET:-x} %40 @", "pa$USERword $$ ${UNSET} ${UNSET:-x} %40 @"},
		{"{{ env.PW }}", "ab$defgh@jk{{ dt }}"},
		{"{{ tricky }}{{ dt }}", "{{ region }} ${region} $region %Y2026-01-31"},
		{"{{ '{{' }} dt {{ \"}}\" }}", "{{ dt }}"},
		{"}} {", "}} {"},
		{"{'a': {'b': 1}}", "{'a': {'b': 1}}"},
		{"{{ none | default('x') }}", "x"},
		{"{{ default(none, 'x') }}", "x"},
		{"{{ region | default('x') }}", "eu"},
		{"{{ env.UNSET | default(none) | default('y') }}", "y"},
		{"{{ env.UNSET | default(env.EMPTY) }}", ""},
		{"{{ env.EMPTY | default('x') }}", ""},
		{"{{ none | default(region) }}", "eu"},
		{"{{ dt | date_add(1) }}", "2026-02-01"},
		{"{{ date_add(dt, -31) }}", "2025-12-31"},
		{"{{ dt | date_add(n) }}", "2026-01-29"},
		{"{{ month | date_add(-1) }}", "2025-12"},
		{"{{ hour | date_add(1) }}", "2026-02-01T00"},
		{"{{ hour | date_add(-24) }}", "2026-01-30T23"},
		{"{{ '2024-02-28' | date_add(1) }}", "2024-02-29"},
		{"{{ env.DAY | date_add(1) }}", "2026-02-01"},
		{"{{ dt | date_format('%Y/%m/%d %j %y %%') }}", "2026/01/31 031 26 %"},
		{"{{ at | date_format('%H:%M:%S') }}", "23:01:02"},
		{"{{ month | date_format('%Y') }}", "2026"},
		{"{{ dt | date_add(1) | date_format('%m') }}", "02"},
		{"{{ date_format(date_add(dt, 1), '%m') | default('x') }}", "02"},
		{"{{\n  dt\t| date_add( 1 )\r\n}}", "2026-02-01"},
	}
	for _, tt := range tests {
		n, l := renderText(tt.text, Text, testScope())
		if len(l.problems) > 0 || n.text != tt.want {
			t.Errorf("%s\n got %q %v\nwant %q", tt.text, n.text, l.problems, tt.want)
		}
	}
}

// TestC105_ValuesAreSafeWhereTheyGo: what comes from outside is refused where it could change the meaning of SQL
// or of a path; what the file itself says is not.
func TestC105_ValuesAreSafeWhereTheyGo(t *testing.T) {
	tests := []struct {
		kind  Kind
		text  string
		value string
		ok    bool
	}{
		{SQL, "'{{ v }}'", "Zürich 12_a-b.c:d+e/f", true}, {SQL, "'{{ v }}'", "", true},
		{SQL, "'{{ v }}'", "O'Brien", false}, {SQL, "'{{ v }}'", `a"b`, false}, {SQL, "'{{ v }}'", "a;b", false}, {SQL, "'{{ v }}'", "a\nb", false},
		{SQL, "'{{ v }}'", "1--x", false}, {SQL, "'{{ v }}'", "a(b", false}, {SQL, "'{{ v }}'", "a=b", false}, {SQL, "'{{ v }}'", "$$", false},
		{SQL, "1 -{{ v }}", "-1", false}, {SQL, "{{ v }}-", "a-", false}, {SQL, "{{ v }}{{ v }}", "-", false}, {SQL, "{{ v }}*", "/", false},
		{SQL, "'{{ v }}' -- a comment of the author /* too */", "a", true}, {SQL, "{{ v | default('it''s') }}", "a", false},
		{SQL, `{{ "it's" }} {{ v }}`, "a", true},
		{Path, "in/{{ v }}.csv", "2026-01-01", true}, {Path, "in/{{ v }}.csv", "a.b", true}, {Path, "in/{{ v }}.csv", "a b", true},
		{Path, "in/{{ v }}.csv", "../x", false}, {Path, "in/{{ v }}.csv", "a/b", false}, {Path, "in/{{ v }}.csv", `a\b`, false},
		{Path, "in/{{ v }}.csv", "..", false}, {Path, "in/.{{ v }}", ".", false}, {Path, "in/{{ v }}{{ v }}", ".", false}, {Path, "in/{{ v }}", "a..b", false},
		{Path, "in/{{ v }}", "", false}, {Path, "in/{{ v }}.csv", "*", false}, {Path, "in/{{ v }}.csv", "[a]", false}, {Path, "in/{{ v }}.csv", "a\x00", false},
		{Path, "in/{{ '../x/*' }}/{{ v }}", "a", true},
		{Text, "{{ v }}", "../'; -- \n*", true},
	}
	for _, tt := range tests {
		s := testScope()
		s.vars["v"] = value{text: tt.value, typ: TypeText, set: true, outside: true, name: "$v"}
		n, l := renderText(tt.text, tt.kind, s)
		if ok := len(l.problems) == 0; ok != tt.ok || n.bad == tt.ok {
			t.Errorf("%s %s with %q: problems %v, want none: %v", tt.kind, tt.text, tt.value, l.problems, tt.ok)
		}
		for _, p := range l.problems {
			if tt.value != "" && len(tt.value) > 2 && strings.Contains(p.Error(), tt.value) {
				t.Errorf("the message shows the value, which may be a secret: %v", p)
			}
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{ dt }}", "a {{ dt | date_add(-1) }} b", "{{ date_format(dt, '%Y') }}", "{{ env.PW | default('x') }}", "{{ '{{' }}", "{{((((", "{{ dt | date_add(99999999999) }}", "{{ n | default(dt) | default(1) }}"} {
		f.Add(s, "2026")
	}
	f.Fuzz(func(t *testing.T, text, v string) {
		for _, kind := range []Kind{Text, Path, SQL} {
			s := testScope()
			s.vars["region"] = value{text: v, typ: TypeText, set: true, outside: true, name: "$region"}
			n, l := renderText(text, kind, s)
			if !strings.Contains(text, "{{") && (n.text != text || len(l.problems) > 0) {
				t.Fatalf("%q without an expression became %q, %v", text, n.text, l.problems)
			}
			if n.bad != (len(l.problems) > 0) {
				t.Fatalf("%q: bad %v with problems %v", text, n.bad, l.problems)
			}
			if n.bad && n.text != text {
				t.Fatalf("%q was changed to %q in spite of %v", text, n.text, l.problems)
			}
		}
	})
}

// FuzzValueInPath: whatever a value is, the path stays in the folder that the file names, at the depth it names.
func FuzzValueInPath(f *testing.F) {
	for _, s := range []string{"a", "..", "../x", ".", "/", `\`, "a/../..", "\x00", " ", "…"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		for _, text := range []string{"in/{{ region }}/x", "in/{{ region }}{{ region }}/x", "in/.{{ region }}/x", "in/{{ region }}./x"} {
			s := testScope()
			s.vars["region"] = value{text: v, typ: TypeText, set: true, outside: true, name: "$region"}
			n, _ := renderText(text, Path, s)
			if n.bad {
				continue
			}
			l := &loader{dir: "/base"}
			got := l.abs(n.text)
			if !strings.HasPrefix(got, "/base/in/") || strings.Count(got, "/") != 4 || !strings.HasSuffix(got, "/x") {
				t.Fatalf("%q with %q leads to %q", text, v, got)
			}
		}
	})
}
