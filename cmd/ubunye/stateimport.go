package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

const stateImportHelp = `Import takes over what another program has done, so that nothing lands twice. It may be interrupted and repeated at any
time. No file of the data is touched, and nothing of the other program's is changed. Stop that program first.

Of Ubunye (Python) it takes over the batches that it finished: each is afterwards finished as if
a run of this program had committed it, with the files that are there. A run of it is refused, and --rerun replaces its
files. --map names a YAML file that says what is taken over, and how it is called there:

	from: python
	root: ../old-project          # has .ubunye/leases/
	time_zone: Europe/Zurich      # of times that have none; default: this machine's
	tasks:                        # of the pipeline: their names there
	  clean_orders: {task: sales/etl/clean_orders, outputs: {clean: orders}}
	batches:                      # all variables that a run had there
	  - {dt: 2026-01-01}
	  - {dt: {from: 2026-01-02, to: 2026-01-31}, region: [eu, us]}

A value is a text, a whole number or true and false, as it was there: 1 and "1" make two batches. A batch that the
other program has not finished is told and left. A file that it claims and that is gone is told, and claimed: a rerun is
then refused until --rerun=anyway says that its rows are gone too.

Of Smart Data Lake Builder it takes over how far inputs were read, as its newest runs say; inputs must be incremental, by
column. An input that has a mark here already keeps it:

	from: sdlb
	state: ../sdlb/state          # has current/ and succeeded/
	application: shop             # default: the name of the pipeline
	marks:                        # inputs of the pipeline, and what they read is called there
	  clean_orders.raw: ext-orders`

func (a *app) stateImportCommand() *cobra.Command {
	var f pipelineFlags
	var asJSON bool
	var q engine.StateImport
	var zone zoneFlag
	cmd := &cobra.Command{Use: "import -c FILE --map FILE", Short: "Take over what Ubunye (Python) or Smart Data Lake Builder has done, so that nothing lands twice", Long: stateImportHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd, a)
			if err != nil {
				return err
			}
			if q.Mapping == "" {
				return usage("what is to be taken over is not said", "write --map FILE; "+cmd.CommandPath()+" --help shows what is in it")
			}
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			q.Zone, q.Who = zone.location(), whoami()
			did, err := e.StateImport(cmd.Context(), o, q)
			switch {
			case did.Program == "": // nothing was looked at
			case asJSON:
				if printing := a.printJSON(did); err == nil {
					err = printing
				}
			default:
				a.printImported(did)
			}
			return err
		}}
	s := cmd.Flags()
	s.StringVarP(&f.file, "config", "c", "", "the pipeline `FILE`")
	s.StringVar(&f.profile, "profile", "", "`NAME` of the profile to lay over the file")
	s.StringVar(&f.dt, "dt", "", "`VALUE` of the variable dt, where the file does not say it")
	s.StringArrayVar(&f.vars, "var", nil, "`NAME=VALUE` of a variable that the file does not say; may be repeated")
	s.StringVar(&q.Mapping, "map", "", "the `FILE` that says what is taken over")
	s.BoolVar(&q.Gone, "gone", false, "also batches of which no file is there any more")
	s.BoolVar(&q.DryRun, "dry-run", false, "tell what would be taken over; nothing is written")
	zone.add(cmd)
	addJSON(cmd, &asJSON)
	for _, name := range []string{"config", "map"} {
		_ = cmd.MarkFlagFilename(name, "yaml", "yml")
	}
	completePipeline(cmd, &f.file)
	return cmd
}

func (a *app) printImported(did engine.StateImported) {
	for _, m := range did.Marks {
		a.printImportedMark(m, did)
	}
	if len(did.Marks) > 0 {
		return
	}
	became := map[engine.Became]int{}
	for _, b := range did.Batches {
		became[b.Became]++
		name := fmt.Sprintf("task %s, batch %s", b.Task, batchName(b.Batch, b.Key))
		switch b.Became {
		case engine.BatchImported:
			text := "taken over"
			if did.DryRun {
				text = "would be taken over"
			}
			a.line("%s: %s, %s; run %s had finished it at %s", name, text, report.Count(int64(b.Files), "file"), b.Run, stamp(*b.Finished))
			if n := len(b.Missing); n > 0 {
				a.line("  %d of the %d files are gone (the first: %s): a rerun of the batch is refused until --rerun=anyway", n, b.Files, b.Missing[0])
			}
		case engine.BatchKnown:
			a.line("%s: it is finished here already", name)
		case engine.BatchAbsent:
			a.line("%s: it was not finished there (%s is not there)", name, b.Note)
		}
	}
	all := len(did.Batches)
	text := "%s taken over from %s"
	if did.DryRun {
		text = "%s would be taken over from %s"
	}
	what := "1 batch"
	if n := became[engine.BatchImported]; n != 1 {
		what = fmt.Sprintf("%d batches", n)
	}
	text = fmt.Sprintf(text, what, did.Program)
	if all != became[engine.BatchImported] {
		text += fmt.Sprintf(" (listed: %d; finished here already: %d; not finished there: %d; could not be taken over: %d)", all, became[engine.BatchKnown], became[engine.BatchAbsent], became[engine.BatchLeft])
	}
	a.line("%s", text)
}

// printImportedMark prints how far an input was read.
func (a *app) printImportedMark(m engine.ImportedMark, did engine.StateImported) {
	name := fmt.Sprintf("task %s, batch %s, input %s", m.Task, batchName(m.Batch, m.Key), m.Input)
	switch {
	case m.Became == engine.BatchImported && did.DryRun:
		a.line("%s: would go on above %s, as run %d of %s says of %s", name, m.Mark, m.Run, did.Program, m.Object)
	case m.Became == engine.BatchImported:
		a.line("%s: goes on above %s, as run %d of %s says of %s", name, m.Mark, m.Run, did.Program, m.Object)
	case m.Became == engine.BatchKnown:
		a.line("%s: it has a mark here already, which stays", name)
	case m.Became == engine.BatchAbsent:
		a.line("%s: no run of %s says how far %s was read", name, did.Program, m.Object)
	}
}
