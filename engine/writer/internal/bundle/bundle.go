// Package bundle is the form in which the engine carries its child program and the modules of the
// built-in writers: files and an index beside them, in one folder. The program is compressed, because it is unpacked
// once; the modules are not, because they are read at every start.
package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// IndexFile is the index's name in the folder.
const IndexFile = "plugins.json"

// Index says what the folder holds.
type Index struct {
	Platform string   `json:"platform"` // of the child, as "linux/amd64"
	Child    Blob     `json:"child"`
	Modules  []Module `json:"modules"`
}

// Module is a module and what its writers say of themselves.
type Module struct {
	Blob
	Writers []abi.Description `json:"writers"`
}

// Blob is a file, compressed or not. Size and SHA256 are those of the contents.
type Blob struct {
	File   string `json:"file"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// ErrNotBuilt is what Read returns for a folder without an index.
var ErrNotBuilt = errors.New("built without its plugins: run make")

// Read returns the folder's index.
func Read(folder fs.FS) (Index, error) {
	data, err := fs.ReadFile(folder, IndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Index{}, ErrNotBuilt
	}
	if err != nil {
		return Index{}, err
	}
	var index Index
	if err := json.Unmarshal(data, &index); err != nil {
		return Index{}, fmt.Errorf("%s: %w", IndexFile, err)
	}
	return index, nil
}

// Writer returns the module that holds the writer of that name.
func (x Index) Writer(name string) (Module, abi.Description, bool) {
	for _, m := range x.Modules {
		for _, d := range m.Writers {
			if d.Name == name {
				return m, d, true
			}
		}
	}
	return Module{}, abi.Description{}, false
}

// Pack compresses contents and describes the result, to be kept under the name given.
func Pack(name string, contents []byte) (Blob, []byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return Blob{}, nil, err
	}
	defer enc.Close()
	return Blob{File: name, Size: len(contents), SHA256: Digest(contents)}, enc.EncodeAll(contents, nil), nil
}

// Contents returns those of a blob that is not compressed. Its digest is not computed again: file and index are parts
// of one program.
func Contents(folder fs.FS, b Blob) ([]byte, error) {
	data, err := fs.ReadFile(folder, b.File)
	if err == nil && len(data) != b.Size {
		err = fmt.Errorf("%s is not what the index says: it has %d bytes", b.File, len(data))
	}
	return data, err
}

// Unpack returns a compressed blob's contents.
func Unpack(folder fs.FS, b Blob) ([]byte, error) {
	data, err := fs.ReadFile(folder, b.File)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(b.Size)+1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	contents, err := dec.DecodeAll(data, make([]byte, 0, b.Size))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.File, err)
	}
	if Digest(contents) != b.SHA256 {
		return nil, fmt.Errorf("%s is not what the index says: SHA-256 differs", b.File)
	}
	return contents, nil
}

// Digest is the SHA-256 of contents in hexadecimal.
func Digest(contents []byte) string {
	sum := sha256.Sum256(contents)
	return hex.EncodeToString(sum[:])
}
