package duckdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// The gate decides from DuckDB's own syntax tree whether SQL may become a relation: it must be one SELECT
// that reads earlier relations and nothing else. The tree is checked by what it may hold, so a kind of
// node that this program has never seen is refused.

// maxSQL is the most bytes of one step.
const maxSQL = 1 << 20

// maxDepth is how deeply queries may nest: DuckDB plans queries by recursion.
const maxDepth = 2000

var (
	queryNodes = set("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE")
	tableNodes = set("BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT")
	// Table functions that only make rows of their arguments.
	tableFunctions = set("range", "generate_series", "unnest", "json_each", "json_tree", "repeat", "repeat_row")
	// Functions whose result is the session's and not the data's, or that do something.
	refusedFunctions = set("getvariable", "current_setting", "current_query", "nextval", "currval", "write_log", "sleep_ms", "pg_sleep", "query", "query_table")
)

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// gate walks one tree.
type gate struct {
	session *session
	sql     string
	reads   map[string]*relation // what may be read, by lower-case name
	refs    map[*relation]int
	params  map[string]bool
	err     *compute.Error // the first offence
}

// scope is the names of common table expressions that can be seen, by lower-case name.
type scope struct {
	names map[string]bool
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

func (g *gate) refuse(position int, message, hint string) {
	if g.err == nil {
		g.err = &compute.Error{Kind: compute.QueryInvalid, Message: message, Hint: hint}
		g.err.Line, g.err.Col = place(g.sql, position)
	}
}

// location gives the byte of a node in the text, or -1.
func location(node map[string]any) int {
	n, ok := node["query_location"].(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil { // "unknown" is the largest 64-bit number
		return -1
	}
	return int(i)
}

func (g *gate) walk(v any, sc *scope, depth int) {
	if depth > maxDepth {
		g.refuse(-1, "it is nested too deeply", "make several steps of it")
	}
	if g.err != nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			g.walk(e, sc, depth+1)
		}
	case map[string]any:
		g.node(v, sc, depth)
	}
}

func (g *gate) node(node map[string]any, sc *scope, depth int) {
	typ, _ := node["type"].(string)
	_, isQuery := node["cte_map"]
	_, hasSample := node["sample"]
	switch {
	case node["class"] == "CONSTANT":
		return
	case isQuery && !queryNodes[typ]:
		g.refuse(location(node), "it holds a kind of query that a step cannot have ("+strings.ToLower(typ)+")", "")
		return
	case isQuery:
		sc = g.query(node, sc, depth)
	case hasSample && !tableNodes[typ]:
		g.refuse(location(node), "it reads from something that is no relation ("+strings.ToLower(typ)+")", "a step reads inputs and earlier steps")
		return
	case typ == "BASE_TABLE":
		g.table(node, sc)
	case typ == "TABLE_FUNCTION":
		g.tableFunction(node)
	case node["class"] == "FUNCTION":
		g.function(node)
	case node["class"] == "PARAMETER":
		g.parameter(node)
	}
	for key, child := range node {
		if key == "cte_map" {
			continue // walked by query
		}
		g.walk(child, sc, depth+1)
	}
}

// query opens the scope of a query's common table expressions. Each sees the ones before it; itself only if it is
// recursive.
func (g *gate) query(node map[string]any, sc *scope, depth int) *scope {
	inner := &scope{names: map[string]bool{}, outer: sc}
	if name, ok := node["cte_name"].(string); ok {
		inner.names[strings.ToLower(name)] = true
	}
	entries, _ := field(node, "cte_map", "map").([]any)
	for _, e := range entries {
		name, _ := field(e, "key").(string)
		if strings.ContainsAny(name, `./\*?[`) {
			// Were the name ever looked up outside of its scope, DuckDB would look for a file.
			g.refuse(-1, fmt.Sprintf("WITH %s: the name looks like a file's", quote(name)), "use letters, digits and _")
		}
		g.walk(field(e, "value"), inner, depth+1)
		inner = &scope{names: map[string]bool{strings.ToLower(name): true}, outer: inner}
	}
	return inner
}

