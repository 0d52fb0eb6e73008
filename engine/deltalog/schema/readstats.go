package schema

import (
	"strings"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// FileStats is what the statistics of a file say of its columns. They are hints: what cannot be read is unknown, and a file
// without any may hold everything.
type FileStats struct {
	Rows    int64 // in the file, those of its deletion vector too; -1: unknown
	columns map[string]*Range
}

// Range bounds the values of one column of one file.
type Range struct {
	Min, Max Value // every value is between them; NULL: unknown
	NoNulls  bool  // no row is NULL
	AllNulls bool  // every row is
	nulls    int64
}

// Column gives what is known of a column, by the names that lead to it.
func (s *FileStats) Column(path ...string) Range {
	if r := s.columns[strings.Join(path, "\x00")]; r != nil {
		return *r
	}
	return Range{}
}

// ReadStats reads the statistics of an add. Other writers cut an upper bound of instants down to milliseconds, so it is taken
// for the last microsecond of its millisecond. Floating point has no upper bound: NaN is greater than all other values, and
// statistics leave it out.
func ReadStats(t Type, mapping Mapping, text string) FileStats {
	s := FileStats{Rows: -1, columns: map[string]*Range{}}
	r := exactjson.NewReader([]byte(text))
	r.Object(func(name []byte) {
		switch string(name) {
		case "numRecords":
			s.Rows = r.Long(64)
		case "minValues":
			s.each(r, t, mapping, "", func(c *Range, t Type, raw []byte) { c.Min = boundOf(t, raw, false) })
		case "maxValues":
			s.each(r, t, mapping, "", func(c *Range, t Type, raw []byte) { c.Max = boundOf(t, raw, true) })
		case "nullCount":
			s.each(r, t, mapping, "", func(c *Range, _ Type, raw []byte) { c.nulls = countOf(raw) })
		default:
			r.Raw()
		}
	})
	if r.End() != nil {
		return FileStats{Rows: -1}
	}
	for _, c := range s.columns {
		c.NoNulls, c.AllNulls = c.nulls == 0, c.nulls == s.Rows && s.Rows >= 0
	}
	return s
}

// each calls take for each column of one statistic that the schema has.
func (s *FileStats) each(r *exactjson.Reader, t Type, mapping Mapping, path string, take func(*Range, Type, []byte)) {
	r.Object(func(name []byte) {
		for _, f := range t.Fields {
			if f.Physical(mapping) != string(name) {
				continue
			}
			at := f.Name
			if path != "" {
				at = path + "\x00" + f.Name
			}
			if f.Type.Kind == Struct {
				s.each(r, f.Type, mapping, at, take)
				return
			}
			if s.columns[at] == nil {
				s.columns[at] = &Range{nulls: -1}
			}
			take(s.columns[at], f.Type, r.Raw())
			return
		}
		r.Raw()
	})
}

func countOf(raw []byte) int64 {
	r := exactjson.NewReader(raw)
	if r.Null() {
		return -1
	}
	if n := r.Long(64); r.End() == nil {
		return n
	}
	return -1
}

func boundOf(t Type, raw []byte, upper bool) Value {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if text = exactjson.NewReader(raw).Text(); t.Kind == String {
			return Value{kind: String, text: text}
		}
	}
	switch t.Kind {
	case Float, Double:
		if upper {
			return Value{}
		}
	case Boolean, Binary, String, Struct, Array, Map, Void:
		return Value{}
	}
	v, err := ParsePartition(t, text, nil)
	if err != nil || v.f != v.f {
		return Value{}
	}
	if upper && (t.Kind == Timestamp || t.Kind == TimestampNTZ) {
		v.n += 999
	}
	return v
}
