package duckdb

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// compression is one that text files may have; their name tells which, as DuckDB decides too.
type compression struct {
	suffix string
	name   string
	magic  string // the first bytes of every such file
}

var (
	gzipped = compression{".gz", "gzip", "\x1f\x8b"}
	zstded  = compression{".zst", "zstd", "\x28\xb5\x2f\xfd"}
)

func compressionOf(name string) (compression, bool) {
	for _, c := range []compression{gzipped, zstded} {
		if strings.HasSuffix(name, c.suffix) {
			return c, true
		}
	}
	return compression{}, false
}

// openCompressed opens a text file of that compression; the zero one is none.
func openCompressed(name string, c compression) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	t := &textFile{Reader: f, closers: []func() error{f.Close}}
	if c == (compression{}) {
		return t, nil
	}
	if err := t.decompress(name, c); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

type textFile struct {
	io.Reader
	closers []func() error
}

// decompress lays a decompressor over the file.
func (t *textFile) decompress(name string, c compression) error {
	r := bufio.NewReaderSize(t.Reader, 1<<16)
	start, err := r.Peek(len(c.magic))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(start) == 0:
		return &compute.Error{Kind: compute.InputInvalid, File: name, Message: "it is empty, which no " + c.name + " file is", Hint: "copy it again; a compressed file without rows still has its header"}
	case !bytes.HasPrefix([]byte(c.magic), start):
		return &compute.Error{Kind: compute.InputInvalid, File: name, Message: "it is not compressed by " + c.name + ", as its name or the option compression says",
			Hint: "compress it, or set the option compression to none"}
	}
	switch c {
	case gzipped:
		z, err := gzip.NewReader(r)
		if err != nil {
			return damaged(name, c, err)
		}
		t.Reader = z
	case zstded:
		z, err := zstd.NewReader(r)
		if err != nil {
			return damaged(name, c, err)
		}
		t.Reader = z
		t.closers = append(t.closers, func() error { z.Close(); return nil })
	}
	return nil
}

func (t *textFile) Close() error {
	var errs []error
	for i := len(t.closers) - 1; i >= 0; i-- {
		errs = append(errs, t.closers[i]())
	}
	return errors.Join(errs...)
}

// whole tells what is wrong with a file that nobody may have finished writing: one without a byte, or a compressed one that is
// cut short or damaged, which is read to its end for that. DuckDB does neither: it takes the place where a file was cut off for
// the end of the rows, and half a file would land as if it were the whole. What is decompressed goes to seams too, if that is not nil.
func (t textCoding) whole(ctx context.Context, f compute.File, seams *seamScan) error {
	c, compressed := t.of(f.Path)
	if f.Size == 0 && !compressed {
		return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it is empty: it has 0 bytes",
			Hint: "it may still be being written; if it is to hold no rows, remove it, or set the option empty_files to skip"}
	}
	if !compressed {
		return seams.look(f)
	}
	file := f.Path
	text, err := openCompressed(file, c)
	if err != nil {
		return unreadable(file, err)
	}
	defer text.Close() // only read
	buffer := make([]byte, 1<<18)
	for {
		if err := cancelled(ctx); err != nil {
			return err
		}
		n, err := text.Read(buffer)
		if seams != nil {
			_, _ = seams.Write(buffer[:n]) // never fails
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged(file, c, err)
		}
	}
}

// damaged is about a compressed file that cannot be decompressed to its end.
func damaged(file string, c compression, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return unreadable(file, err)
	}
	message := "its " + c.name + " data is damaged: " + err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		message = "its " + c.name + " data is cut short"
	}
	return &compute.Error{Kind: compute.InputInvalid, File: file, Message: message, Hint: "it may still be being written; copy it again when it is whole", Err: err}
}
