package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Where the Python of the foreign readers is, and what it runs.
const (
	python    = ".venv/bin/python"
	deltaPeer = "bench/peer/delta.py"
)

// The table that is opened.
const (
	commitsOfLog = 10_000
	filesOfLog   = 100_000
)

// daily is a pipeline that appends rows of days to a Delta table.
const daily = `name: bench
variables: {dt: {type: date, required: true}}
tasks:
  orders:
    inputs:
      raw: {format: parquet, path: "%s"}
    outputs:
      out: {from: raw, format: delta, path: "%s", %s}
`

// opening is a pipeline that would read a Delta table.
const opening = `name: bench
tasks:
  orders:
    inputs:
      raw: {format: delta, path: "%s"}
    outputs:
      out: {from: raw, format: parquet, path: lake, mode: overwrite}
`

// thing is a file or a folder that cases need and that is made once.
type thing struct {
	path string
	make func() *exec.Cmd
}

// needs has a side make what it needs, as far as it is not there.
func needs(s side, things ...thing) side {
	before := s.prepare
	s.prepare = func(dir string) error {
		for _, t := range things {
			if _, err := os.Stat(t.path); err == nil {
				continue
			}
			if said, err := t.make().CombinedOutput(); err != nil {
				os.RemoveAll(t.path)
				return fmt.Errorf("making %s: %w: %s", t.path, err, said)
			}
		}
		if before == nil {
			return nil
		}
		return before(dir)
	}
	return s
}

// deltaBenches are the cases of Delta tables: rows are those that are appended, a tenth of them is merged.
func deltaBenches(work string, rows int) []bench {
	days := thing{path: filepath.Join(work, fmt.Sprintf("days-%d.parquet", rows))}
	days.make = func() *exec.Cmd { return exec.Command(abs(peer), "days", days.path, fmt.Sprint(rows)) }
	some := thing{path: filepath.Join(work, fmt.Sprintf("days-%d-changed.parquet", rows/10))}
	some.make = func() *exec.Cmd { return exec.Command(abs(peer), "changed", some.path, fmt.Sprint(rows)) }
	table := thing{path: filepath.Join(work, fmt.Sprintf("table-%d", rows))}
	table.make = func() *exec.Cmd { return deltaCommand("write", days.path, table.path) }
	log := thing{path: filepath.Join(work, fmt.Sprintf("log-%d-%d", commitsOfLog, filesOfLog))}
	log.make = func() *exec.Cmd {
		return deltaCommand("history", log.path, fmt.Sprint(commitsOfLog), fmt.Sprint(filesOfLog))
	}

	appended := needs(deltaRun(fmt.Sprintf(daily, days.path, "lake", "partition_by: [day]")), days)
	merged := onCopy(deltaRun(fmt.Sprintf(daily, some.path, "lake", "mode: merge, keys: [id]")), table.path)
	return []bench{
		{name: fmt.Sprintf("%d rows in 20 days appended to a Delta table: whole process ÷ write_deltalake of the same rows in memory", rows), bar: 1.0, a: appended,
			b: side{took: printedTime, command: func(dir string) *exec.Cmd { return deltaCommand("write", days.path, filepath.Join(dir, "lake")) }}},
		{name: fmt.Sprintf("%d rows in 20 days appended to a Delta table: whole process ÷ the same rows by DuckDB's COPY", rows), bar: 1.2, a: appended,
			b: side{command: func(dir string) *exec.Cmd {
				return exec.Command(abs(peer), "partitions", days.path, filepath.Join(dir, "lake"))
			}}},
		{name: fmt.Sprintf("planning to read a Delta table of %d commits and %d files: whole process ÷ DeltaTable(path)", commitsOfLog, filesOfLog), bar: 1.0,
			a: needs(openingRun(log.path), log), b: side{took: printedTime, command: func(string) *exec.Cmd { return deltaCommand("open", log.path) }}},
		{name: fmt.Sprintf("%d rows merged by a key into %d of a Delta table: whole process ÷ merge of deltalake", rows/10, rows), bar: 1.0, a: needs(merged, days, some, table),
			b: onCopy(side{took: printedTime, command: func(dir string) *exec.Cmd { return deltaCommand("merge", some.path, filepath.Join(dir, "lake")) }}, table.path)},
	}
}

func deltaCommand(args ...string) *exec.Cmd {
	return exec.Command(abs(python), append([]string{abs(deltaPeer)}, args...)...)
}

func deltaRun(text string) side {
	return side{command: func(dir string) *exec.Cmd { return runCommand(ubunye, dir) },
		prepare: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o666)
		}}
}

func openingRun(table string) side {
	s := deltaRun(fmt.Sprintf(opening, table))
	s.command = func(dir string) *exec.Cmd {
		return exec.Command(abs(ubunye), "plan", "-c", filepath.Join(dir, "pipeline.yaml"))
	}
	return s
}

// onCopy has a side work on a copy of a table; its data files, which nobody writes to, are linked.
func onCopy(s side, table string) side {
	before := s.prepare
	s.prepare = func(dir string) error {
		if before != nil {
			if err := before(dir); err != nil {
				return err
			}
		}
		if said, err := exec.Command("cp", "-al", table, filepath.Join(dir, "lake")).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}
	return s
}

// printedTime is the time in nanoseconds that a peer printed last.
func printedTime(said []byte) (time.Duration, error) {
	lines := strings.Split(string(bytes.TrimSpace(said)), "\n")
	n, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	return time.Duration(n), err
}
