package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/e2e/blackbox"
)

// operation is one change of the file system that a run made.
type operation = blackbox.Operation

// trace runs a first day in a project like p, elsewhere, and gives the changes that it made, in order.
func (p *project) trace(setup func(*project), args ...string) []operation {
	p.t.Helper()
	twin := newProject(p.t, "")
	for _, name := range p.files(".") {
		if strings.HasPrefix(name, ".ubunye") || strings.HasPrefix(name, "lake") || strings.HasSuffix(name, "/") {
			continue
		}
		data, err := os.ReadFile(p.path(name))
		if err != nil {
			p.t.Fatal(err)
		}
		twin.write(name, string(data))
	}
	if setup != nil {
		setup(twin)
	}
	file := filepath.Join(p.t.TempDir(), "trace")
	twin.runEnv([]string{"UBUNYE_FAULT=trace:" + file}, args...).must(p.t, 0)
	return readTrace(p.t, file)
}

func readTrace(t *testing.T, file string) []operation {
	t.Helper()
	ops, err := blackbox.ReadTrace(file)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// traceHere lists what a call does in the project itself.
func (p *project) traceHere(args ...string) []operation {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "trace")
	p.runEnv([]string{"UBUNYE_FAULT=trace:" + file}, args...).must(p.t, 0)
	return readTrace(p.t, file)
}
