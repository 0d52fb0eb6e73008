package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// What a person changed in a task has the name that it has in the pipeline.
func TestConfigParts(t *testing.T) {
	was := configParts([]byte(`{"name":"a","inputs":[{"name":"raw","path":"x"}],"steps":[{"name":"out","sql":"SELECT 1"}],"outputs":[{"name":"out","mode":"append"}],"expect":[{"of":"raw"}]}`))
	if got, want := strings.Join(slices.Sorted(maps.Keys(was)), " "), "expect.1 inputs.raw name outputs.out transform.out"; got != want {
		t.Errorf("parts are %s, and not %s", got, want)
	}
	now := configParts([]byte(`{"name":"a","inputs":[{"name":"raw","path":"x"}],"steps":[{"name":"out","sql":"SELECT 2"}],"outputs":[{"name":"out","mode":"append"}],"expect":[{"of":"raw"}]}`))
	for name, hash := range was {
		if len(hash) != 8 || (hash == now[name]) != (name != "transform.out") {
			t.Errorf("%s was %s and is %s", name, hash, now[name])
		}
	}
}
