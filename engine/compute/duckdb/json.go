package duckdb

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// jsonOptions are the options of a json input.
type jsonOptions struct {
	layout          string // "auto", "lines" or "array"
	undeclared      string // what a key that is not declared is: "error" or "ignore"
	maxObject       int    // bytes
	dateFormat      string // as of csv
	timestampFormat string
	timeZone        string
	skipEmpty       bool // as of csv
	partitions      bool
	textCoding
}

func readJSONOptions(given map[string]string) (jsonOptions, []*compute.Error) {
	o := &options{what: "json", given: given}
	j := jsonOptions{
		layout:          o.text("layout", "auto"),
		undeclared:      o.text("undeclared", "error"),
		maxObject:       o.integer("max_object_size", 16<<20, 16<<20, maxLineSize),
		dateFormat:      o.text("date_format", ""),
		timestampFormat: o.text("timestamp_format", ""),
		timeZone:        o.text("time_zone", ""),
		skipEmpty:       o.choice("empty_files", "error", "skip") == "skip",
		partitions:      o.boolean("partitions", false),
		textCoding:      o.textCoding(),
	}
	if j.layout != "auto" && j.layout != "lines" && j.layout != "array" {
		o.bad("layout", "lines, array or auto")
	}
	if j.undeclared != "error" && j.undeclared != "ignore" {
		o.bad("undeclared", "error or ignore")
	}
	return j, o.wrong()
}

// jsonInput is an input whose rows are objects: one on each line of a file, or the elements of one array. A key is a column
// of exactly that name; an object without it has NULL there.
type jsonInput struct {
	options jsonOptions
	columns []compute.Column // of the files
	types   []*jsonType      // of columns
	paths   pathColumns
	careful bool // DuckDB cannot read the files
	lines   jsonGroup
	arrays  jsonGroup
}

func (s *session) openJSON(ctx context.Context, in compute.Input, r *rejects) (*input, string, error) {
	o, wrong := readJSONOptions(in.Options)
	if len(wrong) > 0 {
		return nil, "", wrong[0]
	}
	f, err := filesOf(in)
	if err != nil {
		return nil, "", err
	}
	if err := s.checkTimes(ctx, o.timeZone, o.dateFormat, o.timestampFormat); err != nil {
		return nil, "", err
	}
	j := &jsonInput{options: o, columns: in.Columns, arrays: jsonGroup{array: true}, careful: !o.usual()}
	if o.partitions {
		if j.columns, j.paths, err = splitColumns(in.Columns, f); err != nil {
			return nil, "", err
		}
		if err = s.checkFolders(ctx, j.paths.keys); err != nil {
			return nil, "", err
		}
	}
	for _, file := range f.files {
		if file.Size == 0 && o.skipEmpty {
			continue
		}
		if err := o.whole(ctx, file, nil); err != nil {
			return nil, "", err
		}
		array, marked, err := o.look(file.Path)
		if err != nil {
			return nil, "", err
		}
		j.careful = j.careful || marked && !array // DuckDB takes the mark for a part of the first line
		if array {
			j.arrays.files = append(j.arrays.files, file)
		} else {
			j.lines.files = append(j.lines.files, file)
		}
	}
	opened := &input{files: f.files, json: j}
	if len(in.Columns) == 0 {
		root := &shape{}
		if j.columns, err = j.infer(ctx, root); err != nil {
			return nil, "", err
		}
		if opened.missing, err = j.asKnown(ctx, s, in.Known, root); err != nil {
			return nil, "", err
		}
		if err := j.someColumn(f.files[0].Path); err != nil {
			return nil, "", err
		}
	}
	if err := j.paths.clash(j.columns, f.files[0].Path); err != nil {
		return nil, "", err
	}
	for _, c := range j.columns {
		t, err := s.jsonType(ctx, c)
		if err != nil {
			return nil, "", err
		}
		j.types = append(j.types, t)
	}
	if j.careful && r == nil {
		if err := j.load(ctx, s, in.Name, nil); err != nil {
			return nil, "", err
		}
	}
	query, err := j.query(ctx, s, in.Columns)
	return opened, query, err
}

