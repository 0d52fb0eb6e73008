package deltalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// feature is one of the protocol's table features, as far as this package goes with it. It is the one place that says so.
type feature struct {
	name   string
	reader int  // the reader version that has it without listing it; 0: must be listed; writerOnly: readers need not have it
	writer int  // the writer version that has it without listing it; 0: must be listed
	read   bool // a table with it is read right
	write  bool // a table with it is written right, as long as active is false
	// active says why a table cannot be written that makes use of the feature; empty if it does not.
	active func(*Metadata, schema.Type) string
}

const (
	firstListingReader = 3 // reader version from which on features are listed
	firstListingWriter = 7 // writer version from which on they are
)

// writerOnly marks a feature that asks nothing of readers.
const writerOnly = -1

// features gives what the protocol has ("Valid Feature Names in Table Features") and we do. A feature that is not in it, or
// is neither read nor written, is refused by its name.
func features() []feature {
	never := func(*Metadata, schema.Type) string { return "" }
	return []feature{
		{name: "appendOnly", reader: writerOnly, writer: 2, read: true, write: true, active: never},
		{name: "invariants", reader: writerOnly, writer: 2, read: true, write: true, active: never},
		{name: "checkConstraints", reader: writerOnly, writer: 3, read: true, write: true, active: never},
		{name: "changeDataFeed", reader: writerOnly, writer: 4, read: true, write: true, active: never},
		{name: "generatedColumns", reader: writerOnly, writer: 4, read: true, write: true, active: column("is generated from others", schema.Field.Generated)},
		{name: "columnMapping", reader: 2, writer: 5, read: true, write: true, active: mapped},
		{name: "identityColumns", reader: writerOnly, writer: 6, read: true, write: true, active: column("is counted up by the table", schema.Field.Identity)},
		{name: "allowColumnDefaults", reader: writerOnly, read: true, write: true, active: column("has a default", schema.Field.HasDefault)},
		{name: "deletionVectors", read: true, write: true, active: never},
		{name: "timestampNtz", read: true, write: true, active: never},
		{name: "typeWidening", read: true, write: true, active: never},
		{name: "typeWidening-preview", read: true, write: true, active: never},
		{name: "v2Checkpoint", read: true, write: true, active: never},
		{name: "vacuumProtocolCheck", read: true, write: true, active: never},
		{name: "domainMetadata", reader: writerOnly, read: true, write: true, active: never},
		{name: "inCommitTimestamp", reader: writerOnly, read: true, write: true, active: never},
		{name: "rowTracking", reader: writerOnly, read: true},
		{name: "clustering", reader: writerOnly, read: true},
		{name: "icebergCompatV1", reader: writerOnly, read: true},
		{name: "icebergCompatV2", reader: writerOnly, read: true},
		{name: "catalogManaged"},
		{name: "variantType"},
		{name: "variantShredding"},
	}
}

func column(what string, has func(schema.Field) bool) func(*Metadata, schema.Type) string {
	return func(_ *Metadata, t schema.Type) string {
		var found []string
		_ = t.Walk(func(path []string, f schema.Field) error {
			if has(f) {
				found = append(found, strings.Join(path, "."))
			}
			return nil
		})
		if found == nil {
			return ""
		}
		return "whose column " + strings.Join(found, ", ") + " " + what
	}
}

func mapped(m *Metadata, _ schema.Type) string {
	if mapping := m.Property(propMapping); mapping != "" && mapping != string(schema.MappingNone) {
		return "whose mapping is by " + mapping
	}
	return ""
}

// Properties of a table.
const (
	propMapping    = "delta.columnMapping.mode"
	propAppendOnly = "delta.appendOnly"
	propCDF        = "delta.enableChangeDataFeed"
	propConstraint = "delta.constraints."
)

func known(name string) (feature, bool) {
	all := features()
	i := slices.IndexFunc(all, func(f feature) bool { return f.name == name })
	if i < 0 {
		return feature{name: name}, false
	}
	return all[i], true
}

