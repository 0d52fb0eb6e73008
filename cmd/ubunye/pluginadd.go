package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/lockfile"
)

func (a *app) pluginAddCommand() *cobra.Command {
	var asJSON bool
	var f lookFlags
	var n engine.NewPlugin
	cmd := &cobra.Command{Use: "add SOURCE [-c FILE]", Short: "Pin a plugin in ubunye.lock: a file, an https:// address or an oci:// reference",
		Args: oneWord("plugin add wants one source", "ubunye plugin add SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			n.Source = args[0]
			p, err := e.AddPlugin(cmd.Context(), f.options(), n)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(p)
			}
			a.line("%s, version %s, from %s%s, is in %s with SHA-256 %s", p.Name, p.Version, p.Source, signedText(p), lockfile.Name, p.SHA256)
			a.line("  use it as format: %s", p.Name)
			if len(p.Earned) == 0 {
				a.line("  nobody has tested this module here: ubunye plugin test %s", p.Name)
			}
			return nil
		}}
	cmd.Long = `Add gets a module, asks it what it is, and writes its digest, its source and what it is granted into ubunye.lock, beside
the pipeline file that -c names, else in the working directory. A module from elsewhere is kept in the folder plugins there.
Pipelines of that folder can then name the plugin as a format. A module with another digest under the same name is refused.

With --trust a public key of Ed25519 is trusted from then on, and every plugin must be signed by a trusted key: a file by
another one of its name with .sig behind it, as openssl pkeyutl -sign -rawin makes it, an artifact of a registry by the
annotation io.ubunye.signature.ed25519.`
	f.add(cmd)
	s := cmd.Flags()
	s.StringVar(&n.Name, "name", "", "`NAME` that outputs are to call it; without it the writer's own")
	s.StringVar(&n.Writer, "writer", "", "which `WRITER` of the module is meant")
	s.StringArrayVar(&n.Allow, "allow", nil, "a `CAPABILITY` that it is granted beside relation: files or table; may be repeated")
	s.StringVar(&n.Trust, "trust", "", "`FILE` of a public key that is trusted from now on")
	s.BoolVar(&n.Replace, "replace", false, "take this module in place of another one of its name")
	_ = cmd.MarkFlagFilename("trust", "pem", "pub")
	complete(cmd, "allow", cobra.FixedCompletions([]cobra.Completion{"files", "table"}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"name", "writer"} {
		complete(cmd, name, cobra.NoFileCompletions)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []cobra.Completion{"wasm"}, cobra.ShellCompDirectiveFilterFileExt
	}
	addJSON(cmd, &asJSON)
	return cmd
}

func (a *app) pluginRemoveCommand() *cobra.Command {
	var asJSON bool
	var f lookFlags
	cmd := &cobra.Command{Use: "remove NAME [-c FILE]", Short: "Take a plugin out of ubunye.lock, and its module away if it came from elsewhere",
		Args: oneWord("plugin remove wants one name", "ubunye plugin remove NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			p, err := e.RemovePlugin(f.options(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(p)
			}
			a.line("%s is no longer in %s", p.Name, lockfile.Name)
			return nil
		}}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, name := range engine.LockedNames(f.file) {
			if strings.HasPrefix(name, begun) {
				all = append(all, name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	f.add(cmd)
	addJSON(cmd, &asJSON)
	return cmd
}

// oneWord takes exactly one word.
func oneWord(wants, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage(fmt.Sprintf("%s, not %d", wants, len(args)), hint)
		}
		return nil
	}
}

func signedText(p *lockfile.Plugin) string {
	if p.SignedBy == "" {
		return ""
	}
	return ", signed by " + p.SignedBy
}

// earnedText says what tests have shown of a plugin.
func earnedText(p *lockfile.Plugin) string {
	if len(p.Earned) == 0 {
		return ", not tested here"
	}
	modes := make([]string, len(p.Earned))
	for i, e := range p.Earned {
		modes[i] = e.Mode + " as " + e.Class
	}
	return ", tested: " + strings.Join(modes, ", ")
}
