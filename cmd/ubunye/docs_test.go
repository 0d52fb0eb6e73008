package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// Every command line of ours that a person is shown, in a block or within a sentence, names commands and flags that
// there are, and so does every target of make.
func TestCommandLinesOfTheDocs(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	ours, targets := 0, 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../configs/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: no page, %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, script := range scripts(string(text)) {
				lines, err := commandLines(script)
				if err != nil {
					t.Errorf("%s: %q: %v", page, script, err)
				}
				for _, words := range lines {
					switch path.Base(words[0]) {
					case "ubunye":
						ours++
						if err := checkLine(words[1:]); err != nil {
							t.Errorf("%s: %v: %v", page, words, err)
						}
					case "make":
						targets++
						if len(words) > 1 && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(words[1])+`:`).Match(makefile) {
							t.Errorf("%s: the Makefile has no target %s", page, words[1])
						}
					}
				}
			}
		}
	}
	if ours < 8 || targets < 3 {
		t.Fatalf("only %d command lines and %d targets found: the test reads nothing", ours, targets)
	}
}

var (
	shellBlock = regexp.MustCompile("(?ms)^ *```(sh|console|bash|shell)\n(.*?)^ *```")
	anyBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan   = regexp.MustCompile("`((?:ubunye|make) [^`]+)`")
)

// scripts are the shell texts of a page: its blocks, of a session only what was typed, and code within sentences.
func scripts(page string) (all []string) {
	for _, m := range shellBlock.FindAllStringSubmatch(page, -1) {
		text := m[2]
		if m[1] == "console" {
			var typed strings.Builder
			for line := range strings.Lines(text) {
				if command, is := strings.CutPrefix(strings.TrimSpace(line), "$ "); is {
					typed.WriteString(command + "\n")
				}
			}
			text = typed.String()
		}
		all = append(all, text)
	}
	for _, m := range codeSpan.FindAllStringSubmatch(anyBlock.ReplaceAllString(page, ""), -1) {
		all = append(all, m[1])
	}
	return all
}

// commandLines gives the words of every command of a script; what the shell would put into a word is left out.
func commandLines(script string) (all [][]string, err error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var words []string
		for _, w := range call.Args {
			word := w.Lit()
			if word == "" {
				var printed bytes.Buffer
				_ = syntax.NewPrinter().Print(&printed, w)
				word = strings.Trim(printed.String(), `'"`)
			}
			words = append(words, word)
		}
		all = append(all, words)
		return true
	})
	return all, nil
}

// checkLine parses a command line as the program would, and runs nothing.
func checkLine(words []string) error {
	root := (&app{}).command()
	root.InitDefaultCompletionCmd(words...)
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	left := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(left) > 0 {
		return fmt.Errorf("there is no command %s", left[0])
	}
	if cmd.Args != nil && len(left) > 0 {
		return cmd.Args(cmd, left)
	}
	return nil
}

func TestCommandLinesThatAreWrongAreFound(t *testing.T) {
	for script, ok := range map[string]bool{
		"bin/ubunye run -c 'p.yaml' --dt 2012-01 && cat x": true, "ubunye plan --rerun=anyway": true, "ubunye completion bash": true,
		"if true; then ubunye rum; fi": false, "ubunye run --dto 1": false, "ubunye run word": false, "ubunye plugin inspekt x": false, "ubunye plugin inspect": true,
		"X=$(ubunye status --all)": false, "source <(ubunye completion bsh)": false,
	} {
		lines, err := commandLines(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range lines {
			if path.Base(words[0]) != "ubunye" {
				continue
			}
			if err := checkLine(words[1:]); (err == nil) != ok {
				t.Errorf("%s: %v", script, err)
			}
		}
	}
}