// look reads the first bytes of a file: whether it is one array, and whether it begins with a byte order mark.
func (o jsonOptions) look(name string) (array, marked bool, err error) {
	text, err := o.open(name)
	if err != nil {
		return false, false, unreadable(name, err)
	}
	defer text.Close() // only read
	r := bufio.NewReader(text)
	begin, _ := r.Peek(4)
	if what, hint := o.noText(begin); what != "" {
		return false, false, &compute.Error{Kind: compute.InputInvalid, File: name, Message: what, Hint: hint}
	}
	marked = passMark(r)
	for {
		switch c, err := r.ReadByte(); {
		case errors.Is(err, io.EOF):
			return o.layout == "array", marked, nil
		case err != nil:
			return false, false, unreadable(name, err)
		case strings.IndexByte(" \t\r\n", c) < 0:
			return o.layout == "array" || o.layout == "auto" && c == '[', marked, nil
		}
	}
}

// passMark passes a byte order mark, and tells whether there was one.
func passMark(r *bufio.Reader) bool {
	if b, _ := r.Peek(3); !bytes.Equal(b, []byte("\xef\xbb\xbf")) {
		return false
	}
	_, _ = r.Discard(3) // peeked
	return true
}

// objects is the SQL that reads the values of files, with every number as it is written, in a column called json.
func (j *jsonInput) objects(g jsonGroup) string {
	layout := "newline_delimited"
	if g.array {
		layout = "array"
	}
	if g.table != "" {
		return j.loadedObjects(g)
	}
	return fmt.Sprintf("(SELECT * REPLACE (%s AS json) FROM read_json_objects(%s, format = '%s', maximum_object_size = %d, hive_partitioning = false%s%s))",
		exactNumbers("CAST(json AS VARCHAR)"), fileList(g.files), layout, j.options.maxObject, j.options.option(), j.paths.option())
}

// query is the SQL of the whole relation.
func (j *jsonInput) query(ctx context.Context, s *session, declared []compute.Column) (string, error) {
	fits, err := j.fits(ctx, s)
	if err != nil {
		return "", err
	}
	items := make([]string, len(j.columns))
	for i, f := range fits {
		if items[i] = quote(fmt.Sprintf("c%d", i)); f == nil {
			var err error
			if items[i], err = j.types[i].nested(j.options, items[i]); err != nil {
				return "", inColumn(err, j.columns[i].Name)
			}
		} else {
			items[i] = f.convert()
		}
		items[i] += " AS " + quote(j.columns[i].Name)
	}
	parts := []string{}
	for _, g := range j.groups() {
		parts = append(parts, "SELECT "+j.paths.selectItems(declared, j.columns, items)+" FROM "+j.texts(j.objects(*g)))
	}
	if len(parts) == 0 {
		return noRows(declared), nil
	}
	return strings.Join(parts, " UNION ALL "), nil
}

// jsonGroup is the files of one layout.
type jsonGroup struct {
	files []compute.File
	array bool
	table string // the table that its objects were read into; empty: DuckDB reads the files
}

// groups are those that have files.
func (j *jsonInput) groups() (groups []*jsonGroup) {
	for _, g := range []*jsonGroup{&j.lines, &j.arrays} {
		if len(g.files) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// texts is the SQL that takes the objects apart: of a column with a plain value its text, of another its JSON, as c0, c1, …
func (j *jsonInput) texts(objects string) string {
	keys := make([]string, len(j.columns))
	items := make([]string, len(j.columns))
	for i, c := range j.columns {
		keys[i] = c.Name
		items[i] = fmt.Sprintf("struct_extract_at(json, %d)", i+1)
		if j.types[i].plain() {
			items[i] = plainText(items[i], notPlain)
		}
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	if len(j.paths.keys) > 0 {
		items = append(items, quote(fileColumn))
	}
	return fmt.Sprintf("(SELECT %s FROM (SELECT * REPLACE (%s AS json) FROM %s))", strings.Join(items, ", "), j.options.apart("json", keys), objects)
}

// fits gives the conversions of the columns with plain values; nil for the others.
func (j *jsonInput) fits(ctx context.Context, s *session) ([]*fit, error) {
	fits := make([]*fit, len(j.columns))
	for i, t := range j.types {
		if !t.plain() {
			continue
		}
		f, err := j.options.fit(fmt.Sprintf("c%d", i), t.name)
		if err != nil {
			return nil, inColumn(err, j.columns[i].Name)
		}
		if err := s.quicken(ctx, &f); err != nil {
			return nil, err
		}
		fits[i] = &f
	}
	return fits, nil
}

func (o jsonOptions) fit(column, typ string) (fit, error) {
	return fitFor(column, typ, csvOptions{decimal: ".", dateFormat: o.dateFormat, timestampFormat: o.timestampFormat, timeZone: o.timeZone})
}
