package delta

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Stage upholds sdk.Writer: the engine reads and encodes, so no row passes through the writer.
func (Writer) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	s := &staging{h: h, out: req.Output, relation: req.Relation, state: state{version: -1}}
	if err := s.columns(req.Schema); err != nil {
		return abi.StageAnswer{}, err
	}
	if err := s.check(); err != nil {
		return abi.StageAnswer{}, err
	}
	all, err := s.whole()
	if err != nil {
		return abi.StageAnswer{}, err
	}
	return s.write(all)
}

// staging is one call of Stage.
type staging struct {
	h        sdk.Host
	out      abi.Output
	table    *table // nil: it is to be made
	schema   schema.Type
	relation string // the rows that arrived; from columns on with the table's columns
	where    *predicate.Bound
	state    state
}

// columns makes of the rows those of the table.
func (s *staging) columns(columns []abi.Column) error {
	var err error
	if s.table, err = open(s.h); err != nil {
		return err
	}
	f, err := s.fit(columns)
	if err != nil {
		return err
	}
	s.schema = f.schema
	s.state.schema, s.state.added = schema.Encode(f.schema), f.added
	if err := s.partitions(); err != nil {
		return err
	}
	if s.out.ReplaceWhere != "" {
		parsed, err := predicate.Parse(s.out.ReplaceWhere, predicate.Standard)
		if err == nil {
			s.where, err = parsed.Bind(s.schema)
		}
		if err != nil {
			return failure("replace_where: "+err.Error(), "its columns are those of the table")
		}
	}
	s.relation, err = derive(s.h, "SELECT "+list(f.selects)+" FROM rows", abi.DeriveInput{Name: "rows", Relation: s.relation})
	return err
}

func (s *staging) fit(columns []abi.Column) (fitted, error) {
	ntz := s.out.Options[optTimestampNTZ] == "true"
	if s.table == nil {
		t, err := newSchema(columns, ntz)
		if err != nil {
			return fitted{}, err
		}
		f, err := fit(t, columns, schemaStrict, ntz)
		if err == nil {
			s.say("the table is made with " + protocolText(deltalog.NewProtocol(t)))
		}
		return f, err
	}
	s.state.version = s.table.Version
	var err error
	if s.state.identity, err = identity(s.table.Protocol, s.table.Metadata); err != nil {
		return fitted{}, err
	}
	f, err := fit(s.table.duties.Schema, columns, s.out.Schema, ntz)
	if len(f.added) > 0 && err == nil {
		s.say("the table gets " + plural(int64(len(f.added)), "column") + ": " + list(f.added))
	}
	return f, err
}

func (s *staging) say(text string) { s.h.Log(abi.LevelInfo, text) }

// protocolText gives a protocol for people.
func protocolText(p *deltalog.Protocol) string {
	text := "protocol " + strconv.Itoa(p.MinReader) + "," + strconv.Itoa(p.MinWriter)
	if p.Has("timestampNtz") {
		text += ", which needs readers that have timestampNtz"
	}
	return text
}

// partitions finds the columns that divide the table, and looks whether something is left.
func (s *staging) partitions() error {
	names := s.out.PartitionBy
	if s.table != nil {
		if names = s.table.Metadata.PartitionColumns; len(s.out.PartitionBy) > 0 && !sameNames(names, s.out.PartitionBy) {
			return failure("the table is partitioned by "+orNothing(names)+", not by "+list(s.out.PartitionBy), "leave partition_by out")
		}
	}
	for _, name := range names {
		f, ok := s.schema.Field(name)
		if !ok {
			return failure("partition_by names the column "+strconv.Quote(name)+", which the rows do not have", "")
		}
		s.state.partition = append(s.state.partition, f.Name)
	}
	if s.out.Mode == modePartitions && len(names) == 0 {
		return failure("mode overwrite_partitions replaces partitions, and there are none", "name the columns in partition_by")
	}
	stored := 0
	for _, f := range s.schema.Fields {
		if f.Type.Kind != schema.Void {
			stored++
		}
	}
	if stored == len(names) {
		return failure("partition_by takes every column, so nothing is left for the files", "leave out at least one column")
	}
	return nil
}

