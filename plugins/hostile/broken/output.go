package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

func random() uint64 { return rand.Uint64() }

// part is a file that is being written.
type part struct {
	file      sdk.File
	partition map[string]string
	rows      int64
	bytes     int64
}

// output is the files of one relation.
type output struct {
	writer broken
	host   sdk.Host
	most   int64    // bytes at which a new file is begun; 0: one file a partition
	by     []string // partition columns; at most one
	skip   bool     // the first of several files
	open   map[string]*part
	kept   [][]byte
	texts  map[string][]byte // of the last batch, to be used again
	answer abi.StageAnswer
}

func (o *output) write(rows *sdk.Rows) error {
	for batches := 0; ; batches++ {
		b, err := rows.Next()
		if err == io.EOF {
			if batches == 0 && o.writer == failsEmpty {
				return &abi.Failure{Code: "error", Message: "there is no first row"}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if o.writer == firstBatch && batches > 0 {
			continue
		}
		if err := o.batch(b); err != nil {
			return err
		}
	}
}

func (o *output) batch(b *sdk.Batch) error {
	if o.writer == talks {
		for range 10 {
			o.host.Log(abi.LevelInfo, string(bytes.Repeat([]byte("I see rows. "), 40)))
		}
	}
	if o.texts == nil {
		o.texts = map[string][]byte{}
	}
	texts := o.texts
	for key := range texts {
		texts[key] = texts[key][:0]
	}
	counts := map[string]int64{}
	partitions := map[string]map[string]string{}
	for row := range b.Rows {
		if o.writer == dropsLast && row == b.Rows-1 {
			break
		}
		at := row
		if o.writer == onePartition {
			at = 0
		}
		key, partition := o.partition(b, at)
		partitions[key] = partition
		texts[key] = o.line(texts[key], b, row)
		counts[key]++
	}
	if _, there := texts[""]; !there && len(o.by) == 0 { // a batch without rows makes a file all the same
		texts[""] = nil
	}
	for key, text := range texts {
		if counts[key] == 0 && key != "" {
			continue // a partition of an earlier batch
		}
		if o.writer == hoards {
			o.kept = append(o.kept, bytes.Clone(text))
		}
		if err := o.append(key, partitions[key], text, counts[key]); err != nil {
			return err
		}
	}
	return nil
}

// partition is where a row belongs.
func (o *output) partition(b *sdk.Batch, row int) (string, map[string]string) {
	for i := range b.Columns {
		c := &b.Columns[i]
		if !o.isPartition(c.Name) {
			continue
		}
		if c.Null(row) {
			return "\x00", map[string]string{}
		}
		value := string(c.AppendText(nil, row))
		return value, map[string]string{c.Name: value}
	}
	return "", nil
}

func (o *output) isPartition(column string) bool { return len(o.by) > 0 && o.by[0] == column }

func (o *output) append(key string, partition map[string]string, text []byte, rows int64) error {
	p := o.open[key]
	if p != nil && o.most > 0 && p.bytes >= o.most {
		if err := o.closePart(key); err != nil {
			return err
		}
		if p = nil; o.writer == fileSeam {
			_, text, _ = bytes.Cut(text, []byte{'\n'})
			rows--
		}
	}
	if p == nil {
		file, err := o.host.CreateFile(abi.FileCreateRequest{Partition: partition, Extension: "json"})
		if err != nil {
			return err
		}
		p = &part{file: file, partition: partition}
		o.open[key] = p
	}
	if o.skip && len(o.answer.Files) == 0 && o.most > 0 {
		return nil // the first file
	}
	n, err := p.file.Write(text)
	p.bytes += int64(n)
	p.rows += rows
	if o.writer == swallows {
		p.bytes += int64(len(text) - n)
		return nil
	}
	return err
}

func (o *output) close() error {
	for key := range o.open {
		if err := o.closePart(key); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) closePart(key string) error {
	p := o.open[key]
	delete(o.open, key)
	closed, err := p.file.Close()
	if err != nil {
		return err
	}
	o.answer.Files = append(o.answer.Files, abi.StagedFile{Name: closed.Name, Partition: p.partition, Rows: p.rows, Bytes: closed.Bytes})
	o.answer.Rows += p.rows
	return nil
}

// line appends a row as one JSON object.
func (o *output) line(to []byte, b *sdk.Batch, row int) []byte {
	to = append(to, '{')
	first := true
	for i := range b.Columns {
		c := &b.Columns[i]
		if o.isPartition(c.Name) {
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(appendJSON(to, []byte(c.Name)), ':')
		to = o.value(to, c, row)
	}
	return append(to, '}', '\n')
}

func (o *output) value(to []byte, c *sdk.Column, row int) []byte {
	switch {
	case c.Null(row) && o.writer == nullAsText:
		return append(to, `""`...)
	case c.Null(row):
		return append(to, "null"...)
	case c.Kind == sdk.Date && o.writer == datesAsNumber:
		return strconv.AppendInt(to, c.Int(row), 10)
	case c.Kind == sdk.Int && o.writer == narrow:
		return strconv.AppendInt(to, int64(int32(c.Int(row))), 10)
	case c.Kind == sdk.Text && o.writer == trims:
		return appendJSON(to, bytes.TrimSpace(c.Bytes(row)))
	}
	return appendJSON(to, c.AppendText(nil, row))
}

// appendJSON appends a text as JSON has it.
func appendJSON(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for _, b := range text {
		switch {
		case b == '"' || b == '\\':
			to = append(to, '\\', b)
		case b < ' ':
			to = append(to, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			to = append(to, b)
		}
	}
	return append(to, '"')
}
