package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// folders makes the folders that a run's partitions have.
func folders(dir string, n int) error {
	for i := range n {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("id=%d", i)), 0o777); err != nil {
			return err
		}
	}
	return nil
}

const staged = ".staged"

// stage writes a small file into each of these folders, as large as those of a run, under a name as long.
func stage(dir string, n int) error {
	text := []byte(strings.Repeat("x", 66))
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("id=%d", i), fmt.Sprintf("part-%08x-0000-4000-8000-000000000000.csv", i)+staged)
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// land makes what is staged durable, renames each file to its final name, makes the names durable, and prints how many
// nanoseconds that took.
func land(from, to string) error {
	names, err := filepath.Glob(filepath.Join(from, "*", "*"+staged))
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := syncFS(from); err != nil {
		return err
	}
	for _, name := range names {
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, filepath.Join(to, strings.TrimSuffix(rel, staged)), unix.RENAME_NOREPLACE); err != nil {
			return err
		}
	}
	if err := syncFS(to); err != nil {
		return err
	}
	fmt.Println(time.Since(begun).Nanoseconds())
	return nil
}

func syncFS(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Syncfs(int(dir.Fd()))
}
