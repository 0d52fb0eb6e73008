// Command numbered is a writer of tables whose log is numbered files of JSON, one a commit: the least that the capability "table"
// asks of one. Its option "do" has it go wrong. Tests build it; nothing else does.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

func init() { sdk.Serve(numbered{}) }

func main() {}

type numbered struct{}

// commit is a file of the log.
type commit struct {
	Keys    []string `json:"keys"` // of the batch, and of what it was called before
	Run     string   `json:"run"`
	Epoch   int64    `json:"epoch"`
	Files   []string `json:"files"`
	Replace bool     `json:"replace"` // what was there before is gone

	version int
}

const logFolder = "_numbered"

func nameOf(version int) string { return fmt.Sprintf("%s/%08d.json", logFolder, version) }

func (numbered) Describe() abi.Description {
	return abi.Description{Name: "numbered", Version: "1", Doc: "Tables with a numbered log",
		Modes: []abi.Mode{{Name: "append", Class: abi.ClassOnce, Exceptions: []abi.Exception{{Options: map[string]string{"replace_where": abi.AnyValue}, Class: abi.ClassReplaces}}},
			{Name: "overwrite", Class: abi.ClassReplaces}, {Name: "error_if_exists", Class: abi.ClassOnce}, {Name: "ignore", Class: abi.ClassOnce}},
		Options:      abi.JSON(`{"type": "object", "properties": {"do": {"type": "string", "description": "What goes wrong."}}}`),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapTable}}
}

func (numbered) Plan(h sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	answer := abi.PlanAnswer{Class: req.Batch.Class, Target: req.Output.Target, Will: req.Output.Mode + " one commit"}
	all, err := read(h)
	if err != nil {
		return answer, err
	}
	if m := mark(all, *req.Batch); len(all) > 0 && m.Epoch <= req.Batch.After {
		answer.Exists = versionText(all[len(all)-1].version)
	}
	switch req.Output.Options["do"] {
	case "forgets":
		answer.Class, answer.Warnings = abi.ClassNamed, []string{"the table forgets its commits"}
	case "put-at-plan":
		_, err = h.PutNew(nameOf(1), nil)
	}
	return answer, err
}

func (numbered) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	files, err := h.Encode(abi.EncodeRequest{Relation: req.Relation, Format: "parquet", PartitionBy: req.Output.PartitionBy})
	answer := abi.StageAnswer{Files: files, State: abi.JSON(`{"staged":true}`)}
	for _, f := range files {
		answer.Rows += f.Rows
	}
	return answer, err
}

// read gives all commits, in order.
func read(h sdk.Host) (all []commit, err error) {
	entries, err := h.List(logFolder, "")
	if sdk.NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e abi.Entry) bool { return e.Name == hintName })
	for i, e := range entries {
		c := commit{version: i + 1}
		if logFolder+"/"+e.Name != nameOf(c.version) {
			return nil, errors.New("the log has a hole before " + e.Name)
		}
		data, err := h.Get(logFolder + "/" + e.Name)
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// mark finds the batch's commit of the highest epoch.
func mark(all []commit, b abi.Batch) (m abi.Mark) {
	if b.Key == "" {
		return m
	}
	for _, c := range all {
		own := slices.ContainsFunc(c.Keys, func(key string) bool { return key == b.Key || slices.Contains(b.OtherKeys, key) })
		if own && c.Epoch > m.Epoch {
			m = abi.Mark{Epoch: c.Epoch, Run: c.Run, Commit: versionText(c.version)}
		}
	}
	return m
}

func versionText(version int) string { return fmt.Sprintf("version %d", version) }

func (n numbered) Commit(h sdk.Host, req abi.CommitRequest) (abi.CommitAnswer, error) {
	if string(req.State) != `{"staged":true}` {
		return abi.CommitAnswer{}, errors.New("the state is gone: " + string(req.State))
	}
	b := req.Batch
	c := commit{Keys: append([]string{b.Key}, b.OtherKeys...), Run: b.Run, Epoch: b.Epoch, Replace: req.Output.Mode == "overwrite"}
	for _, f := range req.Files {
		c.Files = append(c.Files, f.Name)
	}
	for {
		all, err := read(h)
		if err != nil {
			return abi.CommitAnswer{}, err
		}
		switch m := mark(all, b); {
		case m.Epoch == b.Epoch && m.Run == b.Run:
			return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: m}, nil
		case m.Epoch >= b.Epoch:
			return abi.CommitAnswer{Outcome: abi.OutcomeFenced, Mark: m}, nil
		case b.Class == abi.ClassOnce && m.Epoch > b.After:
			return abi.CommitAnswer{Outcome: abi.OutcomeFound, Mark: m}, nil
		}
		data, err := json.Marshal(c)
		if err != nil {
			return abi.CommitAnswer{}, err
		}
		switch req.Output.Options["do"] {
		case "refuse":
			return abi.CommitAnswer{Outcome: abi.OutcomeNotDone, Message: "the table is full", Hint: "empty it"}, nil
		case "lie":
			return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: b.Epoch, Run: b.Run, Commit: "version 1"}}, nil
		case "die-before":
			os.Exit(3)
		}
		version := len(all) + 1
		outcome, err := h.PutNew(nameOf(version), data)
		if err != nil {
			return abi.CommitAnswer{}, err
		}
		switch req.Output.Options["do"] {
		case "die-after":
			os.Exit(3)
		case "doubt":
			return abi.CommitAnswer{Outcome: abi.OutcomeUnknown, Message: "it is in doubt"}, nil
		}
		if outcome == abi.PutCreated {
			return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: b.Epoch, Run: b.Run, Commit: versionText(version)}}, hint(h, version)
		}
	}
}

const hintName = "_last"

// hint says where the log ends. Nothing depends on it.
func hint(h sdk.Host, version int) error {
	if _, err := h.Put(logFolder+"/"+hintName, []byte(versionText(version))); err != nil {
		h.Log(abi.LevelWarn, err.Error())
	}
	return nil
}

func (numbered) Resolve(h sdk.Host, req abi.ResolveRequest) (abi.ResolveAnswer, error) {
	all, err := read(h)
	answer := abi.ResolveAnswer{Mark: mark(all, req.Batch)}
	for _, name := range req.Files {
		if slices.ContainsFunc(all, func(c commit) bool { return slices.Contains(c.Files, name) }) {
			answer.Named = append(answer.Named, name)
		}
	}
	return answer, err
}
