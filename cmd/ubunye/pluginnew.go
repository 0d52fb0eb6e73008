package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/scaffold"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func (a *app) pluginNewCommand() *cobra.Command {
	var language string
	cmd := &cobra.Command{Use: "new NAME [--lang go|rust]", Short: "Make the folder of a new plugin: a writer that works, its tests, and the SDK",
		Args: oneWord("plugin new wants one name", "ubunye plugin new NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if wrong := config.CheckName(name); wrong != "" {
				return usage(wrong, "")
			}
			files, err := scaffold.New(fsops.New(nil), name, name, language)
			var exists *scaffold.ExistsError
			switch {
			case errors.As(err, &exists):
				return usage(exists.Error(), "choose another name, or another folder")
			case err != nil && !isLanguage(language):
				return usage("--lang: "+err.Error(), "it may be "+strings.Join(scaffold.Languages(), " or "))
			case err != nil:
				return &problem.Problem{Code: problem.Failed, Message: "the folder cannot be made: " + err.Error(), Cause: err}
			}
			a.line("%s has %s, and the SDK in %s/ubunye-sdk", name, strings.Join(files, ", "), name)
			a.line("  build it: %s/build.sh", name)
			a.line("  test it:  ubunye plugin test %[1]s/%[1]s.wasm --config %[1]s/case.yaml", name)
			return nil
		}}
	cmd.Flags().StringVar(&language, "lang", scaffold.Languages()[0], "the `LANGUAGE`: go or rust")
	complete(cmd, "lang", cobra.FixedCompletions(scaffold.Languages(), cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func isLanguage(name string) bool {
	for _, l := range scaffold.Languages() {
		if l == name {
			return true
		}
	}
	return false
}
