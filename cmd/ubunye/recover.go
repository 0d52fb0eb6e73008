package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

const recoverHelp = `Recover finishes or drops what dead runs left, without running anything: what they had committed lands, what they
had only staged goes, the batches that they held become free. A start of the pipeline does the same for the batches
that it needs, so recover is for those that nobody is going to run soon. A run whose heartbeat is too old is
watched first. What living runs hold is left alone.

Three things are for a person to decide. --set-aside KEY: a document that is damaged, or was written by a newer
program, gives way to the version before it; the damaged file is kept. --forget RUN: what is left of a run and can
never be finished, because a disk is gone, is given up, and named. --dead RUN: a run that gives no sign is dead; if it
is not, it loses its work and no row is harmed.`

func (a *app) recoverCommand() *cobra.Command {
	var asJSON bool
	var q engine.Recovery
	cmd := a.pipelineCommand("recover -c FILE", "Finish or drop what dead runs left, without running anything",
		func(cmd *cobra.Command) {
			addJSON(cmd, &asJSON)
			s := cmd.Flags()
			s.StringVar(&q.SetAside, "set-aside", "", "put the version before it in the place of the damaged document of the batch with this `KEY`")
			s.StringVar(&q.Forget, "forget", "", "give up what is left of the run with this `RUN` id and cannot be finished")
			s.StringArrayVar(&q.Dead, "dead", nil, "declare the run with this `RUN` id dead; may be repeated")
		},
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			did, err := e.Recover(cmd.Context(), o, q)
			switch {
			case did.Ledger == "": // nothing was looked at
			case asJSON:
				if printErr := a.printJSON(did); err == nil {
					err = printErr
				}
			default:
				printRecovered(a.stdout, did, err == nil, q)
			}
			return err
		})
	cmd.Long = recoverHelp
	return cmd
}

// printRecovered prints what was done, a line a thing. well: there was no problem.
func printRecovered(to io.Writer, did engine.Recovered, well bool, q engine.Recovery) {
	if !did.Exists {
		if well {
			fmt.Fprintf(to, "no run yet: there is no ledger at %s\n", did.Ledger)
		}
		return
	}
	var text strings.Builder
	if s := did.SetAside; s != nil {
		printSetAside(&text, s, q.SetAside)
	}
	for _, b := range did.Batches {
		printRecoveredBatch(&text, b)
	}
	for _, dir := range did.Stray {
		fmt.Fprintf(&text, "removed the staging folder %s of a dead run, which no batch named\n", dir)
	}
	for _, f := range did.Forgotten {
		printForgotten(&text, f)
	}
	if q.Forget != "" && len(did.Forgotten) == 0 && well {
		fmt.Fprintf(&text, "no file of run %s had to be given up\n", q.Forget)
	}
	for _, h := range did.Held {
		fmt.Fprintf(&text, "task %s, batch %s: left alone; held by run %s (host %s, process %d) since %s, %s\n",
			h.Task, batchName(h.Batch, h.Key), h.Run, h.Host, h.PID, stamp(h.Since), lifeText(h.HolderStatus))
	}
	for _, s := range did.Kept {
		fmt.Fprintf(&text, "left the staging folder %s, which no batch names: %s\n", s.Path, strayText(s))
	}
	if text.Len() == 0 && well {
		fmt.Fprintln(&text, "nothing to do: no dead run has left anything")
	}
	io.WriteString(to, text.String())
}

func printRecoveredBatch(to io.Writer, b engine.RecoveredBatch) {
	name := fmt.Sprintf("task %s, batch %s", b.Task, batchName(b.Batch, b.Key))
	if t := b.TakenFrom; t != nil {
		why := "its process has ended"
		if !t.Certain {
			why = "it gives no sign"
		}
		if t.Beat != nil {
			why += ", last heartbeat " + stamp(*t.Beat)
		}
		fmt.Fprintf(to, "%s: took it from dead run %s (host %s, process %d; %s); it is free\n", name, t.Run, t.Host, t.PID, why)
	}
	var done []string
	add := func(n int, did, what string) {
		if n > 0 {
			done = append(done, did+" "+report.Count(int64(n), what))
		}
	}
	add(b.Landed, "landed", "file")
	add(b.Removed, "removed", "replaced file")
	add(b.Dropped, "dropped", "staging folder")
	if len(done) > 0 {
		of := ""
		if b.CommittedBy != "" {
			of = ", finishing the commit of run " + b.CommittedBy
		}
		fmt.Fprintf(to, "%s: %s%s\n", name, strings.Join(done, ", "), of)
	}
	if b.Missing > 0 {
		fmt.Fprintf(to, "%s: %s that run %s had committed are neither staged nor landed; somebody moved or removed them\n", name, report.Count(int64(b.Missing), "file"), b.CommittedBy)
	}
	for _, d := range b.Doubtful {
		fmt.Fprintf(to, "%s: %s\n", name, d)
	}
}

func printForgotten(to io.Writer, f engine.ForgottenWork) {
	fmt.Fprintf(to, "task %s, batch %s: given up: %s of output %s in %s: %s\n", f.Task, f.Batch, f.Do, f.Output, f.Path, f.Reason)
	for _, name := range f.Names {
		fmt.Fprintf(to, "  %s\n", name)
	}
	if f.Do == "land" {
		fmt.Fprintf(to, "  what of them had not landed is in %s, as NAME.staged\n", f.Staged)
	}
}

func printSetAside(to io.Writer, s *engine.SetAsideDocument, key string) {
	if s.Readable {
		fmt.Fprintf(to, "batch %s: its document can be read, so nothing was set aside\n", key)
		return
	}
	name := fmt.Sprintf("task %s, batch %s", s.Task, batchName(s.Batch, key))
	knows := "it knows of no commit"
	if s.Finished != nil {
		knows = fmt.Sprintf("its last commit is that of run %s at %s: %s in %s", s.Finished.Run, stamp(s.Finished.At), report.Count(s.Finished.Rows, "row"), report.Count(s.Finished.Files, "file"))
	}
	fmt.Fprintf(to, "%s: %s counts again, as %s; %s\n", name, s.Before, s.Document, knows)
	fmt.Fprintf(to, "%s: the damaged document is kept as %s\n", name, s.Kept)
	if len(s.Missed) == 0 {
		fmt.Fprintf(to, "%s: nothing younger than that is in its outputs that no batch claims\n", name)
		return
	}
	fmt.Fprintf(to, "%s: no batch claims these files, which are younger than that; the damaged document may have:\n", name)
	for _, file := range s.Missed {
		fmt.Fprintf(to, "  %s\n", file)
	}
}
