package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // --time-zone means the same on machines that have no zones

	"github.com/spf13/cobra"
)

// zoneFlag is --time-zone.
type zoneFlag struct{ at *time.Location }

func (f *zoneFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(f, "time-zone", "`ZONE` in which times are that have none, as Europe/Zurich (default: this machine's)")
	complete(cmd, "time-zone", cobra.NoFileCompletions)
}

// location is the zone that was named, or that of this machine.
func (f *zoneFlag) location() *time.Location {
	if f.at == nil {
		return localZone()
	}
	return f.at
}

// String, Set and Type uphold pflag.Value.
func (f *zoneFlag) String() string {
	if f.at == nil {
		return "" // the help names no default
	}
	return f.at.String()
}
func (f *zoneFlag) Type() string { return "zone" }
func (f *zoneFlag) Set(name string) error {
	at, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return fmt.Errorf("there is no zone %q; write one as Europe/Zurich or UTC", name)
	}
	f.at = at
	return nil
}

// localZone is the zone of this machine, by its name where that can be found out: what is written down must mean the same
// elsewhere.
func localZone() *time.Location {
	if name, set := os.LookupEnv("TZ"); set {
		if zone, err := time.LoadLocation(strings.TrimPrefix(name, ":")); err == nil {
			return zone
		}
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(filepath.ToSlash(target), "/zoneinfo/"); ok {
			if zone, err := time.LoadLocation(name); err == nil {
				return zone
			}
		}
	}
	return time.Local
}
