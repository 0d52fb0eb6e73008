// Command bench measures whole processes of ubunye against a named peer, in pairs A B B A so that a
// slow drift of the machine falls on both, and writes docs/bench.md. Every figure is a ratio of medians
// of the same run; both raw times are printed. Use `make bench`.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	rows := flag.Int("rows", 10_000_000, "rows of the large case")
	pairs := flag.Int("pairs", 5, "pairs A B B A of each case; the large case has one for each")
	out := flag.String("out", "docs/bench.md", "the page to write")
	flag.Parse()
	if err := run(*rows, *pairs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// side is one of the two things compared: prepare is not timed.
type side struct {
	prepare func(dir string) error
	command func(dir string) *exec.Cmd
	exit    int
}

type bench struct {
	name string
	bar  float64
	a, b side // ubunye and its peer
}

type result struct {
	bench
	a, b   []time.Duration
	rssA   int64 // KiB, the largest
	rssB   int64
	median float64
}

const (
	ubunye = "bin/ubunye"
	fault  = "bin/ubunye-fault"
	peer   = ".build/peer"
)

func run(rows, pairs int, out string) error {
	work, err := filepath.Abs(".build/bench")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o777); err != nil {
		return err
	}
	large, small := filepath.Join(work, fmt.Sprintf("orders-%d.csv", rows)), filepath.Join(work, "orders-10.csv")
	for file, n := range map[string]int{large: rows, small: 10} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := exec.Command(abs(peer), "make", file, fmt.Sprint(n)).Run(); err != nil {
			return fmt.Errorf("making %s: %w", file, err)
		}
	}
	syncs, err := countSyncs(work, small)
	if err != nil {
		return err
	}
	benches := []bench{
		{fmt.Sprintf("%d CSV rows, filter and three derived columns, to zstd Parquet: whole process ÷ the same statement by DuckDB alone", rows), 1.15,
			pipelineRun(large), side{command: func(dir string) *exec.Cmd {
				return exec.Command(abs(peer), "copy", large, filepath.Join(dir, "out.parquet"))
			}}},
		{fmt.Sprintf("a trivial run, caches warm ÷ a bare program that runs the same COPY and %d fsyncs, the run's own number", syncs), 2.5,
			pipelineRun(small), side{command: func(dir string) *exec.Cmd {
				return exec.Command(abs(peer), "small", small, filepath.Join(dir, "out.parquet"), fmt.Sprint(syncs))
			}}},
		{"a refused run ÷ `ubunye version`", 1.3, refusedRun(small), side{command: func(string) *exec.Cmd { return exec.Command(abs(ubunye), "version") }}},
	}
	var results []result
	for _, b := range benches {
		r, err := measure(b, pairs, work)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		fmt.Printf("%.2f (at most %.2f)  %s\n  ubunye %v\n  peer   %v\n", r.median, r.bar, r.name, r.a, r.b)
		results = append(results, r)
	}
	return os.WriteFile(out, []byte(page(results, pairs)), 0o666)
}

func abs(path string) string {
	a, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return a
}

const pipeline = `name: bench
variables: {dt: {type: date, required: true}}
tasks:
  orders:
    inputs:
      raw: {format: csv, path: "%s", columns: {id: bigint, customer: bigint, amount: "decimal(12,2)", qty: integer, country: varchar, ordered: date}}
    transform:
      out: SELECT *, amount * qty AS total, upper(country) AS market, date_trunc('month', ordered)::DATE AS month FROM raw WHERE qty > 1
    outputs:
      out: {format: parquet, path: lake, options: {compression: zstd}}
`

func writePipeline(csv string) func(dir string) error {
	return func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "pipeline.yaml"), fmt.Appendf(nil, pipeline, csv), 0o666)
	}
}

func runCommand(program, dir string) *exec.Cmd {
	return exec.Command(abs(program), "run", "-c", filepath.Join(dir, "pipeline.yaml"), "--dt", "2026-01-01")
}

func pipelineRun(csv string) side {
	return side{prepare: writePipeline(csv), command: func(dir string) *exec.Cmd { return runCommand(ubunye, dir) }}
}

func refusedRun(csv string) side {
	return side{exit: 1, command: func(dir string) *exec.Cmd { return runCommand(ubunye, dir) },
		prepare: func(dir string) error {
			if err := writePipeline(csv)(dir); err != nil {
				return err
			}
			return runCommand(ubunye, dir).Run()
		}}
}

// countSyncs counts the fsyncs of a trivial run.
func countSyncs(work, csv string) (int, error) {
	dir, err := os.MkdirTemp(work, "count-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := writePipeline(csv)(dir); err != nil {
		return 0, err
	}
	trace := filepath.Join(dir, "trace")
	cmd := runCommand(fault, dir)
	cmd.Env = append(os.Environ(), "UBUNYE_FAULT=trace:"+trace)
	if said, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, said)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		return 0, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		if fields := strings.Split(string(line), "\t"); len(fields) > 1 && strings.HasPrefix(fields[1], "sync") {
			n++
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("the trace of a run shows no fsync")
	}
	return n, nil
}

// measure runs A B B A so many times, each in a folder of its own, after one of each that is not counted.
func measure(b bench, pairs int, work string) (result, error) {
	r := result{bench: b}
	for i := range pairs + 1 {
		for _, first := range []bool{true, false, false, true} {
			s := b.a
			if !first {
				s = b.b
			}
			took, rss, err := once(s, work)
			if err != nil {
				return r, err
			}
			switch {
			case i == 0:
			case first:
				r.a, r.rssA = append(r.a, took), max(r.rssA, rss)
			default:
				r.b, r.rssB = append(r.b, took), max(r.rssB, rss)
			}
		}
	}
	r.median = float64(median(r.a)) / float64(median(r.b))
	return r, nil
}

func once(s side, work string) (time.Duration, int64, error) {
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	if s.prepare != nil {
		if err := s.prepare(dir); err != nil {
			return 0, 0, err
		}
	}
	cmd := s.command(dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	begun := time.Now()
	err = cmd.Run()
	took := time.Since(begun)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != s.exit {
		return 0, 0, fmt.Errorf("%v: %w: %s", cmd.Args, err, said.String())
	}
	return took, maxRSS(cmd.ProcessState), nil
}

func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func page(results []result, pairs int) string {
	var b strings.Builder
	b.WriteString("# Bench\n\nWritten by `make bench`; do not edit. Whole processes, wall time, medians of " + fmt.Sprint(2*pairs) + " runs each, in pairs A B B A.\n\n")
	fmt.Fprintf(&b, "%s, %s, %d processors, %s.\n\n", time.Now().UTC().Format("2006-01-02"), processor(), runtime.NumCPU(), runtime.Version())
	b.WriteString("| what | ratio | at most | ubunye: median (min–max), largest memory | peer |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %s | %s |\n", r.name, r.median, r.bar, times(r.a, r.rssA), times(r.b, r.rssB))
	}
	return b.String()
}

func times(list []time.Duration, rss int64) string {
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("%v (%v–%v), %d MiB", round(median(list)), round(slices.Min(list)), round(slices.Max(list)), rss/1024)
}

// processor is the name that the machine gives its processor.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}
