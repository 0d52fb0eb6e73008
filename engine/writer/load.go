package writer

import (
	"encoding/json"
	"errors"
	"fmt"
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
		return &Error{Call: callLoad, Kind: Missing, Message: "the program that runs plugins cannot be started: " + line(strings.ReplaceAll(err.Error(), "\n", "; ")), Err: err}
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
	if uncached != nil {
		s.host.config.Log(s.module.Name, abi.LevelWarn, "the compiled module could not be kept, so the next start compiles it again: "+line(uncached.Error()))
	}
	return nil
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
