package main

import (
	"os"
	"os/user"

	"github.com/spf13/cobra"
)

func (a *app) stateCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "state", Short: "Look at the run state, and set where incremental inputs go on", Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(a.stateSetCommand())
	return cmd
}

// whoami is the person as the system knows them, and the machine.
func whoami() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
