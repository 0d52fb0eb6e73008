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
	files := flag.Int("files", 12_000, "small files that are landed")
	only := flag.String("only", "", "measure only what has this in its name, and write no page")
	flag.Parse()
	if err := runAll(*rows, *pairs, *files, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// side is one of the two things compared: prepare is not timed.
type side struct {
	prepare func(dir string) error
	command func(dir string) *exec.Cmd
	exit    int
	took    func(said []byte) (time.Duration, error) // the time that counts, from what it printed; nil: all of it
}

// bench is one comparison of times, or of memory.
type bench struct {
	name   string
	bar    float64
	a, b   side // ubunye and its peer
	memory bool // the largest memory of all processes is compared, not the time
}

type result struct {
	bench
	a, b  []run
	ratio float64
}

// run is one run of one side.
type run struct {
	took   time.Duration
	memory int64 // bytes that were resident at most, of all its processes together
}

const (
	ubunye = "bin/ubunye"
	fault  = "bin/ubunye-fault"
	peer   = ".build/peer"
)

// partRows is how many rows the many files have each.
const partRows = 5000

func runAll(rows, pairs, files int, out, only string) error {
	work, err := filepath.Abs(".build/bench")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o777); err != nil {
		return err
	}
	data := func(rows int) string { return filepath.Join(work, fmt.Sprintf("orders-%d.csv", rows)) }
	large, small, many, guests := data(rows), data(10), data(files), data(rows/2)
	for file, n := range map[string]int{large: rows, data(4 * rows): 4 * rows, small: 10, many: files, guests: rows / 2} {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := exec.Command(abs(peer), "make", file, fmt.Sprint(n)).Run(); err != nil {
			return fmt.Errorf("making %s: %w", file, err)
		}
	}
	parts := filepath.Join(work, fmt.Sprintf("orders-%d-in-files", rows))
	if err := splitFile(large, parts, partRows); err != nil {
		return fmt.Errorf("making %s: %w", parts, err)
	}
	syncs, err := countSyncs(work, small)
	if err != nil {
		return err
	}
	benches := []bench{
		{name: fmt.Sprintf("%d CSV rows, filter and three derived columns, to zstd Parquet: whole process ÷ the same statement by DuckDB alone", rows), bar: 1.15,
			a: pipelineRun(large), b: side{command: func(dir string) *exec.Cmd {
				return exec.Command(abs(peer), "copy", large, filepath.Join(dir, "out.parquet"))
			}}},
		{name: fmt.Sprintf("%d clean CSV rows, each held against its declaration, rejects on: whole process ÷ the same statement by DuckDB alone", rows), bar: 1.3,
			a: strictPipeline(large), b: side{command: func(dir string) *exec.Cmd {
				return exec.Command(abs(peer), "copy", large, filepath.Join(dir, "out.parquet"))
			}}},
		{name: fmt.Sprintf("%d CSV rows in files of %d ÷ in one file", rows, partRows), bar: 1.5, a: pipelineRun(parts), b: pipelineRun(large)},
		{name: fmt.Sprintf("a trivial run, caches warm ÷ a bare program that runs the same COPY and %d fsyncs, the run's own number", syncs), bar: 2.5,
			a: pipelineRun(small), b: side{command: func(dir string) *exec.Cmd {
				return exec.Command(abs(peer), "small", small, filepath.Join(dir, "out.parquet"), fmt.Sprint(syncs))
			}}},
		// Both right after the run that finishes the batch: what that leaves to the machine is paid by whoever comes next.
		{name: "a refused run ÷ `ubunye version`", bar: 1.3, a: refusedRun(small), b: side{prepare: refusedRun(small).prepare, command: func(string) *exec.Cmd { return exec.Command(abs(ubunye), "version") }}},
		{name: "a trivial run that takes over from one that was killed right before its commit ÷ the same run undisturbed", bar: 1.5,
			a: takeoverRun(small), b: pipelineRun(small)},
		{name: "a trivial run where 100000 runs have finished, each of a batch of its own ÷ the same run where ten have", bar: 1.2,
			a: stateRun(work, small, 100_000), b: stateRun(work, small, 10)},
		{name: fmt.Sprintf("peak memory of all processes at %d rows ÷ at %d rows, memory limit 1 GiB", 4*rows, rows), bar: 1.2, memory: true,
			a: limitedRun(data(4 * rows)), b: limitedRun(large)},
		{name: fmt.Sprintf("%d small files committed and landed ÷ %d renames and two syncfs, the same names in the same folders", files, files), bar: 2,
			a: landingRun(many, files), b: landingPeer(files)},
		{name: fmt.Sprintf("%d rows of 6 columns through rows_next and file_write, as text of fixed width by a plugin in Go ÷ as CSV by the compute engine", rows/2), bar: 15,
			a: guestRun(guests), b: encoderRun(guests)},
		{name: "a trivial run with a plugin that is a file, its compiled module cached ÷ the same run with a built-in writer", bar: 1.5,
			a: guestRun(small), b: encoderRun(small)},
	}
	var results []result
	for _, b := range append(benches, deltaBenches(work, rows)...) {
		if !strings.Contains(b.name, only) {
			continue
		}
		r, err := measure(b, pairs, work)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		fmt.Printf("%.2f (at most %.2f)  %s\n  ubunye %v\n  peer   %v\n", r.ratio, r.bar, r.name, r.a, r.b)
		results = append(results, r)
	}
	if only != "" {
		return nil
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

// orders is the beginning of every pipeline, up to its SQL; it wants the path of the input.
const orders = `name: bench
variables: {dt: {type: date, required: true}}
tasks:
  orders:
    inputs:
      raw: {format: csv, path: "%s", columns: {id: bigint, customer: bigint, amount: "decimal(12,2)", qty: integer, country: varchar, ordered: date}}
`

const pipeline = orders + `    transform:
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

// takeoverRun is a run whose batch a dead run holds, with everything staged: its commit is the third generation of the document.
func takeoverRun(csv string) side {
	s := pipelineRun(csv)
	s.prepare = func(dir string) error {
		if err := writePipeline(csv)(dir); err != nil {
			return err
		}
		cmd := runCommand(fault, dir)
		cmd.Env = append(os.Environ(), "UBUNYE_FAULT=kill:~00000003.json")
		said, err := cmd.CombinedOutput()
		if staged, _ := filepath.Glob(filepath.Join(dir, ".ubunye", "staging", "*", "*", "*", "*.staged")); len(staged) == 0 {
			return fmt.Errorf("the run that was to be killed left nothing staged: %w: %s", err, said)
		}
		return nil
	}
	return s
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
			one, err := once(s, work, b.memory)
			if err != nil {
				return r, err
			}
			switch {
			case i == 0:
			case first:
				r.a = append(r.a, one)
			default:
				r.b = append(r.b, one)
			}
		}
	}
	if r.ratio = float64(median(times(r.a))) / float64(median(times(r.b))); b.memory {
		r.ratio = float64(median(memories(r.a))) / float64(median(memories(r.b)))
	}
	return r, nil
}

func once(s side, work string, watched bool) (run, error) {
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return run{}, err
	}
	defer os.RemoveAll(dir)
	if s.prepare != nil {
		if err := s.prepare(dir); err != nil {
			return run{}, err
		}
	}
	cmd := s.command(dir)
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return run{}, err
	}
	peak := func() int64 { return 0 }
	if watched {
		peak = watch(cmd.Process.Pid)
	}
	err = cmd.Wait()
	one := run{took: time.Since(begun)}
	if cmd.ProcessState.ExitCode() != s.exit {
		return run{}, fmt.Errorf("%v: %w: %s%s", cmd.Args, err, said.String(), complained.String())
	}
	one.memory = max(peak(), maxRSS(cmd.ProcessState))
	if s.took != nil {
		if one.took, err = s.took(said.Bytes()); err != nil {
			return run{}, fmt.Errorf("%v: %w", cmd.Args, err)
		}
	}
	return one, nil
}

func times(runs []run) (list []time.Duration) {
	for _, r := range runs {
		list = append(list, r.took)
	}
	return list
}

func memories(runs []run) (list []int64) {
	for _, r := range runs {
		list = append(list, r.memory)
	}
	return list
}

func median[T time.Duration | int64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func page(results []result, pairs int) string {
	var b strings.Builder
	b.WriteString("# Bench\n\nWritten by `make bench`; do not edit. Whole processes, wall time, medians of " + fmt.Sprint(2*pairs) + " runs each, in pairs A B B A.\n\n")
	fmt.Fprintf(&b, "%s, %s, %d processors, %s.\n\n", time.Now().UTC().Format("2006-01-02"), processor(), runtime.NumCPU(), runtime.Version())
	b.WriteString("| what | ratio | at most | ubunye: median (min–max), largest memory | peer |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %s | %s |\n", r.name, r.ratio, r.bar, r.cell(r.a), r.cell(r.b))
	}
	return b.String()
}

func (r result) cell(runs []run) string {
	m := memories(runs)
	if r.memory {
		return fmt.Sprintf("%d MiB (%d–%d)", median(m)>>20, slices.Min(m)>>20, slices.Max(m)>>20)
	}
	t := times(runs)
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("%v (%v–%v), %d MiB", round(median(t)), round(slices.Min(t)), round(slices.Max(t)), slices.Max(m)>>20)
}

func (r run) String() string {
	return fmt.Sprintf("%v %dMiB", r.took.Round(10*time.Microsecond), r.memory>>20)
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
