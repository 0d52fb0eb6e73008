// Command gen prints JSON Schemas of what the program writes and reads beside the pipeline file, and the page about its
// events. They are made from the source of the types that are encoded and decoded: names and kinds come from the
// fields, descriptions from their comments, so nothing is declared twice. It reads source, because some of these types
// are their package's own. `make generate` keeps the results in the repository.
//
//	gen list       the names of all files, below the repository's root
//	gen FILE       one of them
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// files are those that are generated, and how.
func files() map[string]func(s *source, out io.Writer) error {
	printed := func(title, of string) func(*source, io.Writer) error {
		return func(s *source, out io.Writer) error {
			return print(out)((&builder{source: s, defs: object{}}).document(title, of))
		}
	}
	list := func(title, of string) func(*source, io.Writer) error {
		return func(s *source, out io.Writer) error {
			return print(out)((&builder{source: s, defs: object{}}).list(title, of))
		}
	}
	kept := func(title string, of ...string) func(*source, io.Writer) error {
		return func(s *source, out io.Writer) error {
			return print(out)((&builder{source: s, defs: object{}, nullable: true}).document(title, of...))
		}
	}
	return map[string]func(*source, io.Writer) error{
		"schemas/batch.schema.json":           kept("ubunye batch document", "engine/store.envelope", "engine/ledger.Document"),
		"schemas/run.schema.json":             kept("ubunye run record", "engine/ledger.Record"),
		"schemas/run-state.schema.json":       kept("ubunye run state", "engine/runstate.Document"),
		"schemas/run-state-index.schema.json": kept("ubunye run state index line", "engine/runstate.Line"),
		"schemas/plan.schema.json":            list("ubunye plan --json", "engine.PlannedTask"),
		"schemas/status.schema.json":          printed("ubunye status --json", "engine.Status"),
		"schemas/recover.schema.json":         printed("ubunye recover --json", "engine.Recovered"),
		"schemas/backfill.schema.json":        list("ubunye backfill --dry-run --json", "engine.PlannedDate"),
		"schemas/show.schema.json":            list("ubunye show --json", "engine.Table"),
		"schemas/state-list.schema.json":      list("ubunye state list --json", "engine.StateRun"),
		"schemas/state-show.schema.json":      printed("ubunye state show --json", "engine.StateDetail"),
		"schemas/state-accept.schema.json":    printed("ubunye state accept --json", "engine.StateAccepted"),
		"schemas/state-import.schema.json":    printed("ubunye state import --json", "engine.StateImported"),
		"schemas/state-migrate.schema.json":   printed("ubunye state migrate --json", "engine.StateMigrated"),
		"schemas/state-prune.schema.json":     printed("ubunye state prune --json", "engine.StatePruned"),
		"schemas/state-reindex.schema.json":   printed("ubunye state reindex --json", "engine.StateReindexed"),
		"schemas/plugins.schema.json":         list("ubunye plugin list --json, ubunye plugin inspect --json", "engine.PluginInfo"),
		"schemas/lock.schema.json":            kept("ubunye.lock", "engine/lockfile.Lock"),
		"schemas/plugin-add.schema.json":      printed("ubunye plugin add --json", "engine/lockfile.Plugin"),
		"schemas/plugin-remove.schema.json":   printed("ubunye plugin remove --json", "engine/lockfile.Plugin"),
		"schemas/plugin-test.schema.json":     printed("ubunye plugin test --json", "engine/kit.Report"),
		"schemas/state-set.schema.json":       printed("ubunye state set --json", "engine.ChangedMark"),
		"schemas/messages.schema.json": func(s *source, out io.Writer) error {
			return print(out)((&builder{source: s, defs: object{}, nullable: true}).messages("ubunye plugin message"))
		},
		"schemas/events.schema.json": func(s *source, out io.Writer) error {
			return print(out)((&builder{source: s, defs: object{}}).events("ubunye run --json"))
		},
		"docs/events.md": (*source).eventsPage,
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("want one word: list or a file")
	}
	if args[0] == "list" {
		for _, name := range slices.Sorted(maps.Keys(files())) {
			if _, err := fmt.Fprintln(out, name); err != nil {
				return err
			}
		}
		return nil
	}
	generate := files()[args[0]]
	if generate == nil {
		return fmt.Errorf("%q is not generated here", args[0])
	}
	return generate(&source{root: ".", packages: map[string]*pkg{}}, out)
}

// print writes a schema as a file.
func print(out io.Writer) func(object, error) error {
	return func(schema object, err error) error {
		if err != nil {
			return err
		}
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(schema)
	}
}
