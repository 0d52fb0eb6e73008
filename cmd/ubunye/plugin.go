package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Writers: those that are built in, those of a pipeline, and files", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(a.pluginListCommand(), a.pluginInspectCommand(), a.pluginAddCommand(), a.pluginRemoveCommand(), a.pluginTestCommand(), a.pluginNewCommand(), a.pluginRehearseCommand())
	return cmd
}

func (a *app) pluginListCommand() *cobra.Command {
	var asJSON bool
	var f lookFlags
	cmd := &cobra.Command{Use: "list [-c FILE]", Short: "List the built-in writers and the plugins of a pipeline", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			all, err := e.Plugins(cmd.Context(), f.options())
			if asJSON {
				if printing := a.printJSON(all); err == nil {
					err = printing
				}
				return err
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, p := range all {
				from := "built in"
				if p.File != "" {
					from = p.File
				}
				modes := make([]string, len(p.Modes))
				for i, m := range p.Modes {
					modes[i] = m.Name
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Version, from, strings.Join(modes, " "), p.Doc)
			}
			if flushing := table.Flush(); err == nil {
				err = flushing
			}
			return err
		}}
	f.add(cmd)
	addJSON(cmd, &asJSON)
	return cmd
}

func (a *app) pluginInspectCommand() *cobra.Command {
	var asJSON bool
	var f lookFlags
	cmd := &cobra.Command{Use: "inspect FILE|NAME [-c FILE]", Short: "Tell what a writer can do, what it asks for, and its digest",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Sprintf("plugin inspect wants one file or name, not %d", len(args)), "ubunye plugin inspect FILE|NAME")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			all, err := e.InspectPlugin(cmd.Context(), args[0], f.options())
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(all)
			}
			for _, p := range all {
				a.printPlugin(p)
			}
			return nil
		}}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeWriter(f.file, begun), cobra.ShellCompDirectiveDefault // or a file
	}
	f.add(cmd)
	addJSON(cmd, &asJSON)
	return cmd
}

// completeWriter completes the name of a writer. What cannot be found out is not offered.
func (a *app) completeWriter(file, begun string) (all []cobra.Completion) {
	e, err := a.newEngine()
	if err != nil {
		return nil
	}
	names, err := e.WriterNames(file)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, begun) {
			all = append(all, name)
		}
	}
	return all
}

// lookFlags are those of a command that may be told of a pipeline file.
type lookFlags struct{ file, profile string }

// addPipeline is add for a command whose own configuration is another file.
func (f *lookFlags) addPipeline(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "pipeline", "c", "", "the pipeline `FILE` whose plugins are meant too")
	_ = cmd.MarkFlagFilename("pipeline", "yaml", "yml")
}

func (f *lookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.file, "config", "c", "", "the pipeline `FILE` whose plugins are meant too")
	cmd.Flags().StringVar(&f.profile, "profile", "", "`NAME` of the profile to lay over the file")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	completePipeline(cmd, &f.file)
}

func (f *lookFlags) options() engine.Options {
	o := engine.Options{File: f.file}
	o.Profile = f.profile
	return o
}

func (a *app) printPlugin(p engine.PluginInfo) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(a.stdout, "  %-13s "+format+"\n", append([]any{what}, args...)...)
	}
	title := p.Name + ", version " + p.Version
	if p.Doc != "" {
		title += ": " + p.Doc
	}
	fmt.Fprintln(a.stdout, title)
	file := p.File
	if file == "" {
		file = "built in"
	}
	line("module", "%s, %s, ABI %d", file, report.Size(p.Size), p.ABI)
	line("sha256", "%s", p.SHA256)
	capabilities := make([]string, len(p.Capabilities))
	for i, c := range p.Capabilities {
		capabilities[i] = string(c)
	}
	line("asks for", "%s", strings.Join(capabilities, ", "))
	for _, m := range p.Modes {
		line("mode", "%s: delivery %s", m.Name, m.Class)
		for _, e := range m.Exceptions {
			var with []string
			for _, option := range slices.Sorted(maps.Keys(e.Options)) {
				with = append(with, option+"="+e.Options[option])
			}
			line("", "with %s: delivery %s", strings.Join(with, " "), e.Class)
		}
	}
	for _, o := range p.Options {
		text := o.Type
		if o.Required {
			text += ", required"
		}
		if o.Default != "" {
			text += ", default " + o.Default
		}
		line("option", "%s (%s): %s", o.Name, text, o.Doc)
	}
	if l := p.Lock; l != nil {
		line("locked", "from %s%s%s", l.Source, signedText(l), earnedText(l))
	}
	if p.Refused != "" {
		line("refused", "%s", p.Refused)
	} else if p.File != "" && p.Lock == nil {
		line("in a pipeline", "plugins: {%s: {path: %s, sha256: %s%s}}", p.Name, p.File, p.SHA256, allow(capabilities))
	}
}

// allow is what a pipeline must grant for these capabilities.
func allow(capabilities []string) string {
	var granted []string
	for _, c := range []string{"files", "table"} {
		if slices.Contains(capabilities, c) {
			granted = append(granted, c+": true")
		}
	}
	if slices.Contains(capabilities, "http") {
		granted = append(granted, "http: [the hosts]")
	}
	if granted == nil {
		return ""
	}
	return ", allow: {" + strings.Join(granted, ", ") + "}"
}
