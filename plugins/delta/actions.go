package delta

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
)

// engineName is what commits say that they are made by.
const engineName = "ubunye"

// encode makes the commit that follows the newest one.
func (c *committing) encode() (data []byte, version int64, err error) {
	adds, err := c.adds()
	if err != nil {
		return nil, 0, err
	}
	removes, err := c.removes(adds)
	if err != nil {
		return nil, 0, err
	}
	info, err := c.info()
	if err != nil {
		return nil, 0, err
	}
	commit := &deltalog.Commit{}
	if c.table != nil {
		commit.Version = c.table.Version + 1
	}
	commit.Actions = append(commit.Actions, deltalog.Action{CommitInfo: info})
	commit.Actions = append(commit.Actions, c.words()...)
	for _, r := range removes {
		commit.Actions = append(commit.Actions, deltalog.Action{Remove: r})
	}
	for _, a := range adds {
		commit.Actions = append(commit.Actions, deltalog.Action{Add: a})
	}
	data, err = commit.Encode()
	return data, commit.Version, err
}

// words are the actions about the table and the batch.
func (c *committing) words() (all []deltalog.Action) {
	switch {
	case c.table == nil:
		all = append(all, deltalog.Action{Protocol: deltalog.NewProtocol(c.schema)}, deltalog.Action{Metadata: c.metadata()})
	case len(c.state.added) > 0:
		if c.schema.Has(schema.TimestampNTZ) && !c.table.Protocol.Has("timestampNtz") {
			all = append(all, deltalog.Action{Protocol: c.table.Protocol.With("timestampNtz")})
		}
		m := *c.table.Metadata
		m.SchemaString = c.state.schema
		all = append(all, deltalog.Action{Metadata: &m})
	}
	now := c.now
	if id := c.out.Options[optAppID]; id != "" {
		return append(all, deltalog.Action{Txn: &deltalog.Txn{AppID: id, Version: c.ownVersion(), LastUpdated: &now}})
	}
	for _, key := range batchKeys(c.req.Batch) {
		all = append(all, deltalog.Action{Txn: &deltalog.Txn{AppID: key, Version: c.req.Batch.Epoch, LastUpdated: &now}})
	}
	return all
}

func (c *committing) metadata() *deltalog.Metadata {
	now := c.now
	return &deltalog.Metadata{ID: guid(), Provider: "parquet", SchemaString: c.state.schema, PartitionColumns: c.state.partition, CreatedTime: &now}
}

// guid makes the id of a new table, a random UUID (RFC 9562, version 4).
func guid() string {
	const hex = "0123456789abcdef"
	high, low := rand.Uint64(), rand.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 2<<62
	var text []byte
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			text = append(text, '-')
		}
		half := high
		if i >= 16 {
			half = low
		}
		text = append(text, hex[half>>(60-4*(i%16))&15])
	}
	return string(text)
}

func (c *committing) info() (*deltalog.CommitInfo, error) {
	p := deltalog.Provenance{ID: c.id, Timestamp: c.now, Operation: "WRITE", Engine: engineName, BlindAppend: !replaces(c.out)}
	p.Parameters = c.parameters(&p.Operation)
	run := c.req.Batch.Run
	p.More = append(p.More, deltalog.Pair{Name: wordRun, Value: &run})
	if read := string(c.req.Batch.Range); read != "" && read != "null" {
		p.More = append(p.More, deltalog.Pair{Name: wordRange, Value: &read})
	}
	if c.table == nil {
		return p.Info(), nil
	}
	version := c.table.Version
	p.ReadVersion = &version
	if c.table.duties.OwnTimes {
		before, err := c.table.CommitInfo(context.Background())
		if err != nil {
			return nil, err
		}
		own := deltalog.CommitTime(c.now, before)
		p.OwnTime = &own
	}
	return p.Info(), nil
}

// parameters say what the operation was, in the words that other writers use.
func (c *committing) parameters(operation *string) (all []deltalog.Pair) {
	put := func(name, value string) { all = append(all, deltalog.Pair{Name: name, Value: &value}) }
	switch {
	case c.out.Mode == modeMerge:
		*operation = "MERGE"
		put("keys", list(c.out.Keys))
		return all
	case replaces(c.out):
		put("mode", "Overwrite")
	case c.out.Mode == modeAppend:
		put("mode", "Append")
	default:
		put("mode", "ErrorIfExists")
	}
	if c.out.ReplaceWhere != "" {
		put("predicate", c.out.ReplaceWhere)
	}
	return all
}

