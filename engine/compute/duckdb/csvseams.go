package duckdb

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// DuckDB's threads begin to read a file at every 8,000,000th byte of its text, each with the line after that. Where such a place lies
// within a quoted value that holds line ends, and what follows looks like rows, DuckDB 1.4 to 2.0 refuses the file, although it is
// right. Such files are read by one thread.

const (
	seam       = 8_000_000 // bytes; in DuckDB CSVIterator::BYTES_PER_THREAD
	aroundSeam = 1 << 17   // bytes before and behind that are looked at
)

// seamScan is given the text of a file, or the parts of it around seams. spans tells that a line there holds an odd number of quotes,
// as the first and the last of a value with line ends do.
type seamScan struct {
	quote  byte
	offset int64 // of what is given next
	whole  bool  // the line began where we look
	odd    bool  // it has an odd number of quotes so far
	spans  bool
}

// Write takes the next part of the text. It never fails.
func (s *seamScan) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && !s.spans; {
		window := max(1, (s.offset+seam-aroundSeam)/seam)*seam - aroundSeam
		if s.offset < window {
			n := min(window-s.offset, int64(len(rest)))
			rest, s.offset, s.whole, s.odd = rest[n:], s.offset+n, false, false
			continue
		}
		n := min(window+2*aroundSeam-s.offset, int64(len(rest)))
		s.lines(rest[:n])
		rest, s.offset = rest[n:], s.offset+n
	}
	return len(p), nil
}

// lines counts the quotes of each line.
func (s *seamScan) lines(text []byte) {
	for {
		i := bytes.IndexAny(text, "\r\n")
		line := text[:max(i, 0)]
		if i < 0 {
			line = text
		}
		s.odd = s.odd != (bytes.Count(line, []byte{s.quote})%2 == 1)
		if i < 0 {
			return
		}
		s.spans = s.spans || s.whole && s.odd
		s.whole, s.odd, text = true, false, text[i+1:]
	}
}

// look looks around the seams of a file that is not compressed; a nil one does not.
func (s *seamScan) look(f compute.File) error {
	if s == nil || f.Size <= seam-aroundSeam {
		return nil
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return unreadable(f.Path, err)
	}
	defer file.Close() // only read
	window := make([]byte, 2*aroundSeam)
	for s.offset = seam - aroundSeam; s.offset < f.Size && !s.spans; s.offset += seam - 2*aroundSeam {
		n, err := file.ReadAt(window, s.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return unreadable(f.Path, err)
		}
		s.whole, s.odd = false, false
		_, _ = s.Write(window[:n]) // never fails
		if n < len(window) {
			return nil
		}
	}
	return nil
}
