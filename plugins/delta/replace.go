package delta

import (
	"context"

	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
)

// replace adds the rows outside of the condition of those files that have some outside and may have some within.
func (s *staging) replace() (string, error) {
	var mixed []*deltalog.Add
	for add, err := range s.table.Files(context.Background()) {
		if err != nil {
			return "", err
		}
		if s.table.match(s.where, add) == predicate.Some {
			mixed = append(mixed, add)
		}
	}
	if len(mixed) == 0 {
		return s.relation, nil
	}
	if s.table.duties.ChangeFeed {
		return "", failure("the table records changed rows (delta.enableChangeDataFeed), and files have rows on both sides of replace_where", "use a condition on partition columns")
	}
	in, err := s.old("old", mixed)
	if err != nil {
		return "", err
	}
	return s.union(mixed, "("+s.where.SQL()+") IS NOT TRUE", in)
}

// match tells which rows of a file meet a condition. Columns that the file's table does not have yet are NULL in it.
func (t *table) match(where *predicate.Bound, add *deltalog.Add) predicate.Match {
	return where.File(t.ranges(add))
}

// ranges gives what is known of a file's columns: by its partition values exactly, by its statistics as bounds.
func (t *table) ranges(add *deltalog.Add) func(name string) schema.Range {
	mapping := t.Mapping()
	stats := schema.ReadStats(t.duties.Schema, mapping, add.Stats)
	return func(name string) schema.Range {
		f, ok := t.duties.Schema.Field(name)
		if !ok {
			return schema.Range{AllNulls: true}
		}
		if !t.divides(f.Name) {
			return stats.Column(f.Name)
		}
		text, _ := add.PartitionText(f.Physical(mapping))
		v, err := schema.ParsePartition(f.Type, text, nil)
		switch {
		case err != nil:
			return schema.Range{}
		case v.IsNull():
			return schema.Range{AllNulls: true}
		}
		return schema.Range{Min: v, Max: v, NoNulls: true}
	}
}

func (t *table) divides(name string) bool { return sameAny(t.Metadata.PartitionColumns, name) }
