package e2e

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"
)

// tableOf is a project that writes what a SELECT gives to a Delta table, each run anew.
func tableOf(t *testing.T, query, output string) *project {
	t.Helper()
	p := newProject(t, "name: values\ntasks:\n  load:\n    inputs: {one: {format: csv, path: one.csv, columns: {n: bigint}}}\n"+
		"    transform:\n      rows: |\n        "+strings.ReplaceAll(query, "\n", "\n        ")+"\n    outputs: {rows: {format: delta, path: lake/t, "+output+"}}\n")
	p.format = "delta"
	p.write("one.csv", "n\n1\n")
	return p
}

func (p *project) values() result { p.t.Helper(); return p.run("run", "-c", "pipeline.yaml") }

// Every type that a table can have comes back with its values from two readers, and what the log says of them is true.
func TestDeltaTypes(t *testing.T) {
	for _, c := range []struct {
		sql, typ string
		options  string
		want     []any // of the values, in any order
	}{
		{"unnest([-9223372036854775808, 0, NULL, 9223372036854775807]::BIGINT[])", "long", "", []any{"-9223372036854775808", "0", nil, "9223372036854775807"}},
		{"unnest([-128, NULL, 127]::TINYINT[])", "byte", "", []any{"-128", nil, "127"}},
		{"unnest([-32768, 32767]::SMALLINT[])", "short", "", []any{"-32768", "32767"}},
		{"unnest([-2147483648, 2147483647]::INTEGER[])", "integer", "", []any{"-2147483648", "2147483647"}},
		{"unnest([0, 255]::UTINYINT[])", "short", "", []any{"0", "255"}},
		{"unnest([4294967295]::UINTEGER[])", "long", "", []any{"4294967295"}},
		{"unnest([18446744073709551615]::UBIGINT[])", "decimal(20,0)", "", []any{"18446744073709551615"}},
		// TestC076: decimals below zero, in each of the ways in which files hold them.
		{"unnest([-1, 0, 1, NULL]::DECIMAL(4,2)[])", "decimal(4,2)", "", []any{"-1.00", "0.00", "1.00", nil}},
		{"unnest([-1, 0, 1]::DECIMAL(9,2)[])", "decimal(9,2)", "", []any{"-1.00", "0.00", "1.00"}},
		{"unnest([-1, 0, 1]::DECIMAL(20,2)[])", "decimal(20,2)", "", []any{"-1.00", "0.00", "1.00"}},
		{"unnest(['-99999999999999999999999999999999999999', '1']::DECIMAL(38,0)[])", "decimal(38,0)", "", []any{"-99999999999999999999999999999999999999", "1"}},
		{"unnest(['-1.5', 'nan', '-0.0', 'inf', NULL]::DOUBLE[])", "double", "", []any{"-1.5", "nan", "-0.0", "inf", nil}},
		{"unnest([-1.5, 0.25]::FLOAT[])", "float", "", []any{"-1.5", "0.25"}},
		{"unnest([true, false, NULL])", "boolean", "", []any{"true", "false", nil}},
		{"unnest(['2026-01-31', '0001-01-01', '9999-12-31', NULL]::DATE[])", "date", "", []any{"2026-01-31", "0001-01-01", "9999-12-31", nil}},
		// TestC085: what is cut lies between the bounds that are kept.
		{"unnest(['', repeat('🙂', 11), repeat('a', 40), repeat('😀', 40), repeat(chr(1114111), 33), NULL])", "string", "", []any{"", strings.Repeat("🙂", 11), strings.Repeat("a", 40), strings.Repeat("😀", 40), strings.Repeat("\U0010ffff", 33), nil}},
		// TestC072: a wall clock is a moment in UTC, unless it is to stay one.
		{"unnest(['2026-01-01 00:00:00', '1969-12-31 23:59:59.999999', NULL]::TIMESTAMP[])", "timestamp", "", []any{"2026-01-01 00:00:00+00:00", "1969-12-31 23:59:59.999999+00:00", nil}},
		{"unnest(['2026-01-01 00:00:00+02', '2026-01-01 00:00:00.123456+00']::TIMESTAMPTZ[])", "timestamp", "", []any{"2025-12-31 22:00:00+00:00", "2026-01-01 00:00:00.123456+00:00"}},
		{"unnest(['2026-01-01 00:00:00', '2026-01-01 00:00:00.123456', NULL]::TIMESTAMP[])", "timestamp_ntz", "timestamp_ntz: true", []any{"2026-01-01 00:00:00", "2026-01-01 00:00:00.123456", nil}},
		{"unnest([uuid '00112233-4455-6677-8899-aabbccddeeff'])", "string", "", []any{"00112233-4455-6677-8899-aabbccddeeff"}},
		{"unnest([[1, NULL], [], NULL])", "array", "", []any{[]any{"1", nil}, []any{}, nil}},
		{"unnest([{'a': 1, 'b': 'x'}, NULL])", "struct", "", []any{map[string]any{"a": "1", "b": "x"}, nil}},
	} {
		t.Run(c.typ+" "+c.sql[:min(len(c.sql), 30)], func(t *testing.T) {
			p := tableOf(t, "SELECT "+c.sql+" AS c FROM one", "options: {"+c.options+"}")
			p.values().must(t, 0)
			schema := p.commits()[0]["metaData"][0]["schemaString"].(string)
			if !strings.Contains(schema, fmt.Sprintf(`"type":%q`, c.typ)) && !strings.Contains(schema, fmt.Sprintf(`"type":{"type":%q`, c.typ)) {
				t.Errorf("the schema is %s", schema)
			}
			if protocol := p.commits()[0]["protocol"][0]; (protocol["minReaderVersion"] == 1.0) != (c.typ != "timestamp_ntz") {
				t.Errorf("the protocol is %v", protocol)
			}
			want := make([]string, len(c.want))
			for i, v := range c.want {
				data, _ := json.Marshal(v)
				want[i] = string(data)
			}
			got := p.rows("lake/t")
			for i, row := range got {
				var one struct{ C json.RawMessage }
				if err := json.Unmarshal([]byte(row), &one); err != nil {
					t.Fatal(err)
				}
				var plain any
				if err := json.Unmarshal(one.C, &plain); err != nil {
					t.Fatal(err)
				}
				data, _ := json.Marshal(asText(plain))
				got[i] = string(data)
			}
			same(t, c.sql, ordered(got), ordered(want))
		})
	}
}

