// Package writertest runs the conformance tests of `ubunye plugin test` as tests of Go. They need the program ubunye, whose
// path is in the variable UBUNYE, or which is found in PATH: it runs pipelines with the writer in processes of their own, and
// kills them.
package writertest

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Run tests the writer in a module, each check as a test of its own. args are further arguments of the command, as "--config",
// "case.yaml". Without the program the test fails.
func Run(t *testing.T, wasm string, args ...string) {
	t.Helper()
	program := os.Getenv("UBUNYE")
	if program == "" {
		program = "ubunye"
	}
	cmd := exec.Command(program, append([]string{"plugin", "test", wasm, "--json"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: name the program ubunye in the variable UBUNYE, or put it into PATH", err)
	}
	var report struct {
		Checks []struct{ Check, Mode, Doc, Outcome, Message string }
	}
	if json.Unmarshal(out, &report) != nil || len(report.Checks) == 0 {
		t.Fatalf("%s could not test %s: %v: %s", program, wasm, err, said.String())
	}
	failed := false
	for _, c := range report.Checks {
		t.Run(strings.TrimSpace(c.Check+" "+c.Mode), func(t *testing.T) {
			switch c.Outcome {
			case "failed":
				failed = true
				t.Errorf("%s: %s", c.Doc, c.Message)
			case "not run":
				t.Skip(c.Message) // a check that it builds on has failed, or args asked for others only
			}
		})
	}
	if err != nil && !failed {
		t.Errorf("%v: %s", err, said.String())
	}
}
