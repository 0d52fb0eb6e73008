package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// versions are those of the tables that a run reads: every task reads a table as the first one did, whatever is committed to it
// meanwhile. The zero value is ready.
type versions struct {
	mu   sync.Mutex
	read map[string]*int64 // by what was asked for
}

// settled gives an input of a table with versions the version that the run reads.
func (r *run) settled(ctx context.Context, in compute.Input) (compute.Input, error) {
	var what strings.Builder
	fmt.Fprintf(&what, "%q %q", in.Format, in.Path)
	for _, key := range slices.Sorted(maps.Keys(in.Options)) {
		fmt.Fprintf(&what, " %q=%q", key, in.Options[key])
	}
	v := &r.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	version, known := v.read[what.String()]
	if !known {
		var err error
		if version, err = r.Compute.Version(ctx, in); err != nil {
			return in, err
		}
		if v.read == nil {
			v.read = map[string]*int64{}
		}
		v.read[what.String()] = version
	}
	in.Version = version
	return in, nil
}
