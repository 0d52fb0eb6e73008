package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// checkHeader looks at a file's first bytes; "" means a core module.
func checkHeader(wasm []byte) string {
	switch {
	case len(wasm) == 0:
		return "the file is empty"
	case len(wasm) < 8 || !bytes.HasPrefix(wasm, []byte("\x00asm")):
		return "it is no WebAssembly module"
	case wasm[6] == 1:
		return "it is a WebAssembly component; a core module is wanted"
	case !bytes.Equal(wasm[4:8], []byte{1, 0, 0, 0}):
		return "it is WebAssembly of another version than 1"
	}
	return ""
}

// check lists everything that keeps the module from being run, in one line; "" means nothing.
func (g *guest) check(r wazero.Runtime, c wazero.CompiledModule) string {
	var problems []string
	exports := c.ExportedFunctions()
	if p := checkMarker(exports); p != "" {
		problems = append(problems, p)
	}
	if p := checkExports(exports); p != "" {
		problems = append(problems, p)
	}
	if m, ok := c.ExportedMemories()[abi.Memory]; !ok {
		problems = append(problems, "it exports no memory named "+abi.Memory)
	} else if needs := uint64(m.Min()) << 16; needs > g.memory.limit {
		problems = append(problems, fmt.Sprintf("it begins with %d MiB of memory; its limit is %d MiB", needs>>20, g.memory.limit>>20))
	}
	if missing := checkImports(r, c); len(missing) > 0 {
		problems = append(problems, "it imports what the engine does not provide: "+strings.Join(missing, ", "))
	}
	return strings.Join(problems, "; ")
}

func checkMarker(exports map[string]api.FunctionDefinition) string {
	var found []string
	for name := range exports {
		if strings.HasPrefix(name, abi.MarkerPrefix) {
			found = append(found, name)
		}
	}
	switch slices.Sort(found); {
	case slices.Contains(found, abi.Marker):
		return ""
	case len(found) == 0:
		return fmt.Sprintf("it is no writer: no export %s (found no %s…)", abi.Marker, abi.MarkerPrefix)
	}
	return fmt.Sprintf("it is made for another version of the engine: %s wanted, %s found", abi.Marker, strings.Join(found, ", "))
}

func checkExports(exports map[string]api.FunctionDefinition) string {
	if exports[abi.Initialize] == nil && exports["_start"] != nil {
		return fmt.Sprintf("it is a command (export _start), not a reactor (export %s): build it with -buildmode=c-shared, or as a cdylib", abi.Initialize)
	}
	wanted := map[string]string{abi.Initialize: "() → ()", abi.Marker: "() → i32"}
	for _, call := range abi.RequiredCalls() {
		wanted[string(call)] = "() → i32"
	}
	for _, call := range []abi.Call{abi.CallCommit, abi.CallResolve} { // optional, but not of another kind
		if exports[string(call)] != nil {
			wanted[string(call)] = "() → i32"
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		def := exports[name]
		if def == nil && name != abi.Marker { // the marker has a message of its own
			missing = append(missing, name)
		} else if def != nil && signature(def) != wanted[name] {
			missing = append(missing, fmt.Sprintf("%s as %s (found %s)", name, wanted[name], signature(def)))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "it lacks exports: " + strings.Join(missing, ", ")
}

func checkImports(r wazero.Runtime, c wazero.CompiledModule) []string {
	provided := map[string]map[string]api.FunctionDefinition{}
	for _, name := range []string{abi.ImportModule, wasi_snapshot_preview1.ModuleName} {
		provided[name] = r.Module(name).ExportedFunctionDefinitions()
	}
	var missing []string
	for _, def := range c.ImportedFunctions() {
		module, name, _ := def.Import()
		have := provided[module][name]
		if have == nil {
			missing = append(missing, module+"."+name)
		} else if signature(have) != signature(def) {
			missing = append(missing, fmt.Sprintf("%s.%s as %s (it is %s)", module, name, signature(def), signature(have)))
		}
	}
	for _, def := range c.ImportedMemories() {
		module, name, _ := def.Import()
		missing = append(missing, module+"."+name+" (a memory)")
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

func signature(def api.FunctionDefinition) string {
	list := func(types []api.ValueType) string {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = api.ValueTypeName(t)
		}
		if len(names) == 1 {
			return names[0]
		}
		return "(" + strings.Join(names, ", ") + ")"
	}
	params := list(def.ParamTypes())
	if len(def.ParamTypes()) == 1 {
		params = "(" + params + ")"
	}
	return params + " → " + list(def.ResultTypes())
}
