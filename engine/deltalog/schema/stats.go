package schema

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// ColumnStats are those of one column of one file. Min and Max are texts as ParsePartition reads them, of any length; nil:
// unknown.
type ColumnStats struct {
	Path     []string // the names that lead to the column
	Nulls    int64
	Min, Max *string
}

// StatsRule says which columns of a table have statistics: the leading ones, structs counted by their fields, or those that
// are named. Partition columns have none and do not count.
type StatsRule struct {
	Leading int      // how many; below zero: all
	Columns []string // names with dots, if the table names them; then Leading does not count
}

// DefaultLeading is how many columns have statistics in a table that does not say.
const DefaultLeading = 32

// longestText is how many characters of a text the statistics hold.
const longestText = 32

// Stats gives the statistics of a file for its add: a JSON text. Texts are cut on character borders, an upper bound that was
// cut is rounded up; instants are rounded outwards to milliseconds; NaN and infinities, which JSON lacks, are left out, and
// so are bounds of kinds that readers do not compare.
func Stats(t Type, partition []string, mapping Mapping, rule StatsRule, rows int64, columns []ColumnStats) string {
	kept := map[string]*ColumnStats{}
	leading := rule.leaves(t, partition)
	for i := range columns {
		if name := strings.Join(columns[i].Path, "\x00"); leading[name] {
			kept[name] = &columns[i]
		}
	}
	w := &exactjson.Writer{}
	w.Object(func() {
		w.Name("numRecords").Long(rows)
		for _, part := range []struct {
			name  string
			value func(Type, *ColumnStats) []byte
		}{
			{"minValues", func(t Type, c *ColumnStats) []byte { return bound(t, c.Min, false) }},
			{"maxValues", func(t Type, c *ColumnStats) []byte { return bound(t, c.Max, true) }},
			{"nullCount", func(_ Type, c *ColumnStats) []byte { return strconv.AppendInt(nil, c.Nulls, 10) }},
		} {
			w.Name(part.name).Raw(mirror(t, "", mapping, kept, part.value))
		}
	})
	return string(w.Bytes())
}

// leaves gives the columns that have statistics, each as its names with zero bytes between.
func (r StatsRule) leaves(t Type, partition []string) map[string]bool {
	all := map[string]bool{}
	left := r.Leading
	if len(r.Columns) > 0 || left < 0 {
		left = math.MaxInt
	}
	var visit func(t Type, path []string, named bool)
	visit = func(t Type, path []string, named bool) {
		named = named || r.names(path)
		if t.Kind == Struct {
			for _, f := range t.Fields {
				if len(path) == 0 && contains(partition, f.Name) {
					continue
				}
				visit(f.Type, append(path[:len(path):len(path)], f.Name), named)
			}
			return
		}
		if left > 0 && (named || len(r.Columns) == 0) && t.Kind != Void {
			all[strings.Join(path, "\x00")] = true
			left--
		}
	}
	visit(t, nil, false)
	return all
}

func (r StatsRule) names(path []string) bool {
	for _, name := range r.Columns {
		if strings.EqualFold(strings.ReplaceAll(name, "`", ""), strings.Join(path, ".")) {
			return true
		}
	}
	return false
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// mirror gives one statistic of all columns as an object of the schema's shape; a column without it is not there.
func mirror(t Type, path string, mapping Mapping, kept map[string]*ColumnStats, value func(Type, *ColumnStats) []byte) []byte {
	w := &exactjson.Writer{}
	w.Object(func() {
		for _, f := range t.Fields {
			at := f.Name
			if path != "" {
				at = path + "\x00" + f.Name
			}
			if f.Type.Kind == Struct {
				if inner := mirror(f.Type, at, mapping, kept, value); len(inner) > len("{}") {
					w.Name(f.Physical(mapping)).Raw(inner)
				}
			} else if c := kept[at]; c != nil {
				if v := value(f.Type, c); v != nil {
					w.Name(f.Physical(mapping)).Raw(v)
				}
			}
		}
	})
	return w.Bytes()
}

// bound gives a least or greatest value as JSON; nil if it is unknown or cannot be told.
func bound(t Type, text *string, upper bool) []byte {
	if text == nil {
		return nil
	}
	if t.Kind == String {
		cut, ok := cutText(*text, upper)
		if !ok {
			return nil
		}
		return jsonText(cut)
	}
	if t.Kind == Boolean || t.Kind == Binary || !t.Leaf() || t.Kind == Array || t.Kind == Map {
		return nil
	}
	v, err := ParsePartition(t, *text, nil)
	if err != nil || v.IsNull() {
		return nil // what the engine prints and we cannot read is better unknown than wrong
	}
	switch t.Kind {
	case Float, Double:
		if math.IsNaN(v.f) || math.IsInf(v.f, 0) {
			return nil
		}
		if v.f == 0 { // some readers order the two zeros, and some take -0 for an integer, which has one
			if upper {
				return []byte("0.0")
			}
			return []byte("-0.0")
		}
		return []byte(v.Text())
	case Date:
		if !toldByAll(v.n * secondsPerDay) {
			return nil
		}
		return jsonText(v.Text())
	case Timestamp, TimestampNTZ:
		return instantBound(t, v.n, upper)
	}
	return []byte(v.Text())
}

// Years that readers find in a text: those of four digits.
const (
	firstSecond = -62_135_596_800 // 0001-01-01 00:00:00
	lastSecond  = 253_402_300_799 // 9999-12-31 23:59:59
)

func toldByAll(seconds int64) bool { return seconds >= firstSecond && seconds <= lastSecond }

// instantBound gives a bound of timestamps, in microseconds. In the last millisecond of the year 9999 there is none to round up
// to; as the protocol has it, readers take a millisecond for all of it.
func instantBound(t Type, micros int64, upper bool) []byte {
	if !toldByAll(floorDiv(micros, microsPerSecond)) {
		return nil
	}
	n := outwards(micros, upper)
	if !toldByAll(floorDiv(n, microsPerSecond)) {
		n = outwards(micros, false)
	}
	text := clockText(n, "T", 3, false)
	if t.Kind == Timestamp {
		text += "Z"
	}
	return jsonText(text)
}

func jsonText(s string) []byte {
	w := &exactjson.Writer{}
	w.Text(s)
	return w.Bytes()
}

// outwards rounds microseconds to milliseconds, so that the value stays a bound.
func outwards(micros int64, upper bool) int64 {
	if upper {
		return -floorDiv(-micros, 1000) * 1000
	}
	return floorDiv(micros, 1000) * 1000
}

// cutText cuts a text after 32 characters. What is cut off an upper bound is made up for by the next greater character; where
// there is none the bound is the text itself, because a reader can take one bound alone for a file without rows. False if it
// is no text.
func cutText(s string, upper bool) (string, bool) {
	if !utf8.ValidString(s) {
		return "", false
	}
	end := 0
	for range longestText {
		if end == len(s) {
			return s, true
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if end == len(s) {
		return s, true
	}
	whole := s
	s = s[:end]
	for upper && s != "" {
		char, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		if char++; char == 0xd800 {
			char = 0xe000 // no text has the surrogates between
		}
		if char <= utf8.MaxRune {
			return s + string(char), true
		}
	}
	if upper {
		return whole, true
	}
	return s, true
}
