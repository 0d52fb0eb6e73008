package duckdb

import (
	"context"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// asKnown gives the columns of an input the types that they had at an earlier time, where hold tells that those hold the values
// of today; see compute.Input.Known. absent, if not nil, tells of a known column that no file has whether it is one all the
// same: these come last, and missing names them.
func asKnown(known [][]compute.Column, today []compute.Column, hold func(column int, typ string) bool, absent func(compute.Column) bool) (columns []compute.Column, missing []string) {
	columns = today
	for _, was := range known {
		columns, missing = slices.Clone(today), nil
		whole := true
		for _, k := range was {
			i := slices.IndexFunc(today, func(c compute.Column) bool { return strings.EqualFold(c.Name, k.Name) })
			switch {
			case i < 0 && absent != nil && absent(k):
				columns, missing = append(columns, k), append(missing, k.Name)
			case i < 0:
				whole = false
			case today[i].Type == k.Type:
			case hold(i, k.Type):
				columns[i].Type = k.Type
			default:
				whole = false
			}
		}
		if whole && len(columns) == len(was) {
			break
		}
	}
	return columns, missing
}

// asKnown gives inferred columns the types that they had, where every value fits them as it must to have them inferred.
func (inf *inference) asKnown(ctx context.Context, known [][]compute.Column) error {
	if len(known) == 0 {
		return nil
	}
	c := inf.csv
	var tries []check
	for i := range c.columns {
		for t := range inferred {
			if inf.seen[i] && !inf.excluded[i][t] && inferred[t].typ != c.columns[i].Type && wasOf(known, c.columns[i].Name, inferred[t].typ) {
				tries = append(tries, check{column: i, typ: t})
			}
		}
	}
	if len(tries) > 0 {
		if _, err := inf.pass(ctx, tries, 0); err != nil {
			return err
		}
	}
	columns, _ := asKnown(known, c.paths.after(c.columns), func(i int, typ string) bool {
		switch {
		case i >= len(c.columns):
			return c.paths.keys[i-len(c.columns)].holds(typ)
		case typ == "VARCHAR":
			return true
		case !inf.seen[i]:
			return isInferred(typ)
		}
		return slices.ContainsFunc(tries, func(t check) bool { return t.column == i && inferred[t.typ].typ == typ && t.count == 0 })
	}, nil)
	c.columns = c.paths.takeTypes(columns, len(c.columns))
	return nil
}

// isType tells whether a text is a type in its one spelling: what is known was read from a file.
func (s *session) isType(ctx context.Context, text string) bool {
	name, err := s.typeName(ctx, text)
	return err == nil && name == text
}

func isInferred(typ string) bool {
	for _, t := range inferred {
		if t.typ == typ {
			return true
		}
	}
	return false
}

// wasOf tells whether a column had a type at some time.
func wasOf(known [][]compute.Column, name, typ string) bool {
	return slices.ContainsFunc(known, func(was []compute.Column) bool {
		return slices.ContainsFunc(was, func(k compute.Column) bool { return k.Type == typ && strings.EqualFold(k.Name, name) })
	})
}

// after gives the columns of the files, and then those of the folders.
func (p pathColumns) after(columns []compute.Column) []compute.Column {
	all := slices.Clone(columns)
	for _, k := range p.keys {
		all = append(all, compute.Column{Name: k.name, Type: k.typ})
	}
	return all
}

// takeTypes takes the types of the columns that come after n in what after gave, and leaves the others.
func (p pathColumns) takeTypes(all []compute.Column, n int) []compute.Column {
	for i := range p.keys {
		p.keys[i].typ = all[n+i].Type
	}
	return slices.Delete(all, n, n+len(p.keys))
}

// holds tells whether the values of folders can have a type that others had: text is what they are, and those that are all NULL
// can be anything.
func (k partitionKey) holds(typ string) bool {
	return typ == "VARCHAR" || k.empty && (typ == "BIGINT" || typ == "DATE")
}

// asKnown gives the columns that were found the types that they had; see shape.holds.
func (j *jsonInput) asKnown(ctx context.Context, s *session, known [][]compute.Column, root *shape) (missing []string, err error) {
	types := map[string]*jsonType{}
	for _, was := range known {
		for _, k := range was {
			if _, tried := types[k.Type]; tried {
				continue
			}
			types[k.Type] = nil // what json cannot be read as was another format's
			if s.isType(ctx, k.Type) {
				types[k.Type], _ = s.jsonType(ctx, k)
			}
			if c := cancelled(ctx); c != nil {
				return nil, c
			}
		}
	}
	n := len(j.columns)
	all, missing := asKnown(known, j.paths.after(j.columns), func(i int, typ string) bool {
		if i >= n {
			return j.paths.keys[i-n].holds(typ)
		}
		t := types[typ]
		return t != nil && root.fields[i].holds(t, j.options)
	}, func(k compute.Column) bool { return types[k.Type] != nil })
	j.columns = j.paths.takeTypes(all, n)
	return missing, nil
}

// holds tells whether a type that the place had at an earlier time holds all its values, and would have been found if
// another value had been among them. A key that an object does not have is NULL, so a struct may have more of them.
func (sh *shape) holds(t *jsonType, o jsonOptions) bool {
	switch sh.kind {
	case 0:
		return true
	case '[':
		return t.item != nil && sh.item.orEmpty().holds(t.item, o)
	case '{':
		return t.name == "JSON" || t.fields != nil && !slices.ContainsFunc(sh.fields, func(f *shapeField) bool {
			i := slices.IndexFunc(t.fields, func(was jsonField) bool { return was.name == f.name })
			return i < 0 || !f.holds(t.fields[i].typ, o)
		})
	case 'b':
		return t.name == "BOOLEAN"
	case '0':
		switch t.name {
		case "BIGINT":
			return sh.whole && !sh.wide
		case "DECIMAL(38,0)":
			return sh.whole && sh.large == ""
		}
		return t.name == "DOUBLE" && sh.cannot == ""
	}
	switch t.name {
	case "VARCHAR":
		return true
	case "TIMESTAMP":
		return slices.Contains(sh.times, 1) || slices.Contains(sh.times, 0) && o.timestampFormat == ""
	}
	return len(sh.times) > 0 && timeShapes[sh.times[0]].typ == t.name
}

// parquetKnown gives the columns of parquet files, and then those of their folders, with the types that they had, where a cast keeps
// every value. A column without values can have any type: whoever wrote it may have known none, and noted one all the same. What
// these are read as is in nulls, by their names in lower case.
func (s *session) parquetKnown(ctx context.Context, known [][]compute.Column, files []compute.File, columns []compute.Column, keys []partitionKey) (all []compute.Column, nulls map[string]string, err error) {
	empty := map[string]bool{}
	for _, c := range columns {
		if err := s.noteEmpty(ctx, empty, files, c, known); err != nil {
			return nil, nil, s.fail(ctx, err, "looking for values of "+c.Name+" failed")
		}
	}
	all, _ = asKnown(known, pathColumns{keys: keys}.after(columns), func(i int, typ string) bool {
		if i >= len(columns) {
			return keys[i-len(columns)].holds(typ)
		}
		return keepsAll(columns[i].Type, typ) || empty[columns[i].Name] && s.isType(ctx, typ)
	}, nil)
	nulls = map[string]string{}
	for i, c := range columns {
		if all[i].Type != c.Type && !keepsAll(c.Type, all[i].Type) {
			nulls[strings.ToLower(c.Name)] = "CAST(NULL AS " + all[i].Type + ")"
			columns[i].Type = all[i].Type
		}
	}
	return all, nulls, cancelled(ctx)
}

// noteEmpty notes a column that had a type which a cast might not keep, if it has no values. Only then are values read.
func (s *session) noteEmpty(ctx context.Context, empty map[string]bool, files []compute.File, c compute.Column, known [][]compute.Column) error {
	differs := slices.ContainsFunc(known, func(was []compute.Column) bool {
		return slices.ContainsFunc(was, func(k compute.Column) bool {
			return strings.EqualFold(k.Name, c.Name) && k.Type != c.Type && !keepsAll(c.Type, k.Type)
		})
	})
	if !differs {
		return nil
	}
	var values bool
	err := s.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM read_parquet("+fileList(files)+", hive_partitioning = false) WHERE "+quote(c.Name)+" IS NOT NULL)").Scan(&values)
	empty[c.Name] = !values
	return err
}
