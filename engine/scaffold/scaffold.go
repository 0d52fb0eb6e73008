// Package scaffold makes the folder of a new plugin: a writer that works, its tests, the case by which it is tested as a whole, and
// the SDK, whose sources the program has with it. So the folder needs nothing of this repository, and no network.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	ubunye "github.com/ubunye-io/ubunye"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

//go:embed templates
var templates embed.FS

// Languages are those that a plugin can be written in.
func Languages() []string { return []string{"go", "rust"} }

// sdkFolder is where a plugin has its SDK.
const sdkFolder = "ubunye-sdk"

// file is one file of a new folder.
type file struct {
	name string
	text []byte
	mode fs.FileMode
}

// ExistsError says that there is something already where a plugin is to be made.
type ExistsError struct{ Folder string }

// Error gives the error as one line.
func (e *ExistsError) Error() string { return "there is something at " + e.Folder + " already" }

// New makes the folder of a plugin of a name, in a language, and gives the names of its own files. A folder that is there already is an
// *ExistsError.
func New(files *fsops.FS, folder, name, language string) (own []string, err error) {
	if !slices.Contains(Languages(), language) {
		return nil, fmt.Errorf("no plugin can be made in %q", language)
	}
	all, err := filesOf(name, language)
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return nil, &ExistsError{folder}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range all {
		at := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := files.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return nil, err
		}
		if err := files.WriteNew(at, f.text, f.mode); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(f.name, sdkFolder+"/") {
			own = append(own, f.name)
		}
	}
	return own, nil
}

func filesOf(name, language string) (all []file, err error) {
	fill := strings.NewReplacer("{{.Name}}", name)
	for _, root := range []string{"templates", "templates/" + language} {
		err = fs.WalkDir(templates, root, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if root == "templates" && at != root && err == nil {
					return fs.SkipDir // a language
				}
				return err
			}
			text, err := templates.ReadFile(at)
			if err != nil {
				return err
			}
			f := file{name: strings.TrimSuffix(strings.TrimPrefix(at, root+"/"), ".tmpl"), text: []byte(fill.Replace(string(text))), mode: 0o666}
			if f.name == "gitignore" {
				f.name = ".gitignore"
			}
			if path.Ext(f.name) == ".sh" {
				f.mode = 0o777
			}
			all = append(all, f)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	sdk, err := sdkOf(language)
	return append(all, sdk...), err
}

// sdkOf is the SDK of a language.
func sdkOf(language string) (all []file, err error) {
	from, below := ubunye.GoSDK, ""
	if language == "rust" {
		from, below = ubunye.RustSDK, "plugins/sdk-rust/"
	} else {
		all = append(all, file{sdkFolder + "/go.mod", []byte("module github.com/ubunye-io/ubunye\n\ngo 1.26.0\n"), 0o666})
	}
	err = fs.WalkDir(from, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(at, "_test.go") {
			return err
		}
		text, err := from.ReadFile(at)
		all = append(all, file{sdkFolder + "/" + strings.TrimPrefix(at, below), text, 0o666})
		return err
	})
	return all, err
}
