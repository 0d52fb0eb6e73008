package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ruleNumbers are the rules of a rerun (R01…) that hold for files: a test's name begins with those that it shows.
var ruleNumbers = slices.Concat(numbers("R%02d", 1, 13), numbers("R%02d", 20, 32), numbers("R%02d", 40, 51), numbers("R%02d", 60, 67))

// untested are rules that need what there is not yet, and what that is.
var untested = map[string]string{}

// partly are rules of which a part needs what there is not yet.
var partly = map[string]string{
	"R22": "run state: its file names the taker too",
	"R46": "run state: --resume carries what was done; a reader of a failed task is tested",
	"R49": "tables and databases: what is kept of the first output (R72b)",
}

// later are the rules of tables and databases.
var later = numbers("R%02d", 70, 80)

// cases are faults that people met with programs of this kind, by their number, of which a test must show what is right.
var cases = []string{
	// reruns, crashes, locks and disks
	"C001", "C002", "C016", "C022", "C023", "C024", "C025", "C027", "C029", "C031", "C032", "C033", "C034", "C035", "C037", "C050",
	"C059", "C062", "C064", "C066", "C106", "C107",
	// files as people have them, and tables
	"C011", "C039", "C051", "C055", "C067", "C069", "C070", "C072", "C081", "C082", "C083", "C096", "C097",
	"C040", "C045", "C047", "C049", "C061", "C063", "C076", "C077", "C078", "C088", "C089", "C099", "C100", "C101", "C102", "C103", "C105", "C114",
}

// otherCases are those that a test may carry.
var otherCases = numbers("C%03d", 1, 114)

func numbers(format string, from, to int) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf(format, n))
	}
	return all
}

// Every rule, every invariant that doc.go states and every case has a test whose name begins with its number, and every number
// that a name begins with is one of them.
func TestNumbersHaveTests(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var invariants []string
	for _, stated := range regexp.MustCompile(`(?m)^//   - (I[0-9]+):`).FindAllStringSubmatch(string(doc), -1) {
		invariants = append(invariants, stated[1])
	}
	if len(invariants) < 8 {
		t.Fatalf("doc.go states %d invariants: the test reads nothing", len(invariants))
	}
	for _, wrong := range unproved(testNames(t), slices.Concat(ruleNumbers, invariants, cases), slices.Concat(later, otherCases), untested) {
		t.Error(wrong)
	}
	for number := range partly {
		if !slices.Contains(ruleNumbers, number) || untested[number] != "" {
			t.Errorf("%s is no rule of which a part is tested", number)
		}
	}
}

// unproved tells what is wrong with the numbers that tests carry. needed must be carried, but
// for exceptions; known may be.
func unproved(tests, needed, known []string, exceptions map[string]string) (wrong []string) {
	carried := map[string][]string{}
	for _, test := range tests {
		for _, number := range carriedBy(test) {
			carried[number] = append(carried[number], test)
		}
	}
	for _, number := range needed {
		switch reason, excepted := exceptions[number]; {
		case excepted && carried[number] != nil:
			wrong = append(wrong, fmt.Sprintf("%s has a test: it is no exception any more (%s)", number, reason))
		case !excepted && carried[number] == nil:
			wrong = append(wrong, number+" has no test that carries it")
		}
	}
	for _, number := range slices.Sorted(maps.Keys(exceptions)) {
		if !slices.Contains(needed, number) {
			wrong = append(wrong, number+" is excepted and not asked for")
		}
	}
	for _, number := range slices.Sorted(maps.Keys(carried)) {
		if !slices.Contains(needed, number) && !slices.Contains(known, number) {
			wrong = append(wrong, fmt.Sprintf("%v carry %s, which nobody has stated", carried[number], number))
		}
	}
	return wrong
}

// carriedBy are the numbers that a test's name begins with: R25, R42 and R49 for TestR25R42R49AFailedTask.
func carriedBy(test string) []string {
	all := regexp.MustCompile(`^Test((?:[CIR][0-9]+)+)(_|[A-Z])`).FindStringSubmatch(test)
	if all == nil {
		return nil
	}
	return regexp.MustCompile(`[CIR][0-9]+`).FindAllString(all[1], -1)
}

// testNames are the test functions of all packages, whatever their build tags.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	for _, p := range packages(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Type.Params.NumFields() == 1 {
					names = append(names, fn.Name.Name)
				}
			}
		}
	}
	if len(names) < 300 {
		t.Fatalf("%d tests found: the test reads nothing", len(names))
	}
	return names
}

func TestUnprovedNumbersAreFound(t *testing.T) {
	tests := []string{"TestR01_One", "TestR02R03Two", "TestC001R01Three", "TestMain", "TestReadsR04", "TestI1_Four"}
	for _, c := range []struct {
		name       string
		needed     []string
		exceptions map[string]string
		want       string
	}{
		{"all is there", []string{"R01", "R02", "R03", "I1", "C001"}, nil, ""},
		{"a rule without a test", []string{"R01", "R02", "R03", "R04", "I1", "C001"}, nil, "R04 has no test"},
		{"an exception", []string{"R01", "R02", "R03", "R04", "I1", "C001"}, map[string]string{"R04": "later"}, ""},
		{"an exception that has a test", []string{"R01", "R02", "R03", "I1", "C001"}, map[string]string{"R03": "later"}, "R03 has a test"},
		{"an exception that nobody asks for", []string{"R01", "R02", "R03", "I1", "C001"}, map[string]string{"R09": "later"}, "R09 is excepted"},
		{"a number that nobody has stated", []string{"R01", "R02", "R03", "C001"}, nil, "[TestI1_Four] carry I1"},
		{"a case that nobody has stated", []string{"R01", "R02", "R03", "I1"}, nil, "[TestC001R01Three] carry C001"},
	} {
		got := strings.Join(unproved(tests, c.needed, nil, c.exceptions), "; ")
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
