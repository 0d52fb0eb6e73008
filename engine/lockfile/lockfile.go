// Package lockfile keeps ubunye.lock, the file beside a pipeline that says which plugins it may use: where each came
// from, the digest that it must have, what it was granted, and which delivery classes it has earned in tests. It is JSON
// that people read, review and commit.
package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Name is what the file is called.
const Name = "ubunye.lock"

// Version is the version of the file that this package writes.
const Version = 1

// Lock is the file's contents.
type Lock struct {
	Version int      `json:"version"`                // of this file's form: 1
	Trusted []string `json:"trusted_keys,omitempty"` // Ed25519 public keys in base64; with any, each plugin must be signed by one of them
	Plugins []Plugin `json:"plugins"`                // in the order of their names
}

// Plugin is one module that a pipeline may use.
type Plugin struct {
	Name     string   `json:"name"`                // what outputs call it as their format
	Writer   string   `json:"writer"`              // which of the module's writers it is
	Version  string   `json:"version"`             // that the writer says it has
	SHA256   string   `json:"sha256"`              // of the module, in hexadecimal
	Path     string   `json:"path"`                // of the module, below the folder of this file, with slashes
	Source   string   `json:"source"`              // where it came from: a file, an https:// address or an oci:// reference
	SignedBy string   `json:"signed_by,omitempty"` // the trusted key whose signature was checked when it was added
	Allow    []string `json:"allow"`               // capabilities that it was granted beside relation
	Earned   []Earned `json:"earned"`              // what its tests have shown; none: it was not tested
}

// Earned is what tests of this very module have shown of one of its modes.
type Earned struct {
	Mode  string `json:"mode"`  // the mode of outputs
	Class string `json:"class"` // the delivery class that it kept; named: it did not keep the one that it declares
	Kit   int    `json:"kit"`   // the version of the tests
}

// Error says that the file cannot be used.
type Error struct {
	Path    string
	Message string // one line
	Err     error  // what lies below, if something does
}

// Error gives the error as one line.
func (e *Error) Error() string { return e.Path + ": " + e.Message }

// Unwrap gives what lies below.
func (e *Error) Unwrap() error { return e.Err }

// Load reads the file in a folder. A folder without one has a lock without plugins. Errors are of type *Error.
func Load(folder string) (*Lock, error) {
	path := filepath.Join(folder, Name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Version: Version}, nil
	}
	if err != nil {
		return nil, &Error{Path: path, Message: "it cannot be read: " + reason(err), Err: err}
	}
	l := &Lock{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // what is not known might forbid something
	if err := d.Decode(l); err != nil {
		return nil, &Error{Path: path, Message: "it is no lock of plugins: " + err.Error(), Err: err}
	}
	if err := l.check(); err != nil {
		return nil, &Error{Path: path, Message: err.Error(), Err: err}
	}
	return l, nil
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (l *Lock) check() error {
	if l.Version != Version {
		return fmt.Errorf("it has version %d; this program knows version %d", l.Version, Version)
	}
	seen := map[string]bool{}
	for _, p := range l.Plugins {
		switch {
		case p.Name == "" || seen[p.Name]:
			return fmt.Errorf("the plugin %q has no name, or is there twice", p.Name)
		case !digest.MatchString(p.SHA256):
			return fmt.Errorf("the plugin %s: sha256 has not 64 hexadecimal digits", p.Name)
		case !filepath.IsLocal(filepath.FromSlash(p.Path)):
			return fmt.Errorf("the plugin %s: the path %q leads out of the folder", p.Name, p.Path)
		}
		seen[p.Name] = true
	}
	return nil
}

// Save writes the file whole, under another name first.
func (l *Lock) Save(files *fsops.FS, folder string) error {
	slices.SortFunc(l.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	for i := range l.Plugins { // null would be a third way to say nothing
		p := &l.Plugins[i]
		if p.Allow == nil {
			p.Allow = []string{}
		}
		if p.Earned == nil {
			p.Earned = []Earned{}
		}
	}
	if l.Plugins == nil {
		l.Plugins = []Plugin{}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return err
	}
	path := filepath.Join(folder, Name)
	if err := files.Replace(path+".tmp", path, text.Bytes(), 0o666); err != nil {
		return &Error{Path: path, Message: "it cannot be written: " + reason(err), Err: err}
	}
	return nil
}

// Find gives the plugin of a name; nil: there is none.
func (l *Lock) Find(name string) *Plugin {
	if at := slices.IndexFunc(l.Plugins, func(p Plugin) bool { return p.Name == name }); at >= 0 {
		return &l.Plugins[at]
	}
	return nil
}

// Put adds a plugin, in place of the one of its name.
func (l *Lock) Put(p Plugin) {
	if have := l.Find(p.Name); have != nil {
		*have = p
		return
	}
	l.Plugins = append(l.Plugins, p)
}

// Remove takes the plugin of a name out, and tells whether it was there.
func (l *Lock) Remove(name string) bool {
	before := len(l.Plugins)
	l.Plugins = slices.DeleteFunc(l.Plugins, func(p Plugin) bool { return p.Name == name })
	return len(l.Plugins) < before
}

// Trusts tells whether a key may sign; without keys nobody need sign.
func (l *Lock) Trusts(key string) bool { return len(l.Trusted) == 0 || slices.Contains(l.Trusted, key) }

// Standing is what tests say of a writer's class in a mode.
type Standing string

// The standings.
const (
	Untested Standing = "untested" // nobody has tested this module in this mode
	Kept     Standing = "kept"     // its tests kept the class
	Broken   Standing = "broken"   // its tests did not
)

// Standing gives that of a mode and the class that the writer declares for it.
func (p *Plugin) Standing(mode, class string) Standing {
	found := Untested
	for _, e := range p.Earned {
		if e.Mode != mode {
			continue
		}
		if e.Class == class {
			return Kept
		}
		found = Broken
	}
	return found
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
