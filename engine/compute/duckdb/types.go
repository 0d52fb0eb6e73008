package duckdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// typeName checks that text is the name of one type and nothing else, and gives the engine's spelling.
func (s *session) typeName(ctx context.Context, text string) (string, error) {
	if known, ok := commonType(text); ok {
		return known, nil
	}
	unknown := &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("%q is not a type", text)}
	if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\x00;") || strings.Contains(text, "--") || strings.Contains(text, "/*") {
		unknown.Hint = "for example: bigint, varchar, decimal(18,2), date"
		return "", unknown
	}
	query := "SELECT CAST(NULL AS " + text + ")"
	tree, err := s.parseSQL(ctx, query)
	if err != nil {
		if c := cancelled(ctx); c != nil {
			return "", c
		}
		var syntax *syntaxError
		if !errors.As(err, &syntax) {
			return "", s.fail(ctx, err, "reading the type "+text+" failed")
		}
		unknown.Hint = "for example: bigint, varchar, decimal(18,2), date"
		return "", unknown
	}
	if !isOneCast(tree) {
		return "", unknown
	}
	cols, err := s.describe(ctx, query)
	if err != nil {
		if c := cancelled(ctx); c != nil {
			return "", c
		}
		if memoryHint(parse(err)) != "" {
			return "", s.fail(ctx, err, "reading the type "+text+" failed")
		}
		if unknown.Hint, err = s.nearestType(ctx, text); err != nil {
			return "", s.fail(ctx, err, "reading the type "+text+" failed")
		}
		return "", unknown
	}
	return cols[0].Type, nil
}

// commonTypes are types that need no question to DuckDB, which takes longer than to read a small file.
var commonTypes = map[string]string{
	"boolean": "BOOLEAN", "smallint": "SMALLINT", "integer": "INTEGER", "int": "INTEGER", "bigint": "BIGINT", "double": "DOUBLE",
	"varchar": "VARCHAR", "text": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP",
}

// commonType gives the engine's spelling of a common type.
func commonType(text string) (string, bool) {
	text = strings.ToLower(text)
	if known, ok := commonTypes[text]; ok {
		return known, true
	}
	var width, scale int
	if _, err := fmt.Sscanf(text, "decimal(%d,%d)", &width, &scale); err != nil || text != fmt.Sprintf("decimal(%d,%d)", width, scale) {
		return "", false
	}
	return strings.ToUpper(text), 0 < width && width <= 38 && 0 <= scale && scale <= width
}

// isOneCast tells that a tree is `SELECT CAST(NULL AS type)` and not more than that.
func isOneCast(tree any) bool {
	node, ok := field(tree, "node").(map[string]any)
	if !ok || node["type"] != "SELECT_NODE" || field(node["from_table"], "type") != "EMPTY" {
		return false
	}
	list, _ := node["select_list"].([]any)
	if len(list) != 1 || field(list[0], "class") != "CAST" || field(list[0], "alias") != "" || field(list[0], "child", "class") != "CONSTANT" {
		return false
	}
	for key, v := range node {
		switch key {
		case "modifiers", "group_expressions", "group_sets":
			if l, _ := v.([]any); len(l) > 0 {
				return false
			}
		case "where_clause", "having", "sample", "qualify":
			if v != nil {
				return false
			}
		case "cte_map":
			if l, _ := field(v, "map").([]any); len(l) > 0 {
				return false
			}
		}
	}
	return true
}

func (s *session) nearestType(ctx context.Context, text string) (string, error) {
	if s.types == nil {
		err := s.queryAll(ctx, "SELECT DISTINCT lower(type_name) FROM duckdb_types() WHERE internal", nil, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			s.types = append(s.types, name)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	name, _, _ := strings.Cut(strings.TrimSpace(text), "(")
	best := didYouMean(name, s.types)
	if strings.HasPrefix(best, "known:") {
		best = "for example: bigint, varchar, decimal(18,2), date"
	}
	return best, nil
}

// field goes down a decoded JSON value; nil if there is nothing.
func field(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// parseSQL gives DuckDB's own tree of the one SELECT that text is.
func (s *session) parseSQL(ctx context.Context, text string) (any, error) {
	var answer string
	err := s.conn.QueryRowContext(ctx, "SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)", text).Scan(&answer)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Error      bool   `json:"error"`
		Type       string `json:"error_type"`
		Message    string `json:"error_message"`
		Position   string `json:"position"`
		Statements []any  `json:"statements"`
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&parsed); err != nil {
		return nil, &syntaxError{message: "it is nested too deeply", position: -1}
	}
	switch {
	case parsed.Error && parsed.Type == "not implemented":
		return nil, &syntaxError{message: "it is not a SELECT", hint: "a step is one SELECT; what is to be written goes into outputs", position: -1}
	case parsed.Error:
		e := engineError{Message: parsed.Message, Position: parsed.Position}
		return nil, &syntaxError{message: e.line(), position: e.position()}
	case len(parsed.Statements) == 0:
		return nil, &syntaxError{message: "it is empty", hint: "write one SELECT", position: -1}
	case len(parsed.Statements) > 1:
		return nil, &syntaxError{message: fmt.Sprintf("it has %d statements", len(parsed.Statements)), hint: "a step is one SELECT; make a step of each", position: -1}
	}
	return parsed.Statements[0], nil
}

// syntaxError is SQL that is not exactly one SELECT.
type syntaxError struct {
	message  string
	hint     string
	position int // byte in the SQL, from 0; -1: unknown
}

func (e *syntaxError) Error() string { return e.message }
