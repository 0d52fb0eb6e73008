package duckdb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones are known on machines that have none

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// A Delta table is read as its log says: the files of one version, each with the partition values that the log has for it and
// without the rows that its deletion vector names. Nothing is looked for in the folder.

// deltaOptions are those of an input of the format delta.
type deltaOptions struct {
	at   deltalog.At
	zone *time.Location // of partition values that are moments and have no zone
}

func readDeltaOptions(given map[string]string) (deltaOptions, []*compute.Error) {
	o := &options{what: "delta", given: given}
	read := deltaOptions{zone: time.UTC}
	version, moment, zone := o.text("version", ""), o.text("timestamp", ""), o.text("time_zone", "")
	if zone != "" {
		location, err := time.LoadLocation(zone)
		if err != nil || strings.EqualFold(zone, "local") {
			o.bad("time_zone", "a time zone, as Europe/Zurich")
		} else {
			read.zone = location
		}
	}
	if version != "" {
		n, err := strconv.ParseInt(version, 10, 64)
		if err != nil || n < 0 {
			o.bad("version", "the number of a version, from 0")
		}
		read.at.Version = &n
	}
	if moment != "" {
		t, ok := parseMoment(moment, read.zone)
		if !ok {
			o.bad("timestamp", "a time, as 2026-01-31T12:00:00Z or 2026-01-31 12:00:00")
		}
		read.at.Time = t
	}
	if version != "" && moment != "" {
		o.bad("timestamp", "possible beside version: one of them says which version is read")
	}
	return read, o.wrong()
}

// parseMoment reads a time; one without an offset is of the zone.
func parseMoment(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Version tells which version of a table an input would read now.
func (Engine) Version(ctx context.Context, in compute.Input) (*int64, error) {
	if in.Format != "delta" {
		return nil, nil
	}
	folder := &deltaFolder{root: filepath.Clean(in.Path)}
	defer folder.close()
	table, err := openDeltaTable(ctx, folder, in)
	if err != nil {
		return nil, inInput(err, in.Name)
	}
	return &table.snapshot.Version, nil
}

// deltaFiles lists the files of a table, as the log names them now.
func deltaFiles(ctx context.Context, in compute.Input) ([]compute.File, error) {
	folder := &deltaFolder{root: filepath.Clean(in.Path)}
	defer folder.close()
	table, err := openDeltaTable(ctx, folder, in)
	if err == nil {
		err = table.list(ctx, in.Files)
	}
	if err != nil {
		return nil, err
	}
	return table.pinned(), nil
}

// deltaTable is one version of a table.
type deltaTable struct {
	folder   *deltaFolder
	options  deltaOptions
	snapshot *deltalog.Snapshot
	schema   schema.Type
	files    []deltaFile // sorted by their partition values, and by their paths

	fileColumn string // name of a further column that has the names of the files; empty: there is none
}

// deltaFile is a file of it.
type deltaFile struct {
	compute.File
	add    *deltalog.Add
	name   string         // below the table's folder, or absolute, as the log means it
	values []schema.Value // of the partition columns
}

func openDeltaTable(ctx context.Context, folder *deltaFolder, in compute.Input) (*deltaTable, error) {
	o, wrong := readDeltaOptions(in.Options)
	if len(wrong) > 0 {
		return nil, wrong[0]
	}
	if in.Version != nil {
		o.at = deltalog.At{Version: in.Version}
	}
	info, err := os.Stat(folder.root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing(folder.root)
	case err != nil:
		return nil, unreadable(folder.root, err)
	case !info.IsDir():
		return nil, &compute.Error{Kind: compute.InputInvalid, File: folder.root, Message: "it is a file, and a Delta table is a folder", Hint: "name the folder that holds _delta_log"}
	}
	t := &deltaTable{folder: folder, options: o}
	if t.snapshot, err = deltalog.Open(ctx, folder, o.at); err == nil {
		t.schema, err = t.snapshot.CheckRead()
	}
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	return t, nil
}

// explain makes the error of a table that cannot be read.
func (t *deltaTable) explain(ctx context.Context, err error) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	var known *compute.Error
	if errors.As(err, &known) {
		return known
	}
	e := &compute.Error{Kind: compute.InputInvalid, File: t.folder.root, Message: err.Error(), Err: err}
	var hole *deltalog.HoleError
	var damaged *deltalog.DamagedError
	var version *deltalog.VersionError
	var unsupported *deltalog.UnsupportedError
	switch {
	case errors.Is(err, deltalog.ErrNotTable):
		e.Kind, e.Hint = compute.InputMissing, "name the folder that holds _delta_log"
	case errors.As(err, &version):
		e.Kind, e.Hint = compute.InputMissing, "older versions go when the log is cleaned up: ask for one that is there"
	case errors.As(err, &hole):
		e.Hint = "a table is never read shorter than its log says: bring the commit back, or read a version before it"
	case errors.As(err, &damaged):
		e.File, e.Line, e.Message = t.folder.at(damaged.File), int64(damaged.Line), damaged.Reason
		e.Hint = "bring the file back, or read a version that does not need it"
	case errors.As(err, &unsupported):
		e.Hint = "have its writer drop the feature, or make a copy without it"
	case parse(err).Type != "":
		e.Message = "a checkpoint cannot be read: " + parse(err).line()
	}
	return e
}

