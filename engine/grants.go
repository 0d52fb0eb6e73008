package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// relations is what one output's writer may do with rows. It sees handles only; which of them it may
// name is kept by package writer.
type relations struct {
	batch  *batch
	target plan.Target
}

func (r *relations) Schema(ctx context.Context, relation string) ([]abi.Column, error) {
	schema, err := r.batch.session.Schema(ctx, compute.Relation(relation))
	if err != nil {
		return nil, err
	}
	columns := make([]abi.Column, len(schema))
	for i, c := range schema {
		columns[i] = abi.Column{Name: c.Name, Type: c.Type}
	}
	return columns, nil
}

func (r *relations) Count(ctx context.Context, relation string) (int64, error) {
	return r.batch.session.Count(ctx, compute.Relation(relation))
}

func (r *relations) Encode(ctx context.Context, req abi.EncodeRequest) ([]abi.StagedFile, error) {
	encoded, err := r.batch.session.Encode(ctx, compute.Encode{
		Relation:       compute.Relation(req.Relation),
		Format:         req.Format,
		Dir:            r.batch.lease.Staging(r.target.Name),
		Suffix:         stagedSuffix,
		PartitionBy:    req.PartitionBy,
		OrderBy:        req.OrderBy,
		TargetFileSize: req.TargetFileSize,
		Options:        req.Options,
		Statistics:     req.Statistics,
		SkipEmpty:      req.SkipEmpty,
	})
	if err != nil {
		return nil, err
	}
	files := make([]abi.StagedFile, len(encoded))
	for i, e := range encoded {
		files[i] = abi.StagedFile{Name: e.Name, Partition: e.Partition, Rows: e.Rows, Bytes: e.Bytes}
		for _, c := range e.Columns {
			files[i].Columns = append(files[i].Columns, abi.ColumnStats{Name: c.Name, Nulls: c.Nulls, Min: c.Min, Max: c.Max})
		}
	}
	return files, nil
}

// Derive makes a relation of the writer's own SQL, which sees the relations that it names and no other.
func (r *relations) Derive(ctx context.Context, req abi.DeriveRequest) (string, error) {
	reads := map[string]compute.Relation{}
	for _, in := range req.Inputs {
		relation := compute.Relation(in.Relation)
		if in.Format != "" {
			var err error
			if relation, err = r.rowsOfTarget(ctx, in); err != nil {
				return "", err
			}
		}
		reads[in.Name] = relation
	}
	name := r.newName()
	err := r.batch.session.Prepare(ctx, []compute.Step{{Name: name, SQL: req.SQL, Reads: reads}}, nil)
	var e *compute.Error
	if errors.As(err, &e) && e.Kind == compute.QueryInvalid {
		return "", &abi.Failure{Code: abi.CodeInvalid, Message: e.Error(), Hint: e.Hint}
	}
	return name, err
}

// newName is for a relation of a writer's own. No name in a pipeline begins so: it cannot meet a step's.
func (r *relations) newName() string {
	r.batch.derived++
	return fmt.Sprintf("~%d", r.batch.derived)
}

// rowsOfTarget makes a relation of rows that are in the target, read as an input of its format reads them.
func (r *relations) rowsOfTarget(ctx context.Context, in abi.DeriveInput) (compute.Relation, error) {
	relation, _, err := r.batch.session.Input(ctx, compute.Input{Name: r.newName(), Format: in.Format, Path: r.target.Path, Version: in.Version, Files: in.Files, FileColumn: in.FileColumn})
	var e *compute.Error
	if errors.As(err, &e) && e.Kind == compute.BadOption {
		return "", &abi.Failure{Code: abi.CodeInvalid, Message: e.Error(), Hint: e.Hint}
	}
	return relation, err
}

func (r *relations) Rows(ctx context.Context, req abi.RowsRequest) (writer.RowStream, error) {
	return r.batch.session.Rows(ctx, compute.Relation(req.Relation), req.Columns)
}

// files is what one output's writer may do with files of its own making.
type files struct {
	batch  *batch
	target plan.Target
}