func (g *gate) table(node map[string]any, sc *scope) {
	name, _ := node["table_name"].(string)
	schema, _ := node["schema_name"].(string)
	catalog, _ := node["catalog_name"].(string)
	at := location(node)
	switch {
	case node["at_clause"] != nil:
		g.refuse(at, fmt.Sprintf("%s AT: relations have no versions", name), "")
	case schema != "" || catalog != "":
		full := strings.Trim(catalog+"."+schema+"."+name, ".")
		g.refuse(at, fmt.Sprintf("it reads %s, which is no relation of this task", full), "a step reads inputs and earlier steps, by their names alone")
	case sc.has(name):
	default:
		rel, ok := g.reads[strings.ToLower(name)]
		if !ok {
			hint := didYouMean(name, slices.Sorted(maps.Keys(g.reads)))
			if strings.ContainsAny(name, `./\*`) {
				hint = "files are opened by inputs; a step reads inputs and earlier steps"
			}
			g.refuse(at, fmt.Sprintf("it reads %q, and there is no input or earlier step of that name", name), hint)
			return
		}
		g.refs[rel]++
	}
}

func (g *gate) tableFunction(node map[string]any) {
	name, _ := field(node, "function", "function_name").(string)
	if !tableFunctions[strings.ToLower(name)] {
		g.refuse(location(node), fmt.Sprintf("it reads from the function %s; a step reads inputs and earlier steps", name), "open files by inputs")
	}
}

func (g *gate) function(node map[string]any) {
	name, _ := node["function_name"].(string)
	if refusedFunctions[strings.ToLower(name)] {
		hint := ""
		if strings.EqualFold(name, "getvariable") {
			hint = "write $name"
		}
		g.refuse(location(node), fmt.Sprintf("a step cannot call %s", name), hint)
	}
}

func (g *gate) parameter(node map[string]any) {
	name, _ := node["identifier"].(string)
	if _, ok := g.session.variables[strings.ToLower(name)]; !ok {
		at := -1
		for _, p := range parameters(g.sql) {
			if strings.EqualFold(p.name, name) {
				at = p.start
				break
			}
		}
		known := make([]string, 0, len(g.session.variables))
		for _, v := range g.session.variables {
			known = append(known, "$"+v)
		}
		if len(name) > 0 && digit(name[0]) {
			g.refuse(at, "variables are written by name, and not as ? or $1", didYouMean("$", known))
			return
		}
		g.refuse(at, fmt.Sprintf("the variable $%s is not defined", name), didYouMean("$"+name, known))
		return
	}
	g.params[strings.ToLower(name)] = true
}

// bind puts the session's variables in the place of $names: DuckDB has no parameters in views. The values stay out of
// the text; getvariable gives them with their types.
func bind(text string, variables map[string]string) string {
	var b strings.Builder
	last := 0
	for _, p := range parameters(text) {
		name, ok := variables[strings.ToLower(p.name)]
		if !ok {
			continue // the comparison of the trees will tell
		}
		b.WriteString(text[last:p.start])
		b.WriteString("(getvariable(" + literal(name) + "))")
		last = p.end
	}
	b.WriteString(text[last:])
	return b.String()
}

// unbind takes a tree of bound text back to what the tree of the text was.
func unbind(v any, variables map[string]string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = unbind(e, variables)
		}
		return out
	case map[string]any:
		if v["class"] == "FUNCTION" && v["function_name"] == "getvariable" {
			args, _ := v["children"].([]any)
			if len(args) == 1 {
				name, _ := field(args[0], "value", "value").(string)
				return map[string]any{"class": "PARAMETER", "type": "VALUE_PARAMETER", "identifier": strings.ToLower(name), "alias": v["alias"]}
			}
		}
		out := map[string]any{}
		for key, e := range v {
			switch {
			case key == "query_location", key == "named_param_map":
			case key == "identifier" && v["class"] == "PARAMETER":
				name, _ := e.(string)
				out[key] = strings.ToLower(name)
			default:
				out[key] = unbind(e, variables)
			}
		}
		return out
	}
	return v
}

func sameTree(text, bound any, variables map[string]string) bool {
	return reflect.DeepEqual(unbind(text, variables), unbind(bound, variables))
}
