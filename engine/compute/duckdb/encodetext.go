package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// DuckDB's own COPY to json has no partitions and rounds numbers of more than 17 digits inside JSON values. So the text of
// a row is made here, by SQL, and COPY to csv without quotes writes it; csv columns need the same care in fewer places.

// textCompressions are the names of options, and the endings of file names.
var textCompressions = map[string]string{"none": "", "gzip": ".gz", "zstd": ".zst"}

// textFormat is what csv and json have in common.
type textFormat struct {
	name            string // "csv", "json"
	compression     string // a key of textCompressions
	dateFormat      string // strftime; empty: ISO 8601
	timestampFormat string
}

func readTextFormat(o *options, name string) textFormat {
	t := textFormat{
		name:            name,
		compression:     o.text("compression", "none"),
		dateFormat:      o.text("date_format", ""),
		timestampFormat: o.text("timestamp_format", ""),
	}
	if _, ok := textCompressions[t.compression]; !ok {
		o.bad("compression", "one of gzip, none, zstd")
	}
	return t
}

func (t textFormat) extension() string { return t.name + textCompressions[t.compression] }

// copyText runs a COPY to csv.
func (t textFormat) copyText(ctx context.Context, s *session, e *encoding, query, more string, r records) ([]compute.Encoded, error) {
	compression := ", COMPRESSION " + literal(t.compression)
	target, options := e.target(t.extension())
	ending := textCompressions[t.compression]
	if e.many() && ending != "" {
		// DuckDB puts the ending of the compression behind every other. Until they are renamed, the names begin with
		// "_", which readers of folders leave out.
		options = e.manyOptions("_part-", t.name+e.Suffix)
	}
	said, err := s.copyWithFiles(ctx, fmt.Sprintf("COPY (%s) TO %s (FORMAT csv, RETURN_FILES true%s%s%s)", query, literal(target), compression, more, options))
	if err != nil {
		return nil, err
	}
	if e.many() && ending != "" {
		if err := s.renameAll(said.names, e.Suffix+ending, ending+e.Suffix); err != nil {
			return nil, err
		}
	}
	files, err := said.encoded(e)
	if err != nil || len(files) < 2 {
		return files, err
	}
	return files, r.countAll(ctx, e, files, ending, said.rows)
}

// copied is what COPY says of its files.
type copied struct {
	rows  int64 // of all files together
	names []string
}

func (s *session) copyWithFiles(ctx context.Context, query string) (copied, error) {
	var c copied
	err := s.queryAll(ctx, query, nil, func(rows *sql.Rows) error {
		var names []any
		if err := rows.Scan(&c.rows, &names); err != nil {
			return err
		}
		for _, n := range names {
			name, _ := n.(string)
			c.names = append(c.names, name)
		}
		return nil
	})
	slices.Sort(c.names)
	return c, err
}

// renameAll gives files of the output their names: another ending, and no "_" in front.
func (s *session) renameAll(names []string, from, to string) error {
	if s.rename == nil {
		return &compute.Error{Kind: compute.OutputFailed, Message: "the session was opened without a way to rename files"}
	}
	for i, name := range names {
		base := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(name), from), "_") + to
		names[i] = filepath.Join(filepath.Dir(name), base)
		if err := s.rename(name, names[i]); err != nil {
			return &compute.Error{Kind: compute.OutputFailed, File: name, Message: "renaming failed: " + err.Error(), Err: err}
		}
	}
	return nil
}

// encoded describes the files. If there are several, their rows are not known yet.
func (c copied) encoded(e *encoding) ([]compute.Encoded, error) {
	var files []compute.Encoded
	for _, name := range c.names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, &compute.Error{Kind: compute.OutputFailed, File: name, Message: "what was just written cannot be found: " + err.Error(), Err: err}
		}
		below, err := filepath.Rel(e.Dir, name)
		if err != nil {
			return nil, err
		}
		f := compute.Encoded{Name: path.Clean(filepath.ToSlash(below)), Bytes: info.Size(), Rows: c.rows}
		f.Partition = partitionIn(f.Name)
		files = append(files, f)
	}
	return files, nil
}

// partitionIn reads the partition columns out of a file's name; nil if there are none.
func partitionIn(name string) map[string]string {
	var partition map[string]string
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		raw, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		if partition == nil {
			partition = map[string]string{}
		}
		if value != nullPartition {
			partition[unescape(raw)] = unescape(value)
		}
	}
	return partition
}

// records tells how the rows of a text file end.
type records struct {
	quote, escape byte  // a line end between quotes is part of a value; 0: there are none
	besides       int64 // lines that are no rows, as the header
}

// countAll counts the rows of each file by reading it again: COPY tells only their sum, which they are held against.
func (r records) countAll(ctx context.Context, e *encoding, files []compute.Encoded, ending string, sum int64) error {
	for i := range files {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		name := filepath.Join(e.Dir, filepath.FromSlash(files[i].Name))
		c, _ := compressionOf(ending)
		text, err := openCompressed(name, c)
		if err != nil {
			return unreadable(name, err)
		}
		n, err := r.count(text)
		if err = errors.Join(err, text.Close()); err != nil {
			return unreadable(name, err)
		}
		files[i].Rows = n - r.besides
		sum -= files[i].Rows
	}
	if sum != 0 {
		return &compute.Error{Kind: compute.OutputFailed, File: e.Dir, Message: fmt.Sprintf("the files have %d rows less than were written", sum)}
	}
	return nil
}

// count counts the lines of a text; those between quotes do not count.
func (r records) count(text io.Reader) (n int64, err error) {
	quoted, escaped := false, false
	buffer := make([]byte, 1<<16)
	for {
		size, err := text.Read(buffer)
		for _, b := range buffer[:size] {
			switch {
			case escaped:
				escaped = false
			case quoted && b == r.escape && r.escape != r.quote:
				escaped = true
			case b == r.quote && b != 0:
				quoted = !quoted // a doubled quote leaves and comes back
			case b == '\n' && !quoted:
				n++
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
