package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/config"
)

// completePipeline completes the values of the flags of a command that reads a pipeline file, from that file.
func completePipeline(cmd *cobra.Command, file *string) {
	names := func(list func(config.Outline) []config.Named) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return begins(list(engine.Outline(*file)), begun, ""), cobra.ShellCompDirectiveNoFileComp
		}
	}
	complete(cmd, "task", names(func(o config.Outline) []config.Named { return o.Tasks }))
	complete(cmd, "profile", names(func(o config.Outline) []config.Named { return o.Profiles }))
	complete(cmd, "var", func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completeVar(engine.Outline(*file).Variables, begun)
	})
	for _, name := range []string{"dt", "dtf"} {
		complete(cmd, name, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			values, directive := completeVar(engine.Outline(*file).Variables, name+"="+begun)
			for i := range values {
				values[i] = strings.TrimPrefix(values[i], name+"=")
			}
			return values, directive
		})
	}
	complete(cmd, "variable", names(func(o config.Outline) []config.Named { return o.Variables }))
	complete(cmd, "every", cobra.FixedCompletions([]cobra.Completion{string(config.EveryHour), string(config.EveryDay), string(config.EveryWeek), string(config.EveryMonth)}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"memory", "threads", "from", "to", "parallel", "wait", "set-aside", "forget", "dead"} {
		complete(cmd, name, cobra.NoFileCompletions)
	}
}

// complete says how the value of a flag is completed, if the command has that flag.
func complete(cmd *cobra.Command, flag string, how cobra.CompletionFunc) {
	if cmd.Flags().Lookup(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, how) // it fails only if there is no such flag, or twice
	}
}

// completeVar completes NAME=, and then the value if the file lists those that there may be.
func completeVar(variables []config.Named, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	name, value, named := strings.Cut(begun, "=")
	if !named {
		return begins(variables, begun, "="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	var all []cobra.Completion
	if at := slices.IndexFunc(variables, func(v config.Named) bool { return v.Name == name }); at >= 0 {
		for _, v := range variables[at].Values {
			if strings.HasPrefix(v, value) {
				all = append(all, name+"="+v)
			}
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// begins are the names that begin so, each with what follows it and what is said of it.
func begins(names []config.Named, begun, after string) (all []cobra.Completion) {
	for _, n := range names {
		if !strings.HasPrefix(n.Name, begun) {
			continue
		}
		if n.Doc == "" {
			all = append(all, n.Name+after)
		} else {
			all = append(all, cobra.CompletionWithDesc(n.Name+after, strings.Join(strings.Fields(n.Doc), " ")))
		}
	}
	return all
}
