package duckdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// A line with an odd number of quotes is seen around a seam and nowhere else, whether the text comes in parts or the file is looked into.
func TestSeamsOfAFile(t *testing.T) {
	const line = "1,\"a,b\",2\n"
	for _, tt := range []struct {
		at    int // of a value with a line end
		spans bool
	}{
		{-1, false}, {1000, false}, {seam - aroundSeam - 1000, false}, {seam - 1000, true}, {seam, true}, {seam + 1000, true}, {seam + aroundSeam + 1000, false},
		{2*seam - 1000, true}, {2*seam - aroundSeam - 1000, false}, {2*seam + 1000, true},
	} {
		text := strings.Repeat(line, (2*seam+500_000)/len(line))
		if tt.at >= 0 {
			at := tt.at / len(line) * len(line)
			text = text[:at] + "1,\"a\nb\",2\n" + text[at:]
		}
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		looked, given := seamScan{quote: '"'}, seamScan{quote: '"'}
		if err := looked.look(compute.File{Path: path, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		for rest := text; rest != ""; {
			n := min(len(rest), 77_777)
			if _, err := given.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if looked.spans != tt.spans || given.spans != tt.spans {
			t.Errorf("a value at %d: looked %t, given %t, want %t", tt.at, looked.spans, given.spans, tt.spans)
		}
	}
}
