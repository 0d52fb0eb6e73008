// Command mutants proves that the tests can fail: it breaks the source by one edit at a time, each a fault
// that would lose or double rows, and runs the one test that must notice. A mutant that survives, or whose
// place in the source is not to be found any more, ends it with an error.
//
//	go run ./mutants            all of them
//	go run ./mutants NAME…      these
//	go run ./mutants -overlay DIR NAME   writes a mutant to a folder, and prints the file for go build -overlay
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// mutant is one edit of one file, and the test that must fail because of it.
type mutant struct {
	name string
	rule string // what it breaks, by number
	file string
	old  string // occurs once in the file
	new  string
	test string // of the package that the file lies in, unless pkg says otherwise
	pkg  string // with flags of the test after it, if it has any
}

func main() {
	dir := flag.String("overlay", "", "only write the mutant named to this folder")
	flag.Parse()
	chosen := mutants
	if names := flag.Args(); len(names) > 0 {
		chosen = slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !slices.Contains(names, m.name) })
		if len(chosen) != len(names) {
			fmt.Fprintln(os.Stderr, "some of these names are not in mutants/list.go")
			os.Exit(2)
		}
	}
	if *dir != "" {
		overlay, err := chosen[0].overlay(*dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(overlay)
		return
	}
	if survivors := run(chosen); survivors > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d mutants survive: a test that cannot fail proves nothing\n", survivors, len(chosen))
		os.Exit(1)
	}
	fmt.Printf("%d mutants, each found by its test\n", len(chosen))
}

// run tries the mutants, as many at once as there are processors, and prints a line for each, in order.
func run(chosen []mutant) (survivors int) {
	verdicts := make([]string, len(chosen))
	took := make([]time.Duration, len(chosen))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range next {
				started := time.Now()
				verdicts[i] = chosen[i].try()
				took[i] = time.Since(started)
			}
		})
	}
	for i := range chosen {
		next <- i
	}
	close(next)
	workers.Wait()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for i, m := range chosen {
		verdict := "found by " + m.test
		if verdicts[i] != "" {
			verdict = "SURVIVES: " + verdicts[i]
			survivors++
		}
		fmt.Fprintf(table, "%s\t%s\t%.1f s\t%s\n", m.name, m.rule, took[i].Seconds(), verdict)
	}
	table.Flush()
	return survivors
}

// try runs the mutant's test on the mutated source; "" if the test failed, as it must.
func (m mutant) try() string {
	dir, err := os.MkdirTemp("", "ubunye-mutant-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		return err.Error()
	}
	pkg := m.pkg
	if pkg == "" {
		pkg = filepath.Dir(m.file)
	}
	args := []string{"test", "-count=1", "-timeout=5m", "-overlay=" + overlay, "-run=^" + m.test + "$"}
	cmd := exec.Command("go", append(args, strings.Fields("./"+pkg)...)...)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		return "there is no test " + m.test + " in " + pkg
	case err == nil:
		return m.test + " passes"
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return "it does not compile: " + firstLines(string(out), 3)
	case !bytes.Contains(out, []byte("--- FAIL: "+m.test)) && !bytes.Contains(out, []byte("panic: ")):
		return "the test did not fail by itself: " + firstLines(string(out), 3)
	}
	return ""
}

// overlay writes the mutated file and the file that tells the go command to use it.
func (m mutant) overlay(dir string) (string, error) {
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return "", fmt.Errorf("the text to replace occurs %d times in %s", n, m.file)
	}
	mutated := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(mutated, bytes.Replace(source, []byte(m.old), []byte(m.new), 1), 0o666); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o666)
}

func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], " / ")
}
