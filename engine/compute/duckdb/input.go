package duckdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// input is what the session knows of an input after it was opened; blame reads it after a failure.
type input struct {
	files   []compute.File
	csv     *csvInput     // nil if not csv
	json    *jsonInput    // nil if not json
	parquet *parquetInput // nil if not parquet
	missing []string      // columns that no file has
	rejects *rejects      // nil: a row that cannot be read is an error
}

// Files lists the files of an input.
func (Engine) Files(ctx context.Context, in compute.Input) ([]compute.File, error) {
	if in.Format == rowsFormat {
		return nil, nil
	}
	if in.Format == "delta" {
		files, err := deltaFiles(ctx, in)
		return files, inInput(err, in.Name)
	}
	f, err := filesOf(in)
	return f.files, inInput(err, in.Name)
}

// inInput notes which input an error is about.
func inInput(err error, name string) error {
	var e *compute.Error
	if errors.As(err, &e) {
		e.Input = name
	}
	return err
}

// SaysColumns tells it of the formats with a schema.
func (Engine) SaysColumns(format string) bool {
	return format == "parquet" || format == "delta" || format == rowsFormat
}

// rowsFormat is the format of inputs that have a Source.
const rowsFormat = "jdbc"

// Input opens files as a relation.
func (s *session) Input(ctx context.Context, in compute.Input) (compute.Relation, []compute.File, error) {
	rel, err := s.openInput(ctx, in)
	if err != nil {
		return "", nil, inInput(err, in.Name)
	}
	s.add(rel)
	if r := rel.input.rejects; r != nil {
		s.add(&relation{name: in.Rejects.Relation, kept: true})
	}
	return compute.Relation(rel.name), slices.Clone(rel.input.files), nil
}

// opener opens files of one format, and gives the SQL of their rows. What it reads itself at once and is not as declared goes to
// the rejects, if there are any.
type opener func(context.Context, compute.Input, *rejects) (*input, string, error)

func (s *session) openInput(ctx context.Context, in compute.Input) (*relation, error) {
	if err := s.checkName(in.Name); err != nil {
		return nil, err
	}
	for i, c := range in.Columns {
		typ, err := s.typeName(ctx, c.Type)
		if err != nil {
			return nil, inColumn(err, c.Name)
		}
		if e := sameName(in.Columns[:i], c); e != nil {
			return nil, e
		}
		if i == 0 {
			in.Columns = slices.Clone(in.Columns)
		}
		in.Columns[i].Type = typ
	}
	if in.Source != nil {
		return s.openSource(ctx, in)
	}
	var open opener
	switch in.Format {
	case "csv":
		open = s.openCSV
	case "json":
		open = s.openJSON
	case "parquet":
		open = s.openParquet
	case "delta":
		open = s.openDelta
	default:
		return nil, unknownFormat(in.Format)
	}
	if in.Pinned != nil && len(in.Pinned) == 0 {
		if len(in.Columns) == 0 && len(in.Known) > 0 {
			in.Columns = in.Known[0]
		}
		open = openNothing
	}
	opened, query, err := &input{}, noRows(in.Columns), error(nil)
	switch {
	case in.Format == "delta": // its log says which files and columns there are
		opened, query, err = open(ctx, in, nil)
	case in.Files != nil && len(in.Columns) == 0:
		return nil, &compute.Error{Kind: compute.BadOption, Message: "named files are read with declared columns only"}
	case in.Files != nil && len(in.Files) == 0:
	case in.Encoded:
		opened, query, err = openEncoded(ctx, in, open)
	case in.Rejects != nil:
		return s.openRejecting(ctx, in, open)
	default:
		opened, query, err = open(ctx, in, nil)
	}
	if err != nil {
		return nil, err
	}
	if err := s.exec(ctx, "CREATE VIEW "+quote(in.Name)+" AS "+query); err != nil {
		return nil, s.fail(ctx, err, "opening the input failed")
	}
	return &relation{name: in.Name, input: opened}, nil
}

// openNothing opens an input none of whose files is to be read.
func openNothing(_ context.Context, in compute.Input, _ *rejects) (*input, string, error) {
	if len(in.Columns) == 0 {
		return nil, "", &compute.Error{Kind: compute.BadOption, Message: "none of its files is to be read, and nothing else tells its columns", Hint: "declare the columns"}
	}
	return &input{}, noRows(in.Columns), nil
}

