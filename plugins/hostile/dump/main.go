// Command dump writes the hostile modules as files, for tests that know the program only as a person does.
//
//	dump FOLDER
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ubunye-io/ubunye/plugins/hostile"
)

func main() {
	if err := dump(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dump:", err)
		os.Exit(1)
	}
}

func dump(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: dump FOLDER")
	}
	if err := os.MkdirAll(args[0], 0o777); err != nil {
		return err
	}
	for name, wasm := range hostile.Modules() {
		if err := os.WriteFile(filepath.Join(args[0], name+".wasm"), wasm, 0o666); err != nil {
			return err
		}
	}
	return nil
}
