// Package writer runs writer plugins: WebAssembly modules that decide what of an output lands, and how.
//
// A module's code never runs in this process. Each session has a child process of its own, which is
// embedded in this package, unpacked into the user's cache folder and killed when a call takes too long,
// when it needs too much memory, when its session ends, and by the kernel or by itself when this
// process dies. What a module may ask for is listed in package abi; what it is granted, in Grants.
package writer

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer/internal/bundle"
)

// The folder is filled by `make plugins`; what is committed of it is a placeholder.
//
//go:embed embedded
var embedded embed.FS

// Config is what a Host needs.
type Config struct {
	// CacheDir is a folder of this user's alone, made when missing. Empty:
	// "ubunye" in the user's cache folder. Where it cannot be used a folder for temporary files is.
	CacheDir string
	// FS makes all changes of files; nil: plainly.
	FS *fsops.FS
	// Log is given what plugins log and print, line by line, from any goroutine; nil: nothing is kept.
	Log func(plugin string, level abi.Level, text string)
	// Child is the program that runs modules, for systems where nothing that this program unpacks may
	// be executed; an absolute path. Empty: the embedded one.
	Child string
}

// Host starts sessions. Its methods may be called by several goroutines.
type Host struct {
	config Config
	files  fs.FS
	index  bundle.Index
	caches []cache
	now    func() time.Time
}

// Module names what a session runs: a built-in writer by its name, or a file.
type Module struct {
	Name   string // as the pipeline names it; it is in every message
	Path   string // absolute path of the module; empty: the built-in of that name
	SHA256 string // hexadecimal; a file with other contents is refused. Empty: not checked
	Writer string // which of the writers of a file; empty: the only one, or the one of the name
}

// Limits bound a session; a zero is the default.
type Limits struct {
	Memory int64         // bytes of the module's memory; 256 MiB
	Load   time.Duration // compiling and initialising; 2 minutes
	Plan   time.Duration // describe and plan; 30 seconds
	Stage  time.Duration // each of stage, commit and resolve; 10 minutes. Time spent in operations of the engine does not count
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Memory: orDefault(l.Memory, 256<<20),
		Load:   orDefault(l.Load, 2*time.Minute),
		Plan:   orDefault(l.Plan, 30*time.Second),
		Stage:  orDefault(l.Stage, 10*time.Minute),
	}
}

func orDefault[T int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Grants are the capabilities that a session has; nil: not granted. They are used during its calls only,
// by one goroutine at a time. An error of theirs fails the call, whatever the module makes of it, and is
// handed on inside an Error of kind HostFailed; but an *abi.Failure says that the module asked for
// something that cannot be done, and is for the module alone.
type Grants struct {
	Relation Relations
	Files    Files
	Table    Table
	HTTP     HTTP

	// Before, if not nil, is told each operation before it is carried out, by its name or that of its import. An error is what
	// the operation fails with.
	Before func(op string) error

	// Log is given what this session's module logs and prints, in place of Config.Log; nil: that is.
	Log func(plugin string, level abi.Level, text string)
}

// Relations is the capability "relation". A module can only name the relation that it was given to
// stage and those that Derive made.
type Relations interface {
	Schema(ctx context.Context, relation string) ([]abi.Column, error)
	Count(ctx context.Context, relation string) (int64, error)
	// Encode writes staged files; their names are below the staging folder.
	Encode(ctx context.Context, req abi.EncodeRequest) ([]abi.StagedFile, error)
	// Derive makes a relation of SQL that is not to be trusted.
	Derive(ctx context.Context, req abi.DeriveRequest) (relation string, err error)
	// Rows opens a relation's rows.
	Rows(ctx context.Context, req abi.RowsRequest) (RowStream, error)
}

// RowStream gives the messages of Rows, which are Arrow IPC: the schema first, then record batches; or of Table.ReadRows. Each has
// at most MaxMessage bytes.
type RowStream interface {
	// Next returns a message, valid until the next call, or io.EOF.
	Next(ctx context.Context) ([]byte, error)
	Close() error
}

// MaxMessage is the most bytes that a message between a module and the engine may have.
const MaxMessage = 32 << 20

// Files is the capability "files".
type Files interface {
	// Create makes a new staged file with a name that was never used.
	Create(ctx context.Context, req abi.FileCreateRequest) (StagedFile, error)
}

// StagedFile is a staged file being written. Close makes it complete.
type StagedFile interface {
	io.WriteCloser
	Name() string // below the staging folder, with slashes
}

// New returns a Host. It starts nothing. A program built without its plugins gets an Error of kind
// Missing.
func New(c Config) (*Host, error) {
	if c.FS == nil {
		c.FS = fsops.New(nil)
	}
	if c.Log == nil {
		c.Log = func(string, abi.Level, string) {}
	}
	files, err := fs.Sub(embedded, "embedded")
	if err != nil {
		return nil, err
	}
	h := &Host{config: c, files: files, now: time.Now}
	h.index, err = bundle.Read(files)
	if errors.Is(err, bundle.ErrNotBuilt) && c.Child != "" {
		err = nil // with a child of its own, a Host can run modules that are files
	}
	if platform := runtime.GOOS + "/" + runtime.GOARCH; err == nil && c.Child == "" && h.index.Platform != platform {
		err = fmt.Errorf("built with plugins for %s on %s: run make", h.index.Platform, platform)
	}
	if err != nil {
		return nil, &Error{Plugin: "(all)", Call: "load", Kind: Missing, Message: err.Error(), Err: err}
	}
	for _, dir := range cacheFolders(c.CacheDir) {
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
		h.caches = append(h.caches, cache{dir: dir, fs: c.FS, now: h.now})
	}
	return h, nil
}

// cacheFolders are the folders that may hold the cache, best first.
func cacheFolders(given string) (dirs []string) {
	if given != "" {
		dirs = append(dirs, given)
	} else if user, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(user, "ubunye"))
	}
	return append(dirs, filepath.Join(os.TempDir(), fmt.Sprintf("ubunye-%d", os.Getuid())))
}

// Builtins describes the writers that this program is built with, by name.
func (h *Host) Builtins() []abi.Description {
	var all []abi.Description
	for _, m := range h.index.Modules {
		all = append(all, m.Writers...)
	}
	slices.SortFunc(all, func(a, b abi.Description) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Describe returns a built-in's description. It runs nothing.
func (h *Host) Describe(name string) (abi.Description, bool) {
	_, d, ok := h.index.Writer(name)
	return d, ok
}
