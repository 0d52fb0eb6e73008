// Command pack fills the folder that package writer embeds: the program that runs modules, compressed,
// and the modules of the built-in writers; and asks each module, run by that program, to describe itself.
//
//	pack -child PROGRAM -to FOLDER MODULE.wasm...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
	"github.com/ubunye-io/ubunye/engine/writer/internal/bundle"
)

func main() {
	child := flag.String("child", "", "the program that runs modules")
	to := flag.String("to", "", "the folder to fill")
	flag.Parse()
	if err := pack(*child, *to, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(child, to string, modules []string) (err error) {
	if child == "" || to == "" || len(modules) == 0 {
		return errors.New("usage: pack -child PROGRAM -to FOLDER MODULE.wasm...")
	}
	work, err := os.MkdirTemp("", "pack-")
	if err != nil {
		return err
	}
	disk := fsops.New(nil)
	defer func() { err = errors.Join(err, disk.RemoveAll(work)) }()
	if child, err = filepath.Abs(child); err != nil {
		return err
	}
	host, err := writer.New(writer.Config{CacheDir: work, FS: disk, Child: child})
	if err != nil {
		return err
	}
	index := bundle.Index{Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if index.Child, err = put(disk, child, to, "child.zst"); err != nil {
		return err
	}
	for _, path := range modules {
		m, err := packModule(host, disk, path, to)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		index.Modules = append(index.Modules, m)
	}
	data, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(to, bundle.IndexFile) // last: with it the folder is complete
	return disk.Replace(path+".tmp", path, append(data, '\n'), 0o644)
}

func packModule(host *writer.Host, disk *fsops.FS, path, to string) (m bundle.Module, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return m, err
	}
	name := filepath.Base(path)
	if m.Writers, err = describe(host, path, name); err != nil {
		return m, err
	}
	contents, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	m.Blob = bundle.Blob{File: name, Size: len(contents), SHA256: bundle.Digest(contents)}
	file := filepath.Join(to, name)
	return m, disk.Replace(file+".tmp", file, contents, 0o644)
}

func describe(host *writer.Host, path, name string) ([]abi.Description, error) {
	ctx := context.Background()
	s, err := host.Start(ctx, writer.Module{Name: name, Path: path}, writer.Limits{}, writer.Grants{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	answer, err := s.Describe(ctx)
	return answer.Writers, err
}

func put(disk *fsops.FS, from, to, name string) (bundle.Blob, error) {
	contents, err := os.ReadFile(from)
	if err != nil {
		return bundle.Blob{}, err
	}
	blob, data, err := bundle.Pack(name, contents)
	if err != nil {
		return blob, err
	}
	path := filepath.Join(to, name)
	return blob, disk.Replace(path+".tmp", path, data, 0o644)
}