// readerNeeds gives the features that a reader must have.
func (p *Protocol) readerNeeds() []string {
	if p.MinReader >= firstListingReader {
		return p.ReaderFeatures
	}
	return implied(func(f feature) bool { return f.reader > 0 && f.reader <= p.MinReader })
}

// writerNeeds gives those that a writer must have.
func (p *Protocol) writerNeeds() []string {
	if p.MinWriter >= firstListingWriter {
		return p.WriterFeatures
	}
	return implied(func(f feature) bool { return f.writer > 0 && f.writer <= p.MinWriter })
}

func implied(has func(feature) bool) []string {
	var names []string
	for _, f := range features() {
		if has(f) {
			names = append(names, f.name)
		}
	}
	return names
}

// Has tells whether the table has a feature, listed or by its version.
func (p *Protocol) Has(name string) bool {
	return slices.Contains(p.writerNeeds(), name) || slices.Contains(p.readerNeeds(), name)
}

// CheckRead refuses a table that this package would read wrong. It gives the schema.
func (s *Snapshot) CheckRead() (schema.Type, error) {
	if s.Protocol.MinReader > firstListingReader || s.Protocol.MinReader < 1 {
		return schema.Type{}, &UnsupportedError{Reason: "it needs reader version " + strconv.Itoa(s.Protocol.MinReader) + " of the Delta protocol; this program has versions 1 to " + strconv.Itoa(firstListingReader)}
	}
	if missing := refused(s.Protocol.readerNeeds(), func(f feature) bool { return f.read }); missing != nil {
		return schema.Type{}, &UnsupportedError{Features: missing}
	}
	if s.Metadata.Provider != "parquet" {
		return schema.Type{}, &UnsupportedError{Reason: "its files are " + strconv.Quote(s.Metadata.Provider) + ", not parquet"}
	}
	if s.Metadata.SchemaString == "" {
		return schema.Type{}, &DamagedError{File: s.start(), Reason: "the table's metaData has no schema"}
	}
	t, err := schema.Parse(s.Metadata.SchemaString)
	if err == nil {
		err = schema.CheckMapping(t, s.Mapping())
	}
	if err == nil && (s.Protocol.Has("typeWidening") || s.Protocol.Has("typeWidening-preview")) {
		err = schema.CheckChanges(t)
	}
	if err != nil {
		return schema.Type{}, err
	}
	for _, name := range s.Metadata.PartitionColumns {
		if _, ok := t.Field(name); !ok {
			return schema.Type{}, &DamagedError{File: s.start(), Reason: "the partition column " + name + " is not in the table's schema"}
		}
	}
	return t, nil
}

// Mapping is how columns are found in data files. The property counts only if the protocol has the feature.
func (s *Snapshot) Mapping() schema.Mapping {
	if mapping := s.Metadata.Property(propMapping); mapping != "" && s.Protocol.Has("columnMapping") {
		return schema.Mapping(mapping)
	}
	return schema.MappingNone
}

func refused(names []string, does func(feature) bool) (missing []string) {
	for _, name := range names {
		if f, _ := known(name); !does(f) {
			missing = append(missing, name)
		}
	}
	return missing
}

// Duties are what a writer of a table must see to.
type Duties struct {
	Schema       schema.Type
	AppendOnly   bool        // no row may be changed or removed
	Conditions   []Condition // SQL that must be true for every row that is written
	ChangeFeed   bool        // changed rows must be written as such too; a commit that only adds and removes whole files need not
	OwnTimes     bool        // each commit holds its time
	NoCheckpoint string      // why no checkpoint may be made by WriteCheckpoint; empty: it may
}

// Condition is a CHECK constraint, for which NULL is a failure too, or the invariant of a column.
type Condition struct {
	Name string
	SQL  string
}

