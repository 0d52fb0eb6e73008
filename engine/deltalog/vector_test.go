package deltalog_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

func TestTheFileOfADeletionVector(t *testing.T) {
	for _, c := range []struct{ storage, path, want string }{
		{"u", "ab^-aqEH.-t@S}K{vb[*k^", "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"},
		{"u", "^-aqEH.-t@S}K{vb[*k^", "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"},
		{"p", "file:/x/a%20b.bin", "abs /x/a b.bin"},
		{"i", "wi5b=", ""},
		{"u", "short", `error the deletion vector names no file: "short"`},
		{"u", "../^-aqEH.-t@S}K{vb[*k^", `error the deletion vector's folder is none: "../"`},
		{"u", "^-aqEH.-t@S}K{vb[*k~", `error the deletion vector's text has '~', which encodes nothing`},
		{"x", "y", `error the deletion vector is stored in an unknown way: "x"`},
	} {
		v := &deltalog.DeletionVector{Storage: c.storage, Path: c.path}
		got, absolute, err := v.File()
		if absolute {
			got = "abs " + got
		}
		if err != nil {
			got = "error " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.storage, c.path, got, c.want)
		}
	}
}

func TestRowsInTheLog(t *testing.T) {
	v := &deltalog.DeletionVector{Storage: "i", Path: "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", Size: 44, Cardinality: 6}
	rows, err := v.Rows(nil)
	if err != nil || !slices.Equal(rows, []uint64{3, 4, 7, 11, 18, 29}) {
		t.Errorf("%v, %v", rows, err)
	}
	v.Cardinality = 7
	if _, err := v.Rows(nil); err == nil {
		t.Error("a row less is taken")
	}
	v.Cardinality = 5
	if _, err := v.Rows(nil); err == nil {
		t.Error("a row more is taken")
	}
}

// vectorFile puts a bitmap of one value into a file, after another vector.
func vectorFile() (file []byte, v deltalog.DeletionVector) {
	bitmap := binary.LittleEndian.AppendUint32(nil, 1681511377)
	bitmap = binary.LittleEndian.AppendUint64(bitmap, 1)
	bitmap = binary.LittleEndian.AppendUint32(bitmap, 2)     // bucket
	bitmap = binary.LittleEndian.AppendUint32(bitmap, 12346) // no runs
	bitmap = binary.LittleEndian.AppendUint32(bitmap, 1)
	bitmap = append(bitmap, 1, 0, 0, 0) // container 1 of 1 value
	bitmap = binary.LittleEndian.AppendUint32(bitmap, 16)
	bitmap = append(bitmap, 7, 0)
	file = []byte("\x01another")
	offset := int32(len(file))
	file = binary.BigEndian.AppendUint32(file, uint32(len(bitmap)))
	file = append(file, bitmap...)
	file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(bitmap))
	return file, deltalog.DeletionVector{Storage: "u", Offset: &offset, Size: int32(len(bitmap)), Cardinality: 1}
}

func TestRowsInAFile(t *testing.T) {
	file, v := vectorFile()
	if rows, err := v.Rows(file); err != nil || !slices.Equal(rows, []uint64{2<<32 | 1<<16 | 7}) {
		t.Fatalf("%v, %v", rows, err)
	}
	for what, change := range map[string]func(file []byte, v *deltalog.DeletionVector) []byte{
		"checksum is wrong":          func(f []byte, _ *deltalog.DeletionVector) []byte { f[len(f)-5] ^= 1; return f },
		"unknown version":            func(f []byte, _ *deltalog.DeletionVector) []byte { f[0] = 2; return f },
		"cut short":                  func(f []byte, _ *deltalog.DeletionVector) []byte { return f[:len(f)-1] },
		"has 34 bytes, not 33":       func(f []byte, v *deltalog.DeletionVector) []byte { v.Size--; return f },
		"has 1 values, not 2":        func(f []byte, v *deltalog.DeletionVector) []byte { v.Cardinality++; return f },
		"more values than announced": func(f []byte, v *deltalog.DeletionVector) []byte { v.Cardinality--; return f },
		"file of deletion vectors":   func([]byte, *deltalog.DeletionVector) []byte { return nil },
		"a negative size":            func(f []byte, v *deltalog.DeletionVector) []byte { v.Size = -1; return f },
	} {
		file, v := vectorFile()
		if _, err := v.Rows(change(file, &v)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
