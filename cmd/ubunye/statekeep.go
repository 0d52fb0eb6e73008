package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

const stateMigrateHelp = `Migrate brings the state files of a folder to the format of this program: those of older versions, and those of Smart
Data Lake Builder, whose runs are then listed and shown, and whose numbers go on. It needs no pipeline file.

All files are read and checked first. One that cannot be read, or that a newer program wrote, is named, and nothing is
changed; nor is it while a run is alive. Then the originals are copied to backup-TIME/ in the folder, and each file is
replaced. It may be interrupted and repeated at any time. Files of other tools are left alone. index.json, if there is one, is
written anew.

Times that have no zone, as Smart Data Lake Builder wrote them for long, are taken to be in the zone of this machine;
--time-zone names another one. Which one it was is printed, and written into the files.`

func (a *app) stateMigrateCommand() *cobra.Command {
	var f stateFlags
	var zone zoneFlag
	var dryRun bool
	cmd := &cobra.Command{Use: "migrate {-s FOLDER | -c FILE}", Short: "Bring state files of older formats, and of Smart Data Lake Builder, to this one's", Long: stateMigrateHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, o, err := f.open(cmd, a)
			if err != nil {
				return err
			}
			did, err := e.StateMigrate(cmd.Context(), o, zone.location(), dryRun)
			switch {
			case did.Folder == "": // nothing was looked at
			case f.asJSON:
				if printing := a.printJSON(did); err == nil {
					err = printing
				}
			default:
				a.printMigrated(did, err == nil, zone.at == nil)
			}
			return err
		}}
	f.add(cmd, false)
	s := cmd.Flags()
	zone.add(cmd)
	s.BoolVar(&dryRun, "dry-run", false, "tell which files would be changed; nothing is written")
	return cmd
}

// printMigrated prints a line for each file. well: there was no problem.
func (a *app) printMigrated(did engine.StateMigrated, well, guessed bool) {
	for _, m := range did.Files {
		text := fmt.Sprintf("%s → v%d %s", m.From, m.To, path.Base(m.File))
		if strings.HasPrefix(m.File, "current/") {
			text += ", which is not finished"
		}
		a.line("%s", text)
	}
	if did.Zone != "" {
		text := "times without a zone are taken to be in " + did.Zone
		if guessed {
			text += ", the zone of this machine; --time-zone names another one"
		}
		a.line("%s", text)
	}
	switch {
	case !well:
	case len(did.Files) == 0:
		a.line("nothing to do: every file in %s is of this program's format", did.Folder)
	case did.DryRun:
		a.line("%s would be changed", report.Count(int64(len(did.Files)), "file"))
	default:
		a.line("%s changed; the originals are in %s", report.Count(int64(len(did.Files)), "file"), did.Backup)
	}
}

const statePruneHelp = `Prune removes the state files of all runs of a pipeline that ended well or were accepted, but for the newest ones. Runs
that are not finished are kept, and so is what the ledger knows: a batch that is finished stays finished, and the mark of
an incremental input stays where it is. The data is not touched. index.json, if there is one, is written anew.`

func (a *app) statePruneCommand() *cobra.Command {
	var f stateFlags
	var keep int
	var dryRun bool
	cmd := &cobra.Command{Use: "prune {-c FILE | -s FOLDER} --keep RUNS", Short: "Remove the state files of all but the newest finished runs", Long: statePruneHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep < 1 {
				return usage("how many runs to keep is not said", "write --keep RUNS, at least 1: numbers go on from the newest")
			}
			e, o, err := f.open(cmd, a)
			if err != nil {
				return err
			}
			did, err := e.StatePrune(cmd.Context(), o, f.name, keep, dryRun)
			switch {
			case did.Pipeline == "": // nothing was looked at
			case f.asJSON:
				if printing := a.printJSON(did); err == nil {
					err = printing
				}
			default:
				what := report.Count(int64(len(did.Removed)), "file") + " of " + report.Count(int64(did.Runs), "finished run")
				switch {
				case len(did.Removed) == 0 && err != nil: // the problem tells why
				case len(did.Removed) == 0:
					a.line("nothing to remove: %s has no more than %s", did.Pipeline, report.Count(int64(keep), "finished run"))
				case dryRun:
					a.line("would remove %s", what)
				default:
					a.line("removed %s", what)
				}
			}
			return err
		}}
	f.add(cmd, true)
	s := cmd.Flags()
	s.IntVar(&keep, "keep", 0, "how many finished `RUNS` to keep, the newest")
	s.BoolVar(&dryRun, "dry-run", false, "tell what would be removed; nothing is written")
	complete(cmd, "keep", cobra.NoFileCompletions)
	return cmd
}

const stateReindexHelp = `Reindex writes index.json anew, which has one line for each run in succeeded/: its newest attempt, in the order in which
they ended. Runs add their own lines where the pipeline says state: {index: true}; this is for a folder that had none,
or whose index is damaged. A file that cannot be used has no line, and is named.`

func (a *app) stateReindexCommand() *cobra.Command {
	var f stateFlags
	cmd := &cobra.Command{Use: "reindex {-c FILE | -s FOLDER}", Short: "Write index.json anew from the files of finished runs", Long: stateReindexHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, o, err := f.open(cmd, a)
			if err != nil {
				return err
			}
			did, err := e.StateReindex(cmd.Context(), o)
			switch {
			case did.Index == "" || err != nil && len(did.Left) == 0: // nothing was written
			case f.asJSON:
				if printing := a.printJSON(did); err == nil {
					err = printing
				}
			default:
				a.line("%s has %s", did.Index, report.Count(int64(did.Lines), "run"))
			}
			return err
		}}
	f.add(cmd, false)
	return cmd
}
