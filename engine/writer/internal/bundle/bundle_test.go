package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/ubunye-io/ubunye/engine/abi"
)

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	contents := bytes.Repeat([]byte("0123456789"), 100_000)
	blob, data, err := Pack("x.zst", contents)
	if err != nil || len(data) > len(contents)/10 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	folder := fstest.MapFS{"x.zst": {Data: data}}
	if got, err := Unpack(folder, blob); err != nil || !bytes.Equal(got, contents) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for what, change := range map[string]func(*Blob){
		"another digest": func(b *Blob) { b.SHA256 = Digest(nil) },
		"another file":   func(b *Blob) { b.File = "y.zst" },
		"more than said": func(b *Blob) { b.Size = 1000 },
	} {
		bad := blob
		change(&bad)
		if _, err := Unpack(folder, bad); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	folder["x.zst"].Data = data[:len(data)/2]
	if _, err := Unpack(folder, blob); err == nil {
		t.Error("half a file: no error")
	}
}

func TestContentsHaveTheirSize(t *testing.T) {
	folder := fstest.MapFS{"m.wasm": {Data: []byte("module")}}
	if got, err := Contents(folder, Blob{File: "m.wasm", Size: 6}); err != nil || string(got) != "module" {
		t.Fatal(got, err)
	}
	for what, blob := range map[string]Blob{"half": {File: "m.wasm", Size: 12}, "none": {File: "n.wasm"}} {
		if _, err := Contents(folder, blob); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestRead(t *testing.T) {
	if _, err := Read(fstest.MapFS{"README.md": {}}); !errors.Is(err, ErrNotBuilt) {
		t.Fatalf("an empty folder: %v", err)
	}
	if _, err := Read(fstest.MapFS{IndexFile: {Data: []byte("{")}}); err == nil || errors.Is(err, ErrNotBuilt) {
		t.Fatalf("a torn index: %v", err)
	}
	want := Index{Platform: "p", Modules: []Module{{Blob: Blob{File: "m"}, Writers: []abi.Description{{Name: "a"}, {Name: "b"}}}}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	index, err := Read(fstest.MapFS{IndexFile: {Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	if m, d, ok := index.Writer("b"); !ok || m.File != "m" || d.Name != "b" {
		t.Fatal(m, d, ok)
	}
	if _, _, ok := index.Writer("c"); ok {
		t.Fatal("a writer that is not there was found")
	}
}