// asText has numbers within others as text.
func asText(v any) any {
	switch v := v.(type) {
	case float64:
		return fmt.Sprint(v)
	case []any:
		for i := range v {
			v[i] = asText(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asText(v[k])
		}
	}
	return v
}

func ordered(all []string) []string {
	data, _ := json.Marshal(all)
	var out []string
	json.Unmarshal(data, &out)
	sort.Strings(out)
	return out
}

// TestC067: partition values of any text come back byte for byte, from the log and not from the names of folders; each is replaced alone.
func TestC067DeltaPartitionValues(t *testing.T) {
	values := []string{"a b", "a/b", "a:b", "a%b", "a%20b", "a=b", "a+b", "a#b", "a&b", "R&D", "a?b", "(beta)", "é", "日本", "..", ".", `a\b`, `a"b`, "trailing ", "a'b", "{x}", "[1]", "~", "a,b", "a;b", "*", "%", "a\tb"}
	p := newProject(t, "name: values\nvariables:\n  v: {type: int, required: true}\ntasks:\n  load:\n    inputs: {raw: {format: json, path: in.json, columns: {p: varchar, id: bigint}}}\n"+
		"    transform: {rows: \"SELECT p, id + CAST($v AS BIGINT) AS id FROM raw\"}\n    outputs: {rows: {format: delta, path: lake/t, mode: overwrite_partitions, partition_by: [p]}}\n")
	p.format = "delta"
	var in strings.Builder
	for i, v := range values {
		data, _ := json.Marshal(map[string]any{"p": v, "id": i})
		in.Write(append(data, '\n'))
	}
	p.write("in.json", in.String())
	for round := range 3 { // TestC043 and TestC045: again and again
		p.run("run", "-c", "pipeline.yaml", "--var", fmt.Sprintf("v=%d", 100*round)).must(t, 0)
		var want []string
		for i, v := range values {
			want = append(want, jsonRow(map[string]any{"id": fmt.Sprint(100*round + i), "p": v}))
		}
		got := p.rows("lake/t")
		for i, row := range got {
			var one map[string]any
			if err := json.Unmarshal([]byte(row), &one); err != nil {
				t.Fatal(err)
			}
			got[i] = jsonRow(one)
		}
		same(t, "rows", ordered(got), ordered(want))
	}
	if got := p.commits(); len(got[2]["add"]) != len(values) || len(got[2]["remove"]) != len(values) {
		t.Errorf("%d adds, %d removes", len(got[2]["add"]), len(got[2]["remove"]))
	}
	for _, name := range p.files("") {
		if !strings.HasPrefix(name, "lake/") && !strings.HasPrefix(name, ".ubunye/") && name != "in.json" && name != "pipeline.yaml" {
			t.Errorf("a file outside of the table: %s", name)
		}
	}
	// A value that no folder can be named by fails before anything is written.
	p.write("in.json", jsonRow(map[string]any{"p": strings.Repeat("x", 300), "id": 1})+"\n")
	p.run("run", "-c", "pipeline.yaml", "--var", "v=1").must(t, 4)
	if got := p.commits(); len(got) != 3 {
		t.Errorf("%d commits", len(got))
	}
}

func jsonRow(row map[string]any) string {
	data, _ := json.Marshal(row)
	return string(data)
}

// TestC069 and TestC070: a NULL is one, of every type, and the empty text is refused rather than taken for it.
func TestC069C070DeltaNullPartitions(t *testing.T) {
	for typ, value := range map[string]string{"INTEGER": "7", "DATE": "2026-01-01", "VARCHAR": "x", "DECIMAL(10,2)": "1.50", "BOOLEAN": "true", "BIGINT": "-9", "TIMESTAMP": "2026-01-01 01:02:03"} {
		want := value
		if typ == "TIMESTAMP" {
			want += "+00:00"
		}
		p := tableOf(t, "SELECT 1 AS id, CAST(NULL AS "+typ+") AS p FROM one UNION ALL SELECT 2, CAST('"+value+"' AS "+typ+")", "mode: overwrite_partitions, partition_by: [p]")
		for range 2 {
			p.values().must(t, 0)
			same(t, typ, p.rows("lake/t"), []string{`{"id": "1", "p": null}`, fmt.Sprintf(`{"id": "2", "p": %q}`, want)})
		}
		null := false
		for _, add := range p.commits()[1]["add"] {
			value, has := add["partitionValues"].(map[string]any)["p"]
			null = null || has && value == nil
		}
		if !null {
			t.Errorf("%s: the log does not say null: %v", typ, p.commits()[1]["add"])
		}
	}
	for _, value := range []string{"", "__HIVE_DEFAULT_PARTITION__"} {
		p := tableOf(t, "SELECT 1 AS id, '"+value+"' AS p FROM one", "partition_by: [p]")
		p.values().must(t, 4).says(t, "cannot name a partition: readers could not tell it from NULL")
		if got := p.dataFiles("lake"); len(got) != 0 {
			t.Errorf("%q", got)
		}
	}
}