// options reads format options; every key must be read by somebody.
type options struct {
	what     string // "csv", for messages
	given    map[string]string
	known    []string
	mistakes []*compute.Error // one an option at most
}

func (o *options) bad(key, want string) {
	if !slices.ContainsFunc(o.mistakes, func(e *compute.Error) bool { return e.Option == key }) {
		o.mistakes = append(o.mistakes, &compute.Error{Kind: compute.BadOption, Option: key, Message: fmt.Sprintf("option %s: %q is not %s", key, o.given[key], want)})
	}
}

func (o *options) text(key, otherwise string) string {
	o.known = append(o.known, key)
	v, ok := o.given[key]
	if !ok {
		return otherwise
	}
	if strings.ContainsRune(v, 0) {
		o.bad(key, "text without NUL bytes")
	}
	return v
}

func (o *options) boolean(key string, otherwise bool) bool {
	switch o.text(key, strconv.FormatBool(otherwise)) {
	case "true":
		return true
	case "false":
		return false
	}
	o.bad(key, "true or false")
	return false
}

// choice gives one of some words, of which the first is the default.
func (o *options) choice(key string, words ...string) string {
	v := o.text(key, words[0])
	if !slices.Contains(words, v) {
		last := len(words) - 1
		o.bad(key, strings.Join(words[:last], ", ")+" or "+words[last])
	}
	return v
}

func (o *options) integer(key string, otherwise, least, most int) int {
	n, err := strconv.Atoi(o.text(key, strconv.Itoa(otherwise)))
	if err != nil || n < least || n > most {
		o.bad(key, fmt.Sprintf("a number from %d to %d", least, most))
	}
	return n
}

// wrong gives all mistakes, unknown options first.
func (o *options) wrong() (wrong []*compute.Error) {
	for _, key := range slices.Sorted(maps.Keys(o.given)) {
		if !slices.Contains(o.known, key) {
			wrong = append(wrong, &compute.Error{Kind: compute.BadOption, Option: key, Message: fmt.Sprintf("%s has no option %s", o.what, key), Hint: didYouMean(key, o.known)})
		}
	}
	return append(wrong, o.mistakes...)
}

// done gives the first mistake.
func (o *options) done() error {
	if wrong := o.wrong(); len(wrong) > 0 {
		return wrong[0]
	}
	return nil
}

// fileList makes an SQL list of file names. DuckDB expands patterns in lists too, so the pattern characters of real
// names are put into brackets.
func fileList(files []compute.File) string {
	escape := strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]")
	var b strings.Builder
	for i, f := range files {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(literal(escape.Replace(f.Path)))
	}
	return "[" + b.String() + "]"
}

// match finds for each declared column its place in header. problem tells what does not fit, by name.
func match(declared []compute.Column, header []string, unknownToo bool) (places []int, problem string, hint string) {
	at := map[string]int{}
	var twice []string
	for i, name := range header {
		key := strings.ToLower(name)
		first, again := at[key]
		switch {
		case !again:
			at[key] = i
		case header[first] == name && name != "":
			twice = append(twice, fmt.Sprintf("columns %d and %d are both called %q", first+1, i+1, name))
		case name != "":
			twice = append(twice, fmt.Sprintf("columns %d and %d are called %q and %q, which differ only in case", first+1, i+1, header[first], name))
		}
	}
	if len(twice) > 0 {
		return nil, strings.Join(twice, "; "), "names are compared without regard to case: rename them in the file; or declare the columns in the order of the file, and set header to false and skip to 1"
	}
	var absent []string
	used := map[int]bool{}
	for _, c := range declared {
		i, ok := at[strings.ToLower(c.Name)]
		if !ok {
			absent = append(absent, c.Name)
			continue
		}
		places = append(places, i)
		used[i] = true
	}
	var unknown []string
	for i, name := range header {
		if !used[i] && unknownToo {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if len(absent) > 0 {
		problem = "it has no column " + strings.Join(absent, ", ")
	}
	if len(unknown) > 0 {
		if problem != "" {
			problem += ", and "
		} else {
			problem = "it "
		}
		problem += "has a column that is not declared: " + strings.Join(unknown, ", ")
	}
	if problem != "" {
		const most = 20
		hint = "the file has: " + strings.Join(header[:min(most, len(header))], ", ")
		if len(header) > most {
			hint += fmt.Sprintf(" and %d more", len(header)-most)
		}
	}
	return places, problem, hint
}
