package writer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/bundle"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// load starts the child and has it load the module.
func (s *Session) load() *Error {
	wasm, digest, e := s.contents()
	if e != nil {
		return e
	}
	proc, cache, err := s.host.startChild()
	if err != nil {
		return &Error{Call: callLoad, Kind: Missing, Message: "the program that runs plugins cannot be started: " + line(strings.ReplaceAll(err.Error(), "\n", "; ")),
			Hint: "set XDG_CACHE_HOME to a folder that this user alone can change", Err: err}
	}
	s.proc, s.conn = proc, wire.NewConn(proc.stdout, proc.stdin)
	folder, uncached := cache.openCompiled(digest)
	defer folder.drop()
	request := wire.LoadRequest{Memory: s.limits.Memory, CacheDir: folder.dir, MaxMessage: MaxMessage, MaxLog: maxLog}
	data, e := s.converse(s.ctx, callLoad, s.limits.Load, nil, wire.Ready, func() error {
		return errors.Join(s.conn.WriteJSON(wire.Load, request), s.conn.Write(wire.Module, wasm))
	})
	if e != nil {
		e.Call = callLoad
		return e
	}
	var ready wire.ReadyAnswer
	if err := json.Unmarshal(data, &ready); err != nil || ready.Protocol != wire.Protocol || ready.ABI != abi.Version {
		return &Error{Call: callLoad, Kind: Incompatible, Message: fmt.Sprintf(
			"the program that runs plugins speaks protocol %d and ABI %d; %d and %d are wanted", ready.Protocol, ready.ABI, wire.Protocol, abi.Version)}
	}
	switch {
	case uncached != nil:
	case ready.Uncached != "":
		uncached = errors.New(ready.Uncached)
	default:
		uncached = folder.keep()
	}
	return s.initialize(uncached)
}

// initialize runs the module's first code, once the session has begun. uncached is why its compiled code is not kept.
func (s *Session) initialize(uncached error) *Error {
	select {
	case <-s.begin:
		if uncached != nil { // said only now: before, nobody has said where to
			s.log(abi.LevelWarn, "the compiled module could not be kept, so the next start compiles it again: "+line(uncached.Error()))
		}
	case <-s.ctx.Done():
		cause := context.Cause(s.ctx)
		return &Error{Call: callLoad, Kind: Cancelled, Message: cause.Error(), Err: cause}
	}
	_, e := s.converse(s.ctx, callLoad, s.limits.Load, nil, wire.Begun, func() error { return s.conn.Write(wire.Begin) })
	if e != nil {
		e.Call = callLoad
		return e
	}
	s.baseline = s.proc.resident()
	return nil
}

// contents returns the module, checked against the digest that it must have.
func (s *Session) contents() (wasm []byte, digest string, e *Error) {
	if s.module.Path != "" {
		return readModule(s.module)
	}
	m, _, _ := s.host.index.Writer(s.module.Name) // Start has seen it
	wasm, err := bundle.Contents(s.host.files, m.Blob)
	if err != nil {
		return nil, "", &Error{Call: callLoad, Kind: Missing, Message: err.Error(), Err: err}
	}
	return wasm, m.SHA256, nil
}

func noBuiltin(m Module) *Error {
	return &Error{Plugin: m.Name, Call: callLoad, Kind: Missing, Message: "there is no built-in writer of that name"}
}

// readModule reads a file and checks it against its pinned digest. What was checked is what is run: the
// file is read once.
func readModule(m Module) (wasm []byte, digest string, e *Error) {
	wasm, err := os.ReadFile(m.Path)
	if err != nil {
		return nil, "", &Error{Call: callLoad, Kind: Missing, Message: "the module cannot be read: " + err.Error(), Err: err}
	}
	if len(wasm) > wire.MaxFrame {
		return nil, "", &Error{Call: callLoad, Kind: Incompatible,
			Message: fmt.Sprintf("the module has %d bytes; at most %d are allowed", len(wasm), wire.MaxFrame)}
	}
	digest = bundle.Digest(wasm)
	if m.SHA256 != "" && !strings.EqualFold(m.SHA256, digest) {
		return nil, "", &Error{Call: callLoad, Kind: Digest,
			Message: fmt.Sprintf("%s has SHA-256 %s; %s is pinned", m.Path, digest, m.SHA256),
			Hint:    "if the new module is meant, pin its SHA-256"}
	}
	return wasm, digest, nil
}

// openCompiled is compiled for those who go on without.
func (c *cache) openCompiled(digest string) (*compiled, error) {
	if c == nil {
		return &compiled{}, errors.New("no folder can be used")
	}
	folder, err := c.compiled(digest)
	if err != nil {
		return &compiled{}, err
	}
	return folder, nil
}

// startChild starts the program that runs modules, from the first folder where that is possible. The
// error names every folder's reason, one a line.
func (h *Host) startChild() (*process, *cache, error) {
	var reasons []error
	for i := range h.caches {
		proc, err := h.startFrom(&h.caches[i])
		if err == nil {
			return proc, &h.caches[i], nil
		}
		reasons = append(reasons, err)
	}
	return nil, nil, errors.Join(reasons...)
}

func (h *Host) startFrom(c *cache) (*process, error) {
	if h.config.Child != "" {
		return startProcess(h.config.Child)
	}
	blob := h.index.Child
	path, err := c.program("child", blob.SHA256, func() ([]byte, error) { return bundle.Unpack(h.files, blob) })
	if err != nil {
		return nil, err
	}
	return startProcess(path)
}
