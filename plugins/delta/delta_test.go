package delta

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// now is the time of all requests.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lake is a table and what writes to it: the host knows nothing of Delta, and of the rows it knows what it is told.
type lake struct {
	*testing.T
	*sdktest.Host
	runs int
}

func newLake(t *testing.T) *lake {
	return &lake{T: t, Host: &sdktest.Host{Target: sdktest.Target{}, Now: now, Relations: map[string]sdktest.Relation{}}}
}

func columns(pairs ...string) (all []abi.Column) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, abi.Column{Name: pairs[i], Type: pairs[i+1]})
	}
	return all
}

// write is one output of one run.
type write struct {
	out     abi.Output
	batch   abi.Batch
	columns []abi.Column
	files   []abi.StagedFile          // what the encoder gives; nil: one file of three rows
	derived map[int]sdktest.Relation  // what the n-th relation that is derived holds
	between func()                    // after stage, before commit
	lose    map[string]abi.PutOutcome // of files of the log
}

var idAndV = columns("id", "BIGINT", "v", "VARCHAR")

func (l *lake) batch(key string, epoch, after int64, class abi.Class) abi.Batch {
	l.runs++
	return abi.Batch{Key: "ubunye/p/t/out/" + key, Run: fmt.Sprintf("run-%d", l.runs), Epoch: epoch, After: after, Class: class}
}

func staged(name string, rows int64, partition map[string]string, stats ...abi.ColumnStats) abi.StagedFile {
	return abi.StagedFile{Name: name + ".staged", Rows: rows, Bytes: 100 * rows, Partition: partition, Columns: stats}
}

func between(name string, low, high string, nulls int64) abi.ColumnStats {
	return abi.ColumnStats{Name: name, Nulls: nulls, Min: &low, Max: &high}
}

// run plans, stages and commits.
func (l *lake) run(w write) (abi.CommitAnswer, error) {
	l.Helper()
	answer, err := l.stage(&w)
	if err != nil {
		return abi.CommitAnswer{}, err
	}
	if w.between != nil {
		w.between()
	}
	return l.commit(w, answer)
}

func (l *lake) stage(w *write) (abi.StageAnswer, error) {
	l.Helper()
	if w.columns == nil {
		w.columns = idAndV
	}
	if w.out.Mode == "" {
		w.out.Mode = modeAppend
	}
	w.out.Name, w.out.Target = "out", "/lake/t"
	plan, err := Writer{}.Plan(l, abi.PlanRequest{Output: w.out, Batch: &w.batch, Time: now.Format(time.RFC3339)})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	if len(plan.Problems) > 0 {
		return abi.StageAnswer{}, fmt.Errorf("plan: %s: %s", plan.Problems[0].Field, plan.Problems[0].Message)
	}
	l.Derived, l.Encoded = nil, nil
	l.Relations = map[string]sdktest.Relation{"rows": {Columns: w.columns, Rows: 3}}
	files := w.files
	if files == nil {
		files = []abi.StagedFile{staged(fmt.Sprintf("part-%d.parquet", l.runs), 3, nil)}
	}
	for n := 1; n <= 12; n++ {
		r := w.derived[n]
		r.Files = files
		l.Relations[fmt.Sprintf("derived_%d", n)] = r
	}
	return Writer{}.Stage(l, abi.StageRequest{Output: w.out, Relation: "rows", Schema: w.columns, Batch: &w.batch, Time: now.Format(time.RFC3339)})
}

func (l *lake) commit(w write, answer abi.StageAnswer) (abi.CommitAnswer, error) {
	l.Helper()
	l.Lose = nil
	if w.lose != nil {
		l.Lose = func(_ abi.Operation, path string) abi.PutOutcome {
			if o, ok := w.lose[path]; ok {
				delete(w.lose, path)
				return o
			}
			return abi.PutCreated
		}
	}
	files := slices.Clone(answer.Files)
	for i := range files {
		for _, f := range w.files { // the engine takes statistics from what it has encoded
			if f.Name == files[i].Name {
				files[i].Columns = f.Columns
			}
		}
		files[i].Name = strings.TrimSuffix(files[i].Name, ".staged")
	}
	return Writer{}.Commit(l, abi.CommitRequest{Output: w.out, Batch: w.batch, Files: files, State: answer.State, Time: now.Format(time.RFC3339)})
}

// must runs a write that is done.
func (l *lake) must(w write) {
	l.Helper()
	answer, err := l.run(w)
	if err != nil || answer.Outcome != abi.OutcomeDone {
		l.Fatalf("%+v, %v", answer, err)
	}
}

// append commits rows of a batch of its own.
func (l *lake) append(key string, files ...abi.StagedFile) {
	l.Helper()
	l.must(write{batch: l.batch(key, 1, 0, abi.ClassOnce), files: files})
}

// actions gives the actions of a commit, by their kind.
func (l *lake) actions(version int64) map[string][]map[string]any {
	l.Helper()
	all := map[string][]map[string]any{}
	data := l.Target.Read(deltalog.CommitPath(version))
	if data == "" {
		l.Fatalf("there is no version %d; there is %q", version, l.Target.Names())
	}
	for line := range bytes.Lines([]byte(data)) {
		var one map[string]map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			l.Fatalf("%s: %v", line, err)
		}
		for kind, a := range one {
			all[kind] = append(all[kind], a)
		}
	}
	return all
}

// live gives the paths of the live files, sorted.
func (l *lake) live() (paths []string) {
	l.Helper()
	s, err := deltalog.Open(context.Background(), storage{l}, deltalog.At{})
	if err != nil {
		l.Fatal(err)
	}
	for add, err := range s.Files(context.Background()) {
		if err != nil {
			l.Fatal(err)
		}
		paths = append(paths, add.Path)
	}
	slices.Sort(paths)
	return paths
}

// foreign appends a commit of another writer.
func (l *lake) foreign(lines ...string) {
	l.Helper()
	version := int64(0)
	for l.Target.Read(deltalog.CommitPath(version)) != "" {
		version++
	}
	l.Target[deltalog.CommitPath(version)] = sdktest.TargetFile{Data: []byte(strings.Join(lines, "\n") + "\n")}
}

func text(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func kinds(actions map[string][]map[string]any) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(actions)) {
		all = append(all, fmt.Sprintf("%s %d", k, len(actions[k])))
	}
	return strings.Join(all, ", ")
}
