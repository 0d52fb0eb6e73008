package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// guest is the one module of this process.
type guest struct {
	conn   *wire.Conn
	in     <-chan frame
	limits wire.LoadRequest
	log    *logger
	memory *memory
	module api.Module

	runtime  wazero.Runtime
	compiled wazero.CompiledModule

	request []byte           // of the running call
	answer  []byte           // what the module responded
	last    []byte           // the last operation's answer
	pending map[int32][]byte // row messages that were larger than the buffer offered, by cursor
	death   *wire.Death      // why an import ended the module
	garbage int              // bytes of frames since the last collection
}

func newGuest(conn *wire.Conn, in <-chan frame, load wire.LoadRequest) *guest {
	return &guest{conn: conn, in: in, limits: load, pending: map[int32][]byte{},
		log: &logger{conn: conn, room: load.MaxLog}, memory: &memory{limit: uint64(load.Memory)}}
}

func receiveModule(in <-chan frame) (load wire.LoadRequest, module []byte, err error) {
	for _, want := range []wire.Kind{wire.Load, wire.Module} {
		f := <-in
		if f.kind != want {
			return load, nil, fmt.Errorf("frame %q where %q was due", f.kind, want)
		}
		if want == wire.Load {
			if err := json.Unmarshal(f.payload, &load); err != nil {
				return load, nil, err
			}
		}
		module = f.payload
	}
	return load, module, nil
}

// load compiles the module and checks what it needs.
func (g *guest) load(ctx context.Context, wasm []byte) (wire.ReadyAnswer, *wire.Death) {
	ready := wire.ReadyAnswer{Protocol: wire.Protocol, ABI: abi.Version}
	if problem := checkHeader(wasm); problem != "" {
		return ready, &wire.Death{Cause: wire.Incompatible, Message: problem}
	}
	r, compiled, err := g.compile(ctx, wasm, g.limits.CacheDir)
	if err != nil && g.limits.CacheDir != "" {
		// The module or the cache is bad; without the cache we know which.
		ready.Uncached = oneLine(err.Error())
		r, compiled, err = g.compile(ctx, wasm, "")
	}
	if err != nil {
		return ready, &wire.Death{Cause: wire.Incompatible, Message: "it is no WebAssembly that can be compiled: " + oneLine(err.Error())}
	}
	if problem := g.check(r, compiled); problem != "" {
		return ready, &wire.Death{Cause: wire.Incompatible, Message: problem}
	}
	g.runtime, g.compiled = r, compiled
	return ready, nil
}

// begin makes the instance and runs _initialize: before, no code of the module has run.
func (g *guest) begin(ctx context.Context) *wire.Death {
	collectByHand()
	// Go's collector works harder before the limit is met: a module that is refused memory dies.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithRandSource(rand.Reader).WithEnv("GOMEMLIMIT", strconv.FormatInt(g.limits.Memory/4*3, 10)).WithStdout(g.log.stream(abi.LevelInfo)).WithStderr(g.log.stream(abi.LevelWarn))
	ctx = experimental.WithMemoryAllocator(ctx, g.memory)
	var err error
	if g.module, err = g.runtime.InstantiateModule(ctx, g.compiled, config); err != nil {
		return g.dead(err)
	}
	_, death := g.call(ctx, abi.Initialize, nil)
	return death
}

// compile makes a runtime with what a module may import, and compiles the module in it.
func (g *guest) compile(ctx context.Context, wasm []byte, cacheDir string) (wazero.Runtime, wazero.CompiledModule, error) {
	config := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, nil, err
	}
	if err := g.provide(ctx, r); err != nil {
		return nil, nil, err
	}
	compiled, err := r.CompileModule(ctx, wasm)
	return r, compiled, err
}

// call runs one export to its end. The answer is in g.answer.
func (g *guest) call(ctx context.Context, name string, request []byte) (code uint32, death *wire.Death) {
	fn := g.module.ExportedFunction(name)
	if fn == nil {
		return 0, &wire.Death{Cause: wire.Incompatible, Message: "it has no export " + name}
	}
	g.request, g.answer, g.last = request, nil, nil
	clear(g.pending)
	g.log.begin(g.limits.MaxLog)
	results, err := fn.Call(ctx)
	g.log.end()
	if err != nil || g.module.IsClosed() {
		return 0, g.dead(err)
	}
	if len(results) == 1 {
		code = uint32(results[0])
	}
	return code, nil
}

// dead says why the module ended, in one line.
func (g *guest) dead(err error) *wire.Death {
	g.log.end()
	if g.death != nil {
		return g.death
	}
	words := ""
	if g.log.lastWords != "" {
		words = fmt.Sprintf(" (it wrote: %s)", g.log.lastWords)
	}
	if g.memory.refused > 0 {
		return &wire.Death{Cause: wire.OutOfMemory, Message: fmt.Sprintf(
			"it wanted %d MiB of memory; its limit is %d MiB", (g.memory.refused+1<<20-1)>>20, g.memory.limit>>20)}
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return &wire.Death{Cause: wire.Exited, Message: fmt.Sprintf("it ended itself with exit code %d%s", exit.ExitCode(), words)}
	}
	if err == nil {
		return &wire.Death{Cause: wire.Exited, Message: "it closed itself" + words}
	}
	message, trace, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n")
	return &wire.Death{Cause: wire.Trapped, Message: oneLine(strings.TrimPrefix(message, "wasm error: ")) + words, Trace: trace}
}

// die ends the module from inside an import.
func (g *guest) die(cause wire.Cause, format string, args ...any) {
	g.death = &wire.Death{Cause: cause, Message: fmt.Sprintf(format, args...)}
	panic(errDead)
}

var errDead = errors.New("ended by an import")

func oneLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
