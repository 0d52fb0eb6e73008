package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

var output = abi.Output{Name: "out", Mode: "append", Target: "/t", SortBy: []string{"id"}, Options: map[string]string{"url": "https://api.example.com/in", "rows": "2", "honours_key": "true", "headers": "Authorization: Bearer ${T}"}}

// staged is a host with three rows, and the commit that follows.
func staged(t *testing.T) (*sdktest.Host, abi.CommitRequest) {
	t.Helper()
	table := sdktest.Table([]sdk.Field{{Name: "id", Kind: sdk.Int, Bits: 64}, {Name: "v", Kind: sdk.Text}}, [][]any{{1, "a\"\n"}, {2, nil}, {3, "ü"}})
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"r": table, "derived_1": table}, Target: sdktest.Target{}}
	answer, err := delivery{}.Stage(h, abi.StageRequest{Relation: "r", Output: output})
	if err != nil || answer.Rows != 3 || len(answer.Files) != 2 {
		t.Fatalf("%+v, %v", answer, err)
	}
	req := abi.CommitRequest{Output: output, State: answer.State, Batch: abi.Batch{Key: "k", Run: "r2", Epoch: 2, Class: abi.ClassOnce}}
	for i, f := range answer.Files {
		f.Name = strings.TrimSuffix(f.Name, ".staged")
		h.Target[f.Name] = sdktest.TargetFile{Data: slices.Clone(h.Files[i].Bytes())}
		req.Files = append([]abi.StagedFile{f}, req.Files...) // in another order
	}
	return h, req
}

func answers(status int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) {
	return func(abi.HTTPRequest) (abi.HTTPAnswer, error) {
		return abi.HTTPAnswer{Status: status, Body: []byte("so")}, nil
	}
}

func TestDelivery(t *testing.T) {
	h, req := staged(t)
	h.Answer = answers(201)
	got, err := delivery{}.Commit(h, req)
	if err != nil || got.Outcome != abi.OutcomeDone || got.Mark != (abi.Mark{Epoch: 2, Run: "r2", Commit: "delivery 1"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(h.Sent) != 2 || h.Sent[0].Headers["Idempotency-Key"] != `"k/0/1"` || h.Sent[1].Headers["Idempotency-Key"] != `"k/0/2"` || h.Sent[0].Headers["Authorization"] != "Bearer ${T}" ||
		string(h.Sent[0].Body) != `[{"id":1,"v":"a\"\u000a"},{"id":2,"v":null}]` || string(h.Sent[1].Body) != `[{"id":3,"v":"ü"}]` {
		t.Errorf("%+v", h.Sent)
	}
	for _, r := range h.Sent {
		if !json.Valid(r.Body) {
			t.Errorf("%s", r.Body)
		}
	}
	again, err := delivery{}.Commit(h, req)
	if err != nil || again.Outcome != abi.OutcomeDone || len(h.Sent) != 2 {
		t.Errorf("again: %+v, %v", again, err)
	}
	req.Batch.Run, req.Batch.Epoch = "r3", 3
	if found, err := (delivery{}).Commit(h, req); err != nil || found.Outcome != abi.OutcomeFound || len(h.Sent) != 2 {
		t.Errorf("another run: %+v, %v", found, err)
	}
	req.Batch.After = 2
	if rerun, err := (delivery{}).Commit(h, req); err != nil || rerun.Outcome != abi.OutcomeDone || h.Sent[2].Headers["Idempotency-Key"] != `"k/2/1"` {
		t.Errorf("a rerun: %+v, %v", rerun, err)
	}
	named, err := delivery{}.Resolve(h, abi.ResolveRequest{Batch: req.Batch, Files: []string{req.Files[0].Name, "other.json"}})
	if err != nil || named.Mark.Commit != "delivery 2" || !slices.Equal(named.Named, []string{req.Files[0].Name}) {
		t.Errorf("%+v, %v", named, err)
	}
}

func TestDeliveriesThatFail(t *testing.T) {
	noAnswer := func(abi.HTTPRequest) (abi.HTTPAnswer, error) {
		return abi.HTTPAnswer{}, &abi.Failure{Code: abi.CodeNoAnswer, Message: "gone", Retryable: true}
	}
	for name, c := range map[string]struct {
		answer  func(n int) func(abi.HTTPRequest) (abi.HTTPAnswer, error)
		honours string
		outcome abi.CommitOutcome
		sent    int
		says    string
	}{
		"refused":      {func(int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) { return answers(422) }, "true", abi.OutcomeNotDone, 1, "request 1 of 2: https://api.example.com/in answered 422: so"},
		"a redirect":   {func(int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) { return answers(307) }, "true", abi.OutcomeNotDone, 1, "answered 307"},
		"a fault":      {func(int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) { return answers(500) }, "true", abi.OutcomeUnknown, 3, "answered 500"},
		"a fault once": {func(int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) { return answers(500) }, "false", abi.OutcomeUnknown, 1, "answered 500"},
		"silence":      {func(int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) { return noAnswer }, "false", abi.OutcomeUnknown, 1, "gone"},
		"refused at second": {func(n int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) {
			return answers(map[bool]int{true: 200, false: 400}[n == 1])
		}, "true", abi.OutcomeUnknown, 2, "request 2 of 2"},
		"better later": {func(n int) func(abi.HTTPRequest) (abi.HTTPAnswer, error) {
			return answers(map[bool]int{true: 503, false: 200}[n == 1])
		}, "true", abi.OutcomeDone, 3, ""},
	} {
		h, req := staged(t)
		req.Output.Options = map[string]string{"url": output.Options["url"], "honours_key": c.honours}
		h.Answer = func(r abi.HTTPRequest) (abi.HTTPAnswer, error) { return c.answer(len(h.Sent))(r) }
		got, err := delivery{}.Commit(h, req)
		if err != nil || got.Outcome != c.outcome || len(h.Sent) != c.sent || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v, %v, %d requests", name, got, err, len(h.Sent))
		}
		if written := fmt.Sprint(h.Target.Names()); strings.Contains(written, logFolder) != (c.outcome == abi.OutcomeDone) {
			t.Errorf("%s: the target has %s", name, written)
		}
	}
}

func TestOptions(t *testing.T) {
	for field, out := range map[string]abi.Output{
		"options.url":     {},
		"options.headers": {Options: map[string]string{"url": "u", "headers": "Idempotency-Key: mine"}},
		"sort_by":         {Options: map[string]string{"url": "u", "honours_key": "true"}},
		"partition_by":    {Options: map[string]string{"url": "u"}, PartitionBy: []string{"a"}},
	} {
		if _, problems := read(out); len(problems) != 1 || problems[0].Field != field {
			t.Errorf("%s: %+v", field, problems)
		}
	}
}