// adds are the staged files. One without rows is left out: it would say nothing.
func (c *committing) adds() (all []*deltalog.Add, err error) {
	rule := (&deltalog.Metadata{}).StatsRule()
	if c.table != nil {
		rule = c.table.Metadata.StatsRule()
	}
	for _, f := range c.req.Files {
		if f.Rows == 0 {
			continue
		}
		partition, err := c.values(f)
		if err != nil {
			return nil, err
		}
		columns := make([]schema.ColumnStats, len(f.Columns))
		for i, s := range f.Columns {
			columns[i] = schema.ColumnStats{Path: []string{s.Name}, Nulls: s.Nulls, Min: s.Min, Max: s.Max}
		}
		all = append(all, &deltalog.Add{
			Path: deltalog.EncodePath(f.Name), Partition: partition, Size: f.Bytes, ModificationTime: c.now, DataChange: true,
			Stats: schema.Stats(c.schema, c.state.partition, schema.MappingNone, rule, f.Rows, columns),
		})
	}
	return all, nil
}

// values are a file's partition values as the log writes them.
func (c *committing) values(f abi.StagedFile) (all []deltalog.Pair, err error) {
	for _, name := range c.state.partition {
		pair := deltalog.Pair{Name: name}
		field, _ := c.schema.Field(name)
		if text, ok := f.Partition[name]; ok {
			v, err := schema.ParsePartition(field.Type, text, nil)
			if err != nil || v.IsNull() {
				return nil, errors.New("the partition value " + strconv.Quote(text) + " of column " + name + " is no " + field.Type.String())
			}
			value := v.Text()
			pair.Value = &value
		} else if !field.Nullable {
			return nil, errors.New("rows have no value in the partition column " + name + ", which the table does not allow")
		}
		all = append(all, pair)
	}
	return all, nil
}

// removes are the files that go.
func (c *committing) removes(adds []*deltalog.Add) (all []*deltalog.Remove, err error) {
	if c.table == nil || !replaces(c.out) {
		return nil, nil
	}
	goes, err := c.goes(adds)
	if err != nil {
		return nil, err
	}
	copied := map[string]bool{}
	for _, key := range c.state.copied {
		copied[key] = true
	}
	for add, err := range c.table.Files(context.Background()) {
		if err != nil {
			return nil, err
		}
		key, err := add.Key()
		if err != nil {
			return nil, err
		}
		match := predicate.All
		if !copied[key] {
			match = goes(add)
		}
		switch match {
		case predicate.All:
			delete(copied, key)
			all = append(all, add.Remove(c.now, true))
		case predicate.Some:
			return nil, conflict("the file " + add.Path + ", which has come since the rows were made, may have rows on both sides of the condition")
		}
	}
	if len(copied) > 0 {
		return nil, conflict("files whose rows were written again are not in the table any more")
	}
	return all, nil
}

// goes tells which files go whole.
func (c *committing) goes(adds []*deltalog.Add) (func(*deltalog.Add) predicate.Match, error) {
	always := func(m predicate.Match) func(*deltalog.Add) predicate.Match {
		return func(*deltalog.Add) predicate.Match { return m }
	}
	where := c.where()
	switch {
	case c.out.Mode == modeMerge:
		return always(predicate.None), nil
	case where != nil:
		return func(a *deltalog.Add) predicate.Match { return c.table.match(where, a) }, nil
	case c.out.Mode == modePartitions:
		has := map[string]bool{}
		for _, a := range adds {
			key, err := c.partition(a)
			if err != nil {
				return nil, err
			}
			has[key] = true
		}
		return func(a *deltalog.Add) predicate.Match {
			if key, err := c.partition(a); err == nil && has[key] || c.declared(a) {
				return predicate.All
			}
			return predicate.None
		}, nil
	}
	return always(predicate.All), nil
}

// declared tells whether a file is of the slice that the batch declares, which is replaced also by nothing.
func (c *committing) declared(a *deltalog.Add) bool {
	matched := false
	for _, name := range c.state.partition {
		for column, want := range c.out.Slice {
			if !strings.EqualFold(column, name) {
				continue
			}
			field, _ := c.schema.Field(name)
			text, _ := a.PartitionText(name)
			value, err := schema.ParsePartition(field.Type, text, nil)
			wanted, wantErr := schema.ParsePartition(field.Type, want, nil)
			if err != nil || wantErr != nil || value.IsNull() || value.Compare(wanted) != 0 {
				return false
			}
			matched = true
		}
	}
	return matched
}

// partition tells the partitions of a table apart, however their values are written.
func (c *committing) partition(a *deltalog.Add) (string, error) {
	var key []byte
	for _, name := range c.state.partition {
		field, _ := c.schema.Field(name)
		text, ok := a.PartitionText(name)
		if !ok {
			key = append(key, 0)
			continue
		}
		v, err := schema.ParsePartition(field.Type, text, nil)
		if err != nil {
			return "", err
		}
		key = strconv.AppendQuote(append(key, 1), v.Text())
	}
	return string(key), nil
}
