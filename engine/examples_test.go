package engine

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// example is a pipeline that a person is shown: a file, or a block of a page.
type example struct {
	where, file string
	stands      bool // another module stands for its plugin, whose options are others
}

// A block is a whole pipeline, unless the line before it says of what it is a part, by a dotted path as in
// <!-- part: tasks.example.outputs -->: then it is merged into the smallest pipeline at that place.
var fenced = regexp.MustCompile("(?m)^(?:<!-- part: ([a-z_.]+) -->\n+)?( *)```ya?ml\n")

// smallest is the pipeline that a part is put into.
const smallest = `name: example
variables: {dt: date}
tasks:
  example:
    inputs: {raw: {format: csv, path: raw.csv}}
    outputs: {raw: {format: parquet, path: lake/raw}}
`

// blocks gives the YAML blocks of a page, each as a whole pipeline, and how many fences of YAML there are.
func blocks(page string) (all []string, fences int, err error) {
	for _, at := range fenced.FindAllStringSubmatchIndex(page, -1) {
		text, _, closed := strings.Cut(page[at[1]:], "\n"+page[at[4]:at[5]]+"```")
		if !closed {
			return nil, 0, fmt.Errorf("a block is not closed: %.60q", text)
		}
		if at[2] >= 0 {
			if text, err = asPart(page[at[2]:at[3]], text); err != nil {
				return nil, 0, err
			}
		}
		all = append(all, text+"\n")
	}
	return all, len(regexp.MustCompile("(?mi)^ *(```+|~~~+) *ya?ml").FindAllString(page, -1)), nil
}

// asPart puts a part into the smallest pipeline.
func asPart(path, part string) (string, error) {
	var whole, inner map[string]any
	if err := yaml.Unmarshal([]byte(smallest), &whole); err != nil {
		return "", err
	}
	if err := yaml.Unmarshal([]byte(part), &inner); err != nil {
		return "", err
	}
	at := whole
	for key := range strings.SplitSeq(path, ".") {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	for key, value := range inner {
		at[key] = value
	}
	text, err := yaml.Marshal(whole)
	return string(text), err
}

// pages are all that a person reads, from the root of the repository.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../configs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no page, %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// examples gives every pipeline that a person is shown. A module that a block names is built by whoever follows its page;
// here another one stands for it.
func examples(t *testing.T, module []byte) (all []example) {
	t.Helper()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found, fences, err := blocks(string(text))
		if err != nil || len(found) != fences {
			t.Fatalf("%s: %d of %d YAML blocks are read, %v", page, len(found), fences, err)
		}
		for i, block := range found {
			dir := t.TempDir()
			modules := regexp.MustCompile(`path: (\S+\.wasm)`).FindAllStringSubmatch(block, -1)
			for _, m := range modules {
				if err := os.WriteFile(filepath.Join(dir, m[1]), module, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			stands := len(modules) > 0
			if m := regexp.MustCompile(`plugin add \S*?(\w+)\.wasm`).FindSubmatch(text); m != nil && !stands {
				lockExample(t, dir, string(m[1]), module) // the page says before that it is there
				stands = true
			}
			block = regexp.MustCompile(`\b0{64}\b`).ReplaceAllString(block, fmt.Sprintf("%x", sha256.Sum256(module)))
			file := filepath.Join(dir, "pipeline.yaml")
			if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			all = append(all, example{fmt.Sprintf("%s, block %d", page, i+1), file, stands})
		}
	}
	if len(all) < 2 {
		t.Fatalf("only %d YAML blocks found: the test reads nothing", len(all))
	}
	err := filepath.WalkDir("../configs", func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
			all = append(all, example{path, path, false})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lockExample pins a module that stands for the one of a page.
func lockExample(t *testing.T, dir, name string, module []byte) {
	t.Helper()
	l := &lockfile.Lock{Version: lockfile.Version}
	l.Put(lockfile.Plugin{Name: name, Writer: "fixedwidth", SHA256: fmt.Sprintf("%x", sha256.Sum256(module)), Path: name + ".wasm", Source: name + ".wasm", Allow: []string{"files"}})
	if err := errors.Join(os.WriteFile(filepath.Join(dir, name+".wasm"), module, 0o600), l.Save(fsops.New(nil), dir)); err != nil {
		t.Fatal(err)
	}
}

// Every pipeline that a person is shown is one that the program takes.
func TestExamplesAreValid(t *testing.T) {
	module, err := os.ReadFile("../configs/fixedwidth/fixedwidth.wasm")
	if err != nil {
		t.Fatalf("%v: `make` builds it", err)
	}
	vars := []string{fmt.Sprintf("FIXEDWIDTH_SHA256=%x", sha256.Sum256(module)), "WEATHER_TOKEN=t"}
	for _, name := range []string{"excel", "statement", "httpjson"} {
		other, err := os.ReadFile("../configs/plugins/" + name + "/" + name + ".wasm")
		if err != nil {
			t.Fatalf("%v: `make` builds it", err)
		}
		vars = append(vars, fmt.Sprintf("%s_SHA256=%x", strings.ToUpper(name), sha256.Sum256(other)))
	}
	env := func() []string { return vars }
	e := New(fsops.New(nil), nobody{})
	imports, cases := 0, 0
	for _, x := range examples(t, module) {
		text, err := os.ReadFile(x.file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(text, []byte("from: ")) { // no pipeline, but what is taken over from another program
			imports++
			if _, err := config.LoadImport(x.file); err != nil {
				t.Errorf("%s: %v", x.where, err)
			}
			continue
		}
		if filepath.Base(x.file) == "case.yaml" { // how a writer is tested
			cases++
			if _, err := config.LoadCase(x.file); err != nil {
				t.Errorf("%s: %v", x.where, err)
			}
			continue
		}
		_, err = e.Validate(t.Context(), Options{File: x.file, Options: config.Options{Env: env}})
		var problems problem.List
		if errors.As(err, &problems) && x.stands {
			problems = slices.DeleteFunc(problems, func(p *problem.Problem) bool { return strings.HasPrefix(p.Message, "options.") })
		}
		if err != nil && (!x.stands || len(problems) > 0) {
			t.Errorf("%s: %v", x.where, err)
		}
	}
	if cases < 1 {
		t.Error("no case was seen")
	}
	if imports < 2 {
		t.Errorf("%d examples of what is taken over were seen", imports)
	}
}

// A part of a pipeline is checked like a whole one.
func TestPartsOfExamplesAreValidated(t *testing.T) {
	e := New(fsops.New(nil), nobody{})
	for mode, valid := range map[string]bool{"overwrite": true, "overwrites": false} {
		page := "text\n\n<!-- part: tasks.example.outputs.raw -->\n```yaml\nmode: " + mode + "\n```\n"
		found, fences, err := blocks(page)
		if err != nil || len(found) != 1 || fences != 1 {
			t.Fatalf("%d of %d blocks, %v", len(found), fences, err)
		}
		file := filepath.Join(t.TempDir(), "pipeline.yaml")
		if err := os.WriteFile(file, []byte(found[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = e.Validate(t.Context(), Options{File: file})
		if (err == nil) != valid || !valid && !strings.Contains(err.Error(), mode) {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
}
