package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
)

var (
	oneSeed = flag.Int64("seed", -1, "play this seed alone, and say every step")
	seeds   = flag.Int("seeds", 300, "how many seeds TestSim plays")
	from    = flag.Int("from", 0, "the first of them")
	stop    = flag.Bool("stop", false, "stop at the first that fails")
	bad     = flag.String("bad", "", "with -seed: the fault that the writers of tables have, as in TestFaultsOfWritersAreFound")
	worker  = flag.Bool("worker", false, "play the seeds in this process and print what they came to")
)

// tally is what a process that played seeds prints.
type tally struct {
	Played   int
	Steps    int
	Counts   map[situation]int
	Violated map[int]string // by seed
}

func (t *tally) add(o tally) {
	t.Played, t.Steps = t.Played+o.Played, t.Steps+o.Steps
	for s, n := range o.Counts {
		t.Counts[s] += n
	}
	for seed, fault := range o.Violated {
		t.Violated[seed] = fault
	}
}

// TestSim plays worlds and asserts that everything promised holds in them, and that they were hard enough.
func TestSim(t *testing.T) {
	if *oneSeed >= 0 {
		if _, _, fault := play(t, int(*oneSeed), tablelog.Fault(*bad), t.Logf); fault != "" {
			t.Fatal(fault)
		}
		return
	}
	if *worker {
		data, err := json.Marshal(playAll(t, *from, *seeds))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s%s\n", tallyMark, data)
		return
	}
	begun := time.Now()
	all := playInProcesses(t)
	t.Logf("%d seeds, %d changes in %s", all.Played, all.Steps, time.Since(begun).Round(time.Millisecond))
	t.Run("Promises", func(t *testing.T) { all.promises(t) })
	t.Run("Situations", func(t *testing.T) { all.situations(t) })
}

// promises asserts that all seeds were played, and that everything held in each.
func (t *tally) promises(test *testing.T) {
	failed := sortedSeeds(t.Violated)
	for _, seed := range failed[:min(len(failed), 10)] {
		test.Errorf("seed %d: %s\n\tgo test ./engine/ledger/sim -run TestSim -seed=%d -v", seed, t.Violated[seed], seed)
	}
	if len(failed) > 0 {
		test.Fatalf("%d of %d seeds fail: %v", len(failed), t.Played, failed[:min(len(failed), 100)])
	}
	if t.Played != *seeds {
		test.Errorf("%d seeds were played, want %d", t.Played, *seeds)
	}
}

// situations asserts that the worlds were hard enough: a hundred times each in ten thousand seeds.
func (t *tally) situations(test *testing.T) {
	if *stop {
		test.Skip("the seeds were not all played")
	}
	for _, s := range often {
		test.Logf("%7d × %s", t.Counts[s], s)
		if want := max(1, t.Played/100); t.Counts[s] < want {
			test.Errorf("%q occurred %d times, want %d", s, t.Counts[s], want)
		}
	}
}

// A seed is one run: played again, the same happens, or a failing one could not be looked at.
func TestASeedIsOneRun(t *testing.T) {
	for seed := range 20 {
		var traces [2]string
		for i := range traces {
			var lines strings.Builder
			play(t, seed, tablelog.None, func(format string, args ...any) { fmt.Fprintf(&lines, format+"\n", args...) })
			traces[i] = scratchName.ReplaceAllString(lines.String(), "")
		}
		if traces[0] != traces[1] {
			t.Fatalf("seed %d plays two ways:\n%s\n--- and ---\n%s", seed, traces[0], traces[1])
		}
	}
}

var scratchName = regexp.MustCompile(`ubunye-sim-[0-9]+`)

const tallyMark = "tally: "

func sortedSeeds(m map[int]string) (seeds []int) {
	for seed := range m {
		seeds = append(seeds, seed)
	}
	slices.Sort(seeds)
	return seeds
}

// playInProcesses shares the seeds out: randomness is one stream a process, so a process plays one at a time.
func playInProcesses(t *testing.T) tally {
	all := tally{Counts: map[situation]int{}, Violated: map[int]string{}}
	workers := min(runtime.GOMAXPROCS(0), *seeds)
	var mu sync.Mutex
	var done sync.WaitGroup
	for i := range workers {
		first, last := *from+*seeds*i/workers, *from+*seeds*(i+1)/workers
		done.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSim$", "-worker", fmt.Sprintf("-stop=%t", *stop), fmt.Sprintf("-from=%d", first), fmt.Sprintf("-seeds=%d", last-first))
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=2000") // one goroutine goes on at a time, and little is ever in use
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			var part tally
			_, data, found := strings.Cut(string(out), tallyMark)
			if line, _, _ := strings.Cut(data, "\n"); err != nil || !found || json.Unmarshal([]byte(line), &part) != nil {
				t.Errorf("the process that played seeds %d to %d: %v\n%s", first, last-1, err, tail(string(out)))
				return
			}
			all.add(part)
		})
	}
	done.Wait()
	return all
}

func tail(text string) string { return text[max(0, len(text)-20000):] }

func playAll(t *testing.T, from, n int) tally {
	all := tally{Counts: map[situation]int{}, Violated: map[int]string{}}
	for seed := from; seed < from+n; seed++ {
		counts, steps, fault := play(t, seed, tablelog.None, nil)
		part := tally{Played: 1, Steps: steps, Counts: counts}
		if fault != "" {
			part.Violated = map[int]string{seed: fault}
		}
		all.add(part)
		if fault != "" && *stop {
			break
		}
	}
	return all
}

// play plays one seed: the chaos that it chooses, then starts without faults.
func play(t *testing.T, seed int, bad tablelog.Fault, say func(string, ...any)) (counts map[situation]int, steps int, fault string) {
	dir := scratch(t)
	defer os.RemoveAll(dir)
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("seed %d: %v", seed, p))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, uint64(seed))
		w, err := newWorld(uint64(seed), dir, say)
		if err != nil {
			t.Fatal(err)
		}
		if w.bad = bad; bad != tablelog.None && len(w.tables()) == 0 {
			return
		}
		w.play()
		w.cleanUp()
		w.killAll()
		counts, steps, fault = w.counts, w.step, w.oracle.fault
	})
	return counts, steps, fault
}

// scratch is a folder in memory where there is one, with a name that is always as long as another.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ubunye-sim-")
	if err != nil {
		dir, err = os.MkdirTemp("", "ubunye-sim-")
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
