package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

func (a *app) showCommand() *cobra.Command {
	var limit int
	var asJSON bool
	return a.pipelineCommand("show -c FILE", "Print the first rows of the outputs, or of the batches that have the given values; nothing is written",
		func(cmd *cobra.Command) {
			addJSON(cmd, &asJSON)
			cmd.Flags().IntVar(&limit, "limit", 20, "most `ROWS` of an output to print")
		},
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			if limit < 0 {
				return usage(fmt.Sprintf("--limit %d is less than 0", limit), "")
			}
			tables, err := e.Show(cmd.Context(), o, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(tables)
			}
			for _, t := range tables {
				a.printTable(t)
			}
			return nil
		})
}

// widest is the most characters of a value that are printed.
const widest = 40

func (a *app) printTable(t engine.Table) {
	names := make([]string, len(t.Columns))
	for i, name := range t.Columns {
		names[i] = report.Line(name)
	}
	lines := [][]string{names}
	for _, row := range t.Rows {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = "NULL"
			if v != nil {
				line[i] = printable(*v)
			}
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(t.Columns))
	for _, line := range lines {
		for i, v := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	a.line("%s.%s: %s in %s", t.Task, t.Output, report.Count(t.Total, "row"), t.Path)
	fmt.Fprintln(a.stdout)
	for n, line := range lines {
		for i, v := range line {
			line[i] = v + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v))
		}
		fmt.Fprintln(a.stdout, strings.TrimRight("  "+strings.Join(line, "  "), " "))
		if n == 0 {
			rule := make([]string, len(widths))
			for i, w := range widths {
				rule[i] = strings.Repeat("-", w)
			}
			fmt.Fprintln(a.stdout, "  "+strings.Join(rule, "  "))
		}
	}
	if left := t.Total - int64(len(t.Rows)); left > 0 {
		fmt.Fprintf(a.stdout, "  … and %s more\n", report.Count(left, "row"))
	}
}

// printable keeps a value on its line and in its column.
func printable(v string) string {
	v = report.Line(v)
	if utf8.RuneCountInString(v) > widest {
		v = string([]rune(v)[:widest-1]) + "…"
	}
	return v
}
