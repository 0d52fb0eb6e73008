// Command child runs one WebAssembly module for the engine and dies with it. The engine's own process
// never runs a module's code: a module that cannot be pre-empted would freeze it, heartbeats
// included, as soon as the garbage collector wants to run.
//
// It speaks package wire over stdin and stdout, and knows nothing of pipelines. It needs no
// environment and no arguments; it opens no file but those of the compiled-module cache that it is told of.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

func main() {
	// One thread for the module and one for reading. Set by hand, the number is not adjusted later,
	// which would stop the world.
	runtime.GOMAXPROCS(2)
	collectLate()
	conn := wire.NewConn(os.Stdin, os.Stdout)
	in := make(chan frame)
	go receive(conn, in)
	if err := serve(context.Background(), conn, in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type frame struct {
	kind    wire.Kind
	payload []byte
}

// receive hands on what the engine says. When the engine is gone it ends the program at once, whatever
// the module is doing: nothing here waits for the module to reach a point where it could be stopped.
func receive(conn *wire.Conn, in chan<- frame) {
	for {
		kind, payload, err := conn.Read()
		if err != nil {
			os.Exit(0)
		}
		in <- frame{kind, payload}
	}
}

// serve loads the module and answers calls until the module is dead.
func serve(ctx context.Context, conn *wire.Conn, in <-chan frame) error {
	load, module, err := receiveModule(in)
	if err != nil {
		return err
	}
	g := newGuest(conn, in, load)
	ready, death := g.load(ctx, module)
	if death != nil {
		return conn.WriteJSON(wire.Dead, death)
	}
	if err := conn.WriteJSON(wire.Ready, ready); err != nil {
		return err
	}
	if f := <-in; f.kind != wire.Begin {
		return fmt.Errorf("frame %q where the word to begin was due", f.kind)
	}
	if death := g.begin(ctx); death != nil {
		return conn.WriteJSON(wire.Dead, death)
	}
	if err := conn.Write(wire.Begun); err != nil {
		return err
	}
	for f := range in {
		if f.kind != wire.Call {
			return fmt.Errorf("frame %q where a call was due", f.kind)
		}
		name, request, err := wire.Named(f.payload)
		if err != nil {
			return err
		}
		code, death := g.call(ctx, name, request)
		if death != nil {
			return conn.WriteJSON(wire.Dead, death)
		}
		if err := conn.Write(wire.Answer, wire.Bytes(code), g.answer); err != nil {
			return err
		}
		g.collect(0)
	}
	return nil
}

// collectAfter is how many bytes of frames are let through before the heap is collected.
const collectAfter = 64 << 20

// loadingHeap is the heap, in bytes, at which loading begins to collect. A module that was compiled before is
// loaded in less, and collecting meanwhile would take longer than loading does; compiling one takes more.
const loadingHeap = 256 << 20

// collectLate has the collector wait until loading needs it.
func collectLate() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(loadingHeap)
}

// collectByHand switches the collector off. It would have to stop a module's code, cannot, and would
// freeze the whole program with it; so it runs only where no module's code does.
func collectByHand() {
	debug.SetMemoryLimit(math.MaxInt64)
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapInuse > collectAfter {
		debug.FreeOSMemory() // a compiler was at work
	}
}

// collect is called where the module waits, with the bytes that have been let through since.
func (g *guest) collect(n int) {
	g.garbage += n
	if g.garbage > collectAfter {
		g.garbage = 0
		runtime.GC()
	}
}
