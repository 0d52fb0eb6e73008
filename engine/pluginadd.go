package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/fetch"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// NewPlugin is a plugin to be added to the lock beside a pipeline file.
type NewPlugin struct {
	Source  string   // a file, an https:// address or an oci:// reference
	Name    string   // that outputs are to call it; empty: the writer's own
	Writer  string   // which of the module's writers; empty: the only one, or the one of the name
	Allow   []string // capabilities that it is granted beside relation
	Trust   string   // file of a public key that is trusted from now on; empty: none
	Replace bool     // another module, or another source, may take the place of one that is there
}

// pluginFolder is where modules are kept that come from elsewhere, beside the lock.
const pluginFolder = "plugins"

// AddPlugin gets a module, checks whose it is and what it asks for, and pins it in the lock. It is asked what it is, and given
// nothing to write. A problem leaves the lock as it was.
func (e *Engine) AddPlugin(ctx context.Context, o Options, n NewPlugin) (*lockfile.Plugin, error) {
	r := &run{Engine: e, options: o, config: &config.Pipeline{}}
	if err := r.openWriters(); err != nil {
		return nil, err
	}
	a := &adding{run: r, folder: lockFolder(o.File), new: n}
	p, err := a.add(ctx)
	if a.temporary != "" {
		_ = e.FS.Remove(a.temporary) // what was not used; the error is the one to tell
	}
	return p, err
}

// adding is one plugin on its way into the lock.
type adding struct {
	*run
	folder    string
	new       NewPlugin
	module    fetch.Module
	temporary string // file of a module that came from elsewhere, until it is used
	pinned    lockfile.Plugin
}

func (a *adding) add(ctx context.Context) (*lockfile.Plugin, error) {
	if err := a.trust(); err != nil {
		return nil, err
	}
	var err error
	if a.module, err = (fetch.Fetcher{}).Fetch(ctx, a.new.Source); err != nil {
		return nil, fetchProblem(ctx, err)
	}
	if err := a.signed(); err != nil {
		return nil, err
	}
	path, err := a.place()
	if err != nil {
		return nil, unwritten(a.folder, err)
	}
	d, err := a.look(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := a.name(d); err != nil {
		return nil, err
	}
	if err := a.settle(path); err != nil {
		return nil, unwritten(a.folder, err)
	}
	a.lock.Put(a.pinned)
	if err := a.lock.Save(a.FS, a.folder); err != nil {
		return nil, &problem.Problem{Code: problem.Failed, Message: err.Error(), Cause: err}
	}
	return a.lock.Find(a.pinned.Name), nil
}

func unwritten(folder string, err error) *problem.Problem {
	return &problem.Problem{Code: problem.Failed, Message: "the module cannot be put beside " + filepath.Join(folder, lockfile.Name) + ": " + err.Error(), Cause: err}
}

func fetchProblem(ctx context.Context, err error) error {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return told(ctx, err)
	}
	return &problem.Problem{Code: problem.PluginMissing, Message: e.Error(), Hint: e.Hint, Cause: err}
}

// trust takes a key among those that the lock trusts.
func (a *adding) trust() error {
	if a.new.Trust == "" {
		return nil
	}
	text, err := os.ReadFile(a.new.Trust)
	key := ""
	if err == nil {
		key, err = fetch.ParseKey(text)
	}
	if err != nil {
		return &problem.Problem{Code: problem.Usage, Message: "the key " + a.new.Trust + " cannot be used: " + err.Error(), Cause: err,
			Hint: "a public key of Ed25519, as openssl pkey -pubout prints it"}
	}
	if !slices.Contains(a.lock.Trusted, key) {
		a.lock.Trusted = append(a.lock.Trusted, key)
	}
	return nil
}

// signed checks the signature, where the lock has keys.
func (a *adding) signed() error {
	if len(a.lock.Trusted) == 0 {
		return nil
	}
	if a.pinned.SignedBy = a.module.Signer(a.lock.Trusted); a.pinned.SignedBy != "" {
		return nil
	}
	p := &problem.Problem{Code: problem.ConfigInvalid, Message: a.new.Source + " is not signed by a key that " + lockfile.Name + " trusts",
		Hint: "if the signer is to be trusted: --trust KEY.pem"}
	if a.module.Signature == nil {
		p.Message = a.new.Source + " is not signed, and " + lockfile.Name + " has keys that every plugin must be signed by"
		p.Hint = "the signature of a file is beside it, as " + filepath.Base(a.new.Source) + fetch.SignatureSuffix + "; of an artifact, the annotation " + fetch.SignatureAnnotation
	}
	return p
}

// place gives a file of the module: its own, if it is below the lock's folder, else a new one there.
func (a *adding) place() (string, error) {
	folder, err := filepath.Abs(a.folder)
	if err != nil {
		return "", err
	}
	if !fetch.Remote(a.new.Source) {
		path, err := filepath.Abs(a.new.Source)
		if err != nil {
			return "", err
		}
		if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) {
			a.pinned.Path, a.pinned.Source = filepath.ToSlash(below), filepath.ToSlash(below)
			return path, nil
		}
	}
	a.pinned.Source = a.module.Resolved
	if err := a.FS.MkdirAll(filepath.Join(folder, pluginFolder), 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(folder, pluginFolder, "."+uuid.NewString()+".wasm")
	a.temporary = path
	return path, a.FS.WriteNew(path, a.module.Contents, 0o666)
}

