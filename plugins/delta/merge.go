package delta

import (
	"context"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
)

// shown is how many keys a message has.
const shown = 5

// merge adds the rows that stay of files that hold a key of the rows that arrived.
func (s *staging) merge() (string, error) {
	keys, err := s.keys()
	if err != nil {
		return "", err
	}
	if err := s.checkKeys(keys); err != nil {
		return "", err
	}
	if s.table == nil {
		return s.relation, nil
	}
	if err := s.bounds(keys); err != nil {
		return "", err
	}
	touched, err := s.touched(keys)
	if err != nil || len(touched) == 0 {
		return s.relation, err
	}
	in, err := s.old("old", touched)
	if err != nil {
		return "", err
	}
	return s.union(touched, "NOT EXISTS (SELECT 1 FROM new WHERE "+same(keys)+")", in)
}

// same is the SQL that rows of new and old have the same keys.
func same(keys []schema.Field) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = "new." + predicate.Quote(k.Name) + " = old." + predicate.Quote(k.Name)
	}
	return strings.Join(parts, " AND ")
}

func (s *staging) keys() (keys []schema.Field, err error) {
	for _, name := range s.out.Keys {
		f, ok := s.schema.Field(name)
		switch {
		case !ok:
			return nil, failure("keys names the column "+name+", which the rows do not have", "their columns are "+list(fieldNames(s.schema)))
		case !f.Type.Leaf() || f.Type.Kind == schema.Array || f.Type.Kind == schema.Map || f.Type.Kind == schema.Void:
			return nil, failure("the column "+f.Name+" is a "+f.Type.String()+", which cannot be a key", "use a column of texts, numbers, dates or timestamps")
		}
		keys = append(keys, f)
	}
	return keys, nil
}

func fieldNames(t schema.Type) []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

func sameAny(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// checkKeys refuses rows without a key, which would be added once a run, and keys that come twice, of which nobody could say
// which row is meant.
func (s *staging) checkKeys(keys []schema.Field) error {
	demands := make([]demand, len(keys))
	names, columns := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		names[i], columns[i] = k.Name, predicate.Quote(k.Name)
	}
	for i, k := range keys {
		demands[i] = demand{sql: columns[i] + " IS NOT NULL", columns: names, missed: "rows without a value in the key column " + k.Name,
			hint: "a row without a key would be added again by each run: leave such rows out in a step, or give them a key"}
	}
	if err := check(s.h, s.relation, demands); err != nil {
		return err
	}
	by := list(columns)
	twice, err := derive(s.h, "SELECT "+by+" FROM rows GROUP BY "+by+" HAVING count(*) > 1", abi.DeriveInput{Name: "rows", Relation: s.relation})
	if err != nil {
		return err
	}
	n, err := s.h.Count(twice)
	if err != nil || n == 0 {
		return err
	}
	found, err := examples(s.h, twice, names, "TRUE", shown)
	if err != nil {
		return err
	}
	what := plural(n, "key") + " come more than once in the rows: "
	if n == 1 {
		what = "1 key comes more than once in the rows: "
	}
	if n > shown {
		what = strings.TrimSuffix(what, ": ") + ", as "
	}
	return failure(what+strings.Join(found, "; "), "have one row a key in a step, as SELECT DISTINCT ON, or QUALIFY row_number() OVER (…) = 1")
}

// bounds notes the least and the greatest value of each key, by which files are passed over.
func (s *staging) bounds(keys []schema.Field) error {
	var items []string
	for _, k := range keys {
		name := predicate.Quote(k.Name)
		items = append(items, "CAST(min("+name+") AS VARCHAR)", "CAST(max("+name+") AS VARCHAR)")
	}
	rows, err := texts(s.h, "SELECT "+list(items)+" FROM rows", abi.DeriveInput{Name: "rows", Relation: s.relation})
	if err != nil || len(rows) != 1 || rows[0][0] == nil {
		return err // no row, so no bound
	}
	for i := range keys {
		s.state.low, s.state.high = append(s.state.low, *rows[0][2*i]), append(s.state.high, *rows[0][2*i+1])
	}
	return nil
}

// reach tells whether files can hold one of a merge's keys.
type reach struct {
	table     *table
	keys      []schema.Field
	low, high []schema.Value // NULL: not known
}

func newReach(t *table, keys []schema.Field, s *state) *reach {
	r := &reach{table: t, keys: keys, low: make([]schema.Value, len(keys)), high: make([]schema.Value, len(keys))}
	for i := range s.low {
		if i < len(keys) {
			r.low[i], r.high[i] = bound(keys[i].Type, s.low[i]), bound(keys[i].Type, s.high[i])
		}
	}
	return r
}

// bound reads a value; NULL where the order of texts of values is not that of the log.
func bound(t schema.Type, text string) schema.Value {
	switch t.Kind {
	case schema.String:
		return schema.Text(text)
	case schema.Float, schema.Double, schema.Boolean, schema.Binary:
		return schema.Value{}
	}
	v, err := schema.ParsePartition(t, text, nil)
	if err != nil {
		return schema.Value{}
	}
	return v
}

func (r *reach) touches(add *deltalog.Add) bool {
	ranges := r.table.ranges(add)
	for i, k := range r.keys {
		in := ranges(k.Name)
		switch {
		case in.AllNulls:
			return false
		case !in.Max.IsNull() && !r.low[i].IsNull() && in.Max.Compare(r.low[i]) < 0:
			return false
		case !in.Min.IsNull() && !r.high[i].IsNull() && r.high[i].Compare(in.Min) < 0:
			return false
		}
	}
	return true
}

// touched finds the files that hold a key: the bounds leave some out, and of the others the keys are read.
func (s *staging) touched(keys []schema.Field) ([]*deltalog.Add, error) {
	if len(s.state.low) == 0 {
		return nil, nil
	}
	for _, k := range keys {
		if sameAny(s.state.added, k.Name) {
			return nil, nil // no file has the column
		}
	}
	r := newReach(s.table, keys, &s.state)
	var maybe []*deltalog.Add
	for add, err := range s.table.Files(context.Background()) {
		if err != nil {
			return nil, err
		}
		if r.touches(add) {
			maybe = append(maybe, add)
		}
	}
	if len(maybe) == 0 {
		return nil, nil
	}
	in, err := s.old("old", maybe)
	if err != nil {
		return nil, err
	}
	in.FileColumn = "ubunye_file"
	for sameAny(fieldNames(s.schema), in.FileColumn) {
		in.FileColumn += "_"
	}
	file := predicate.Quote(in.FileColumn)
	rows, err := texts(s.h, "SELECT DISTINCT CAST("+file+" AS VARCHAR) FROM old WHERE EXISTS (SELECT 1 FROM new WHERE "+same(keys)+")",
		in, abi.DeriveInput{Name: "new", Relation: s.relation})
	if err != nil {
		return nil, err
	}
	byPath := map[string][]*deltalog.Add{}
	for i, path := range in.Files {
		byPath[path] = append(byPath[path], maybe[i])
	}
	var touched []*deltalog.Add
	for _, row := range rows {
		if row[0] == nil || byPath[*row[0]] == nil {
			return nil, failure("the engine read rows of a file that it was not asked for", "")
		}
		touched = append(touched, byPath[*row[0]]...)
	}
	return touched, nil
}