// check looks whether the rows may be in the table, before any is written.
func (s *staging) check() error {
	demands := requiredColumns(s.schema)
	if s.table != nil {
		more, err := conditions(s.table)
		if err != nil {
			return err
		}
		demands = append(demands, more...)
		if s.table.duties.AppendOnly && replaces(s.out) {
			return failure("the table is append-only (delta.appendOnly), and the output would replace rows", "append")
		}
	}
	if s.where != nil {
		demands = append(demands, demand{sql: s.where.SQL(), columns: s.where.Columns(), missed: "rows outside of replace_where (" + s.out.ReplaceWhere + ")",
			hint: "nothing was replaced; leave them out in a step, or correct the condition"})
	}
	return check(s.h, s.relation, demands)
}

// whole gives the rows that are to be written: those that arrived, and those that stay of files that go.
func (s *staging) whole() (string, error) {
	switch {
	case s.out.Mode == modeMerge:
		return s.merge()
	case s.where != nil && s.table != nil:
		return s.replace()
	}
	return s.relation, nil
}

// write has the rows encoded.
func (s *staging) write(relation string) (abi.StageAnswer, error) {
	columns := make([]string, 0, len(s.schema.Fields))
	for _, f := range s.schema.Fields {
		if f.Type.Kind != schema.Void { // such a column is in no file
			columns = append(columns, predicate.Quote(f.Name))
		}
	}
	if len(columns) < len(s.schema.Fields) {
		var err error
		if relation, err = derive(s.h, "SELECT "+list(columns)+" FROM rows", abi.DeriveInput{Name: "rows", Relation: relation}); err != nil {
			return abi.StageAnswer{}, err
		}
	}
	req := abi.EncodeRequest{Relation: relation, Format: "parquet", Options: encoded(s.out.Options), PartitionBy: s.state.partition, OrderBy: s.out.SortBy, Statistics: true, SkipEmpty: true}
	if len(req.PartitionBy) == 0 {
		req.TargetFileSize = s.out.TargetFileSize
	}
	staged, err := s.h.Encode(req)
	if err != nil {
		return abi.StageAnswer{}, err
	}
	answer := abi.StageAnswer{Files: staged}
	for i, f := range staged {
		answer.Rows += f.Rows
		answer.Files[i].Columns = nil // the engine keeps them for the commit, and need not be told its own numbers
	}
	answer.State = s.state.encode()
	return answer, nil
}

// old is the rows of files of the table, as an input of a derived relation.
func (s *staging) old(name string, adds []*deltalog.Add) (abi.DeriveInput, error) {
	in := abi.DeriveInput{Name: name, Format: "delta", Version: &s.table.Version, Files: make([]string, len(adds))}
	for i, a := range adds {
		path, absolute, err := deltalog.DecodePath(a.Path)
		if err != nil || absolute {
			return in, failure("the table has a file at "+a.Path+", outside of its folder, whose rows cannot be written again", "make a copy of the table that has all its files")
		}
		in.Files[i] = path
	}
	return in, nil
}

// kept is the SELECT list that makes of old rows those of the table with the write.
func (s *staging) kept() string {
	items := make([]string, len(s.schema.Fields))
	for i, f := range s.schema.Fields {
		if items[i] = predicate.Quote(f.Name); slices.Contains(s.state.added, f.Name) {
			items[i] = null(f)
		}
	}
	return strings.Join(items, ", ")
}

// union puts rows that stay behind those that arrived, and notes whose files go for them.
func (s *staging) union(adds []*deltalog.Add, where string, inputs ...abi.DeriveInput) (string, error) {
	for _, a := range adds {
		key, err := a.Key()
		if err != nil {
			return "", err
		}
		s.state.copied = append(s.state.copied, key)
	}
	names := make([]string, len(s.schema.Fields))
	for i, f := range s.schema.Fields {
		names[i] = predicate.Quote(f.Name)
	}
	sql := "SELECT " + list(names) + " FROM new UNION ALL SELECT " + list(names) + " FROM (SELECT " + s.kept() + " FROM old) AS old WHERE " + where
	return derive(s.h, sql, append(inputs, abi.DeriveInput{Name: "new", Relation: s.relation})...)
}