// look asks the module what it is.
func (a *adding) look(ctx context.Context, path string) (abi.Description, error) {
	module := writer.Module{Name: filepath.Base(a.new.Source), Path: path, Writer: a.new.Writer}
	if a.new.Name != "" {
		module.Name = a.new.Name
	}
	found, err := a.host.Inspect(ctx, module, writer.Limits{})
	if err != nil {
		return abi.Description{}, a.explainLook(ctx, err, config.Plugin{})
	}
	d, err := found.Choose(module)
	if err != nil {
		return d, &problem.Problem{Code: problem.Usage, Message: err.Error(), Hint: "say which is meant: --writer " + found.Writers[0].Name, Cause: err}
	}
	a.pinned.SHA256 = found.SHA256
	return d, nil
}

// name fills in what the lock is to have, and refuses what a person must decide first.
func (a *adding) name(d abi.Description) error {
	a.pinned.Name, a.pinned.Writer, a.pinned.Version = a.new.Name, d.Name, d.Version
	if a.new.Name == "" {
		a.pinned.Name = d.Name
	}
	if wrong := config.CheckName(a.pinned.Name); wrong != "" {
		return &problem.Problem{Code: problem.Usage, Message: wrong, Hint: "give it another one: --name NAME"}
	}
	grants := []string{string(abi.CapFiles), string(abi.CapTable)}
	for _, c := range a.new.Allow {
		if !slices.Contains(grants, c) {
			return &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("%q cannot be allowed", c), Hint: "it may be " + strings.Join(grants, " or ")}
		}
	}
	a.pinned.Allow = slices.Compact(slices.Sorted(slices.Values(a.new.Allow)))
	for _, c := range grants {
		if slices.Contains(d.Capabilities, abi.Capability(c)) && !slices.Contains(a.pinned.Allow, c) {
			return &problem.Problem{Code: problem.ConfigInvalid, Message: "plugin " + a.pinned.Name + " asks for the capability " + c + ", which is not granted", Hint: "if it is to have it: --allow " + c}
		}
	}
	have := a.lock.Find(a.pinned.Name)
	if have == nil {
		return nil
	}
	if have.SHA256 == a.pinned.SHA256 && have.Writer == a.pinned.Writer {
		a.pinned.Earned = have.Earned // it is the same
		return nil
	}
	if a.new.Replace {
		return nil
	}
	return &problem.Problem{Code: problem.ConfigInvalid, Message: fmt.Sprintf("%s pins %s with SHA-256 %s, and %s has %s", lockfile.Name, have.Name, have.SHA256, a.new.Source, a.pinned.SHA256),
		Hint: "if the new module is meant: --replace; if both are, give this one another name: --name NAME"}
}

// settle gives a module that came from elsewhere its name.
func (a *adding) settle(path string) error {
	if path != a.temporary {
		return nil
	}
	a.pinned.Path = pluginFolder + "/" + a.pinned.Name + ".wasm"
	if err := a.FS.Rename(path, filepath.Join(filepath.Dir(path), a.pinned.Name+".wasm")); err != nil {
		return err
	}
	a.temporary = ""
	return nil
}

// RemovePlugin takes a plugin out of the lock beside a pipeline file, and its module away if it came from elsewhere.
func (e *Engine) RemovePlugin(o Options, name string) (*lockfile.Plugin, error) {
	l, err := readLock(o.File)
	if err != nil {
		return nil, err
	}
	have := l.Find(name)
	if have == nil {
		var names []string
		for _, p := range l.Plugins {
			names = append(names, p.Name)
		}
		return nil, &problem.Problem{Code: problem.PluginMissing, Message: fmt.Sprintf("%s has no plugin %q", lockfile.Name, name), Hint: config.DidYouMean(name, names)}
	}
	gone := *have
	l.Remove(name)
	folder := lockFolder(o.File)
	if err := l.Save(e.FS, folder); err != nil {
		return nil, &problem.Problem{Code: problem.Failed, Message: err.Error(), Cause: err}
	}
	if used := slices.ContainsFunc(l.Plugins, func(p lockfile.Plugin) bool { return p.Path == gone.Path }); used || !strings.HasPrefix(gone.Path, pluginFolder+"/") || gone.Source == gone.Path {
		return &gone, nil
	}
	if err := e.FS.Remove(filepath.Join(folder, filepath.FromSlash(gone.Path))); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &problem.Problem{Code: problem.Failed, Message: "the plugin is out of the lock, but its module is still there: " + err.Error(), Cause: err}
	}
	return &gone, nil
}

// EarnPlugin writes what tests have shown of a module into the lock beside a pipeline file, for each of the plugins that it is
// there. It tells their names; none: the lock does not have it.
func EarnPlugin(files *fsops.FS, file, sha256, writer string, earned []lockfile.Earned) (names []string, err error) {
	l, err := readLock(file)
	if err != nil {
		return nil, err
	}
	for i := range l.Plugins {
		if p := &l.Plugins[i]; p.SHA256 == sha256 && p.Writer == writer {
			p.Earned, names = earned, append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	if err := l.Save(files, lockFolder(file)); err != nil {
		return nil, &problem.Problem{Code: problem.Failed, Message: err.Error(), Cause: err}
	}
	return names, nil
}

// LockedNames are the names of the plugins in the lock beside a pipeline file, as far as it can be read.
func LockedNames(file string) (names []string) {
	l, err := readLock(file)
	if err != nil {
		return nil
	}
	for _, p := range l.Plugins {
		names = append(names, p.Name)
	}
	return names
}