// list finds the live files, and looks at each. only, if not nil, are the ones that are wanted.
func (t *deltaTable) list(ctx context.Context, only []string) error {
	partition := t.partitionFields()
	var wanted map[string]bool
	if only != nil {
		wanted = map[string]bool{}
		for _, name := range only {
			wanted[name] = true
		}
	}
	for add, err := range t.snapshot.Files(ctx) {
		if err != nil {
			return t.explain(ctx, err)
		}
		name, absolute, err := deltalog.DecodePath(add.Path)
		if err != nil {
			return t.explain(ctx, err)
		}
		if wanted != nil && !wanted[name] {
			continue
		}
		delete(wanted, name)
		path := name
		if !absolute {
			path = t.folder.at(path)
		}
		if strings.Contains(path, "://") {
			return &compute.Error{Kind: compute.InputInvalid, File: t.folder.root, Message: "the table has a file at " + path, Hint: "paths are those of this machine: make a copy of the table without links to other places"}
		}
		file, err := t.pin(path)
		if err != nil {
			return err
		}
		f := deltaFile{File: file, add: add, name: name}
		for _, field := range partition {
			text, _ := add.PartitionText(field.Physical(t.snapshot.Mapping()))
			value, err := schema.ParsePartition(field.Type, text, t.options.zone)
			if err != nil {
				return &compute.Error{Kind: compute.InputInvalid, File: path, Column: field.Name, Message: "its partition value in the table's log is no " + field.Type.SQL() + ": " + err.Error(), Err: err}
			}
			f.values = append(f.values, value)
		}
		t.files = append(t.files, f)
	}
	for name := range wanted {
		return &compute.Error{Kind: compute.InputMissing, File: t.folder.at(name), Message: "the table's version " + strconv.FormatInt(t.snapshot.Version, 10) + " does not have this file"}
	}
	slices.SortFunc(t.files, func(a, b deltaFile) int {
		for i := range a.values {
			if order := a.values[i].Compare(b.values[i]); order != 0 {
				return order
			}
		}
		return strings.Compare(a.Path, b.Path)
	})
	return nil
}

// pin looks at a file that the log names. One that is gone is damage: the table would be shorter than its log says.
func (t *deltaTable) pin(path string) (compute.File, error) {
	file, err := pin(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, &compute.Error{Kind: compute.InputInvalid, File: path, Err: err,
			Message: "the table's version " + strconv.FormatInt(t.snapshot.Version, 10) + " has this file, and it is gone",
			Hint:    "a vacuum removes the files of old versions: read a newer version; if this is the newest, bring the file back"}
	}
	return file, err
}

func (t *deltaTable) pinned() []compute.File {
	files := make([]compute.File, len(t.files))
	for i, f := range t.files {
		files[i] = f.File
	}
	return files
}

// partitionFields are the columns whose values stand in the log, in the order that the table gives them.
func (t *deltaTable) partitionFields() (fields []schema.Field) {
	for _, name := range t.snapshot.Metadata.PartitionColumns {
		if f, ok := t.schema.Field(name); ok {
			fields = append(fields, f)
		}
	}
	return fields
}

// openDelta opens a table.
func (s *session) openDelta(ctx context.Context, in compute.Input, _ *rejects) (*input, string, error) {
	t, err := openDeltaTable(ctx, &deltaFolder{root: filepath.Clean(in.Path), ses: s}, in)
	if err == nil {
		err = t.list(ctx, in.Files)
	}
	if err != nil {
		return nil, "", err
	}
	columns := make([]compute.Column, len(t.schema.Fields))
	for i, f := range t.schema.Fields {
		columns[i] = compute.Column{Name: f.Name, Type: sqlType(f.Type)}
	}
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = quote(c.Name)
	}
	if len(in.Columns) > 0 {
		if err := checkDeclared(in, columns, t.folder.root); err != nil {
			return nil, "", err
		}
		items = items[:0]
		for _, c := range in.Columns {
			items = append(items, "CAST("+quote(c.Name)+" AS "+c.Type+") AS "+quote(c.Name))
		}
	}
	if in.FileColumn != "" {
		items = append(items, quote(in.FileColumn))
	}
	t.fileColumn = in.FileColumn
	rows, err := t.rows(ctx, s, in.Name)
	if err != nil {
		return nil, "", err
	}
	return &input{files: t.pinned()}, "SELECT " + strings.Join(items, ", ") + " FROM (" + rows + ")", nil
}