// CheckWrite refuses a table that this package would write wrong. Who can write can read.
func (s *Snapshot) CheckWrite() (Duties, error) {
	t, err := s.CheckRead()
	if err != nil {
		return Duties{}, err
	}
	if s.Protocol.MinWriter > firstListingWriter || s.Protocol.MinWriter < 1 {
		return Duties{}, &UnsupportedError{Writing: true, Reason: "it needs writer version " + strconv.Itoa(s.Protocol.MinWriter) + " of the Delta protocol; this program has versions 1 to " + strconv.Itoa(firstListingWriter)}
	}
	needs := s.Protocol.writerNeeds()
	if missing := refused(needs, func(f feature) bool { return f.write }); missing != nil {
		return Duties{}, &UnsupportedError{Writing: true, Features: missing}
	}
	for _, name := range needs {
		f, _ := known(name)
		if why := f.active(s.Metadata, t); why != "" {
			return Duties{}, &UnsupportedError{Writing: true, Features: []string{name}, Reason: why}
		}
	}
	if at := unwritable(t); at != "" {
		return Duties{}, &UnsupportedError{Writing: true, Reason: at + " has the type void where no data file can hold it"}
	}
	return s.duties(t)
}

// unwritable finds what no data file can hold (protocol, "Void Type"): a void within an array or map, and a struct, or a table,
// of nothing else.
func unwritable(t schema.Type) (at string) {
	allVoid := func(t schema.Type) bool {
		return t.Kind == schema.Struct && len(t.Fields) > 0 && !slices.ContainsFunc(t.Fields, func(f schema.Field) bool { return f.Type.Kind != schema.Void })
	}
	if allVoid(t) {
		return "every column"
	}
	_ = t.Walk(func(path []string, f schema.Field) error {
		inside := f.Type.Kind == schema.Array || f.Type.Kind == schema.Map
		if at == "" && (inside && f.Type.Has(schema.Void) || allVoid(f.Type)) {
			at = "its column " + strings.Join(path, ".")
		}
		return nil
	})
	return at
}

func (s *Snapshot) duties(t schema.Type) (Duties, error) {
	on := func(feature, property string) bool {
		return s.Protocol.Has(feature) && strings.EqualFold(s.Metadata.Property(property), "true")
	}
	d := Duties{
		Schema:     t,
		AppendOnly: on("appendOnly", propAppendOnly),
		ChangeFeed: on("changeDataFeed", propCDF),
		OwnTimes:   on("inCommitTimestamp", propICT),
	}
	if s.Protocol.MinWriter >= 3 && strings.EqualFold(s.Metadata.Property(propStatsStruct), "true") {
		d.NoCheckpoint = "the table wants statistics as columns in its checkpoints (" + propStatsStruct + ")"
	}
	if s.Protocol.Has("checkConstraints") {
		for _, p := range s.Metadata.Configuration {
			if name, ok := strings.CutPrefix(p.Name, propConstraint); ok && p.Value != nil {
				d.Conditions = append(d.Conditions, Condition{name, *p.Value})
			}
		}
	}
	if !s.Protocol.Has("invariants") {
		return d, nil
	}
	return d, t.Walk(func(path []string, f schema.Field) error {
		sql, err := f.Invariant()
		if err == nil && sql != "" {
			d.Conditions = append(d.Conditions, Condition{strings.Join(path, "."), sql})
		}
		return err
	})
}

// NewProtocol gives what a new table of a schema needs: versions 1 and 2, which every reader has, unless the schema needs
// more.
func NewProtocol(t schema.Type) *Protocol {
	p := &Protocol{MinReader: 1, MinWriter: 2}
	if t.Has(schema.TimestampNTZ) {
		return p.With("timestampNtz")
	}
	return p
}

// With gives the protocol with one more feature. What its versions had without listing it is listed then.
func (p *Protocol) With(name string) *Protocol {
	if p.Has(name) {
		return p
	}
	f, _ := known(name)
	q := &Protocol{MinReader: p.MinReader, MinWriter: firstListingWriter, ReaderFeatures: p.ReaderFeatures, other: p.other}
	q.WriterFeatures = append(slices.Clone(p.writerNeeds()), name)
	if f.reader != writerOnly {
		q.MinReader = firstListingReader
		q.ReaderFeatures = append(slices.Clone(p.readerNeeds()), name)
	}
	return q
}
