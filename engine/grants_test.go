package engine

import "testing"

func TestInSlice(t *testing.T) {
	for _, c := range []struct {
		slice, part string
		want        bool
	}{
		{"", "dt=2", true}, {"dt=1", "dt=1", true}, {"dt=1", "dt=1/region=eu", true}, {"dt=1", "dt=2", false}, {"dt=1", "dt=10", false},
		{"*/dt=1", "region=eu/dt=1", true}, {"*/dt=1", "region=eu/dt=2", false}, {"*/dt=1", "region=eu", false},
	} {
		if got := inSlice(c.slice, c.part); got != c.want {
			t.Errorf("%s in %s: %t", c.part, c.slice, got)
		}
	}
}
