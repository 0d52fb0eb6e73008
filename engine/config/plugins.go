package config

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// mostMemory is what a WebAssembly memory can have.
const mostMemory = 4 << 30

// Locked is a plugin that the lock beside the pipeline file pins.
type Locked struct {
	Name   string
	File   string // the lock, as a person would name it
	Path   string // absolute
	SHA256 string // 64 lower-case hexadecimal digits
	Writer string
	Files  bool // it was granted files of its own
	Table  bool // it was granted those of the target
}

// lockFile is what the lock is called.
const lockFile = "ubunye.lock"

// locked finds what the lock says of a plugin; nil: nothing.
func (l *loader) locked(name string) *Locked {
	if at := slices.IndexFunc(l.opts.Locked, func(k Locked) bool { return k.Name == name }); at >= 0 {
		return &l.opts.Locked[at]
	}
	return nil
}

// plugin reads the declaration of one plugin.
func (l *loader) plugin(name string, s section) Plugin {
	p := Plugin{Name: name, Path: s.path("path"), SHA256: strings.ToLower(s.text("sha256")), Writer: s.text("writer"), Memory: s.number("memory"),
		Timeout: s.duration("timeout"), Files: s.sub("allow").on("files"), Table: s.sub("allow").on("table"), HTTP: s.sub("allow").texts("http"),
		Secrets: l.secrets(s.sub("allow")), Pos: s.pos, PathPos: s.where("path"), SHAPos: s.where("sha256")}
	if len(p.HTTP) > 0 {
		p.HTTPPos = s.sub("allow").where("http")
	}
	if n := s.n.get("memory"); n != nil && !n.bad && p.Memory > mostMemory {
		l.at(n, s.at+".memory: "+n.text+" is more than a WebAssembly module can have", "4GiB is the most")
	}
	locked := l.locked(name)
	if locked != nil {
		p.fromLock(*locked, s)
	} else if s.n.get("path") == nil && !s.bad() {
		s.missing(s.f.member("path"))
	}
	switch n := s.n.get("sha256"); {
	case n == nil && locked == nil:
		l.unpinned(p, s)
	case n == nil || n.bad:
	case !digest.MatchString(p.SHA256):
		l.at(n, s.at+".sha256: "+quote(n.text)+" is no SHA-256 in hexadecimal, which has 64 digits", l.pin(p.Path))
	case locked != nil && p.SHA256 != locked.SHA256:
		l.at(n, s.at+".sha256 is not the one that "+lockFile+" pins, which is "+locked.SHA256, "remove one of the two, or add the module that is meant: ubunye plugin add")
	}
	return p
}

// fromLock takes from the lock what the pipeline does not say.
func (p *Plugin) fromLock(k Locked, s section) {
	if s.n.get("path") == nil {
		p.Path, p.PathPos = k.Path, problem.Pos{File: k.File}
	}
	if s.n.get("sha256") == nil {
		p.SHA256, p.SHAPos = k.SHA256, problem.Pos{File: k.File}
	}
	if s.n.get("writer") == nil {
		p.Writer = k.Writer
	}
	if s.sub("allow").n.get("files") == nil {
		p.Files = k.Files
	}
	if s.sub("allow").n.get("table") == nil {
		p.Table = k.Table
	}
	p.Locked = p.SHA256 == k.SHA256 && p.Writer == k.Writer
}

// lockedPlugin makes a plugin that only the lock names.
func (l *loader) lockedPlugin(k Locked) Plugin {
	f := pluginField()
	return l.plugin(k.Name, section{l, nil, f, "plugins." + k.Name, problem.Pos{File: k.File}})
}

// secrets reads the environment variables that a plugin's requests may carry.
func (l *loader) secrets(s section) map[string]string {
	names := s.texts("secrets")
	if len(names) == 0 {
		return nil
	}
	values := map[string]string{}
	for i, name := range names {
		value, ok := l.env[name]
		if !ok {
			item := s.n.get("secrets").items[i]
			l.at(item, "the environment variable "+name+" is not set", "set it, or remove it from "+s.at+".secrets")
		}
		values[name] = value
	}
	return values
}

// unpinned reports a plugin without a digest, and says which one to write.
func (l *loader) unpinned(p Plugin, s section) {
	n := s.n.get("path")
	if s.bad() || n == nil || n.bad {
		return
	}
	if _, err := sum(p.Path); err != nil {
		l.at(n, s.at+".path: "+n.text+" cannot be read: "+reason(err), "paths are relative to the pipeline file")
		return
	}
	l.add(s.pos, s.at+" has no sha256: what a plugin decides is trusted with the data, so the file must be the one that was meant", l.pin(p.Path))
}

// pin is the hint that gives the digest of the file that is there; empty: there is none.
func (l *loader) pin(path string) string {
	if d, err := sum(path); err == nil {
		return "for the file that is there now, write sha256: " + d
	}
	return ""
}

// sum is the SHA-256 of a file.
func sum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// pickWriter finds the plugin that an output names: one of the pipeline, else of the lock; a format that no plugin has is a
// built-in's.
func (l *loader) pickWriter(o *Output, s section) {
	if k := l.locked(o.Format); k != nil && !slices.ContainsFunc(l.plugins, func(p Plugin) bool { return p.Name == o.Format }) {
		l.plugins = append(l.plugins, l.lockedPlugin(*k))
	}
	if at := slices.IndexFunc(l.plugins, func(p Plugin) bool { return p.Name == o.Format }); at >= 0 {
		o.Plugin = &l.plugins[at]
		return
	}
	if n := s.n.get("format"); n != nil && slices.Contains(s.f.member("format").LaterOf, n.text) {
		l.at(n, s.at+".format: "+n.text+" is not in this version", "")
	}
}