// Create makes a staged file. Its name is the engine's: a fresh UUID, in the folder of its partition.
func (f *files) Create(_ context.Context, req abi.FileCreateRequest) (writer.StagedFile, error) {
	folder, err := partitionFolder(f.target.PartitionBy, req.Partition)
	if err != nil {
		return nil, err
	}
	if req.Extension == "" || strings.ContainsAny(req.Extension, "/\\\x00") || strings.HasPrefix(req.Extension, ".") {
		return nil, &abi.Failure{Code: abi.CodeInvalid, Message: fmt.Sprintf("the extension %q cannot end a file name", req.Extension)}
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	staging := f.batch.lease.Staging(f.target.Name)
	// Folder by folder, and never the staging folder itself: where it was taken away, nothing may be made.
	made := staging
	for _, element := range strings.FieldsFunc(folder, func(r rune) bool { return r == '/' }) {
		made = filepath.Join(made, element)
		if err := f.batch.FS.Mkdir(made, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	name := path.Join(folder, "part-"+id.String()+"."+req.Extension+stagedSuffix)
	file, err := f.batch.FS.Create(filepath.Join(staging, filepath.FromSlash(name)), 0o666)
	if err != nil {
		return nil, err
	}
	return &stagedFile{File: file, name: name}, nil
}

type stagedFile struct {
	*fsops.File
	name string
}

func (s *stagedFile) Name() string { return s.name }

// hiveNull is the folder name that stands for a NULL.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// partitionFolder is the folder of a partition, as key=value/key=value in the order of the columns.
func partitionFolder(columns []string, values map[string]string) (string, error) {
	var elements []string
	for _, c := range columns {
		value, ok := values[c]
		switch {
		case !ok:
			value = hiveNull
		case value == "" || value == hiveNull || strings.EqualFold(value, "NULL"):
			return "", &abi.Failure{Code: abi.CodeInvalid, Message: fmt.Sprintf("partition column %s: readers could not tell the value %q from NULL", c, value)}
		default:
			value = hiveEscape(value)
		}
		elements = append(elements, hiveEscape(c)+"="+value)
	}
	for name := range values {
		if !slices.Contains(columns, name) {
			return "", &abi.Failure{Code: abi.CodeInvalid, Message: fmt.Sprintf("%s is not a partition column of the output", name)}
		}
	}
	return path.Join(elements...), nil
}

// hiveEscape percent-encodes all but letters, digits and "-_.~", as the compute engine's encoders do, so
// that a value names one folder whoever wrote it.
func hiveEscape(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// fixed are the partition_by columns that have the name of a variable of the batch, with its value.
func fixed(t plan.Target, b plan.Batch) map[string]string {
	values := map[string]string{}
	for _, by := range t.PartitionBy {
		for variable, value := range b.Variables {
			if strings.EqualFold(variable, by) && value != "" {
				values[by] = value
			}
		}
	}
	return values
}

// inSlice tells whether a folder of partitions lies in a slice, see sliceOf. Everything does if none is declared.
func inSlice(slice, part string) bool {
	if slice == "" {
		return true
	}
	have := strings.Split(part, "/")
	for i, want := range strings.Split(slice, "/") {
		if i >= len(have) || want != "*" && want != have[i] {
			return false
		}
	}
	return true
}

// sliceOf is the part of an output that the batch declares: the partition_by columns that have the name of
// a variable of the batch hold that variable's value. It gives the names of folders below each other, "*"
// for a column that is not fixed, down to the last one that is; "" if none is.
func sliceOf(t plan.Target, b plan.Batch, columns []abi.Column) string {
	var elements []string
	last, values := 0, fixed(t, b)
	for _, by := range t.PartitionBy {
		name, element := by, "*"
		if i := slices.IndexFunc(columns, func(c abi.Column) bool { return strings.EqualFold(c.Name, by) }); i >= 0 {
			name = columns[i].Name // folders have the relation's spelling
		}
		if value, ok := values[by]; ok {
			element = hiveEscape(name) + "=" + hiveEscape(value)
		}
		if elements = append(elements, element); element != "*" {
			last = len(elements)
		}
	}
	return path.Join(elements[:last]...)
}
