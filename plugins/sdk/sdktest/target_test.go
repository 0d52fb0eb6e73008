//go:build !wasip1

package sdktest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

func TestTarget(t *testing.T) {
	h := &sdktest.Host{Now: time.UnixMilli(5)}
	if _, err := h.List("_log", ""); !sdk.NotFound(err) {
		t.Error(err)
	}
	if _, err := h.Get("_log/1"); !sdk.NotFound(err) {
		t.Error(err)
	}
	for _, c := range []struct {
		put  func(string, []byte) (abi.PutOutcome, error)
		path string
		want abi.PutOutcome
	}{{h.PutNew, "_log/1", abi.PutCreated}, {h.PutNew, "_log/1", abi.PutExists}, {h.PutNew, "_log/2", abi.PutCreated}, {h.Put, "_log/_last", abi.PutCreated}, {h.Put, "_log/_last", abi.PutCreated}} {
		if got, err := c.put(c.path, []byte("abc")); got != c.want || err != nil {
			t.Errorf("%s: %s, %v", c.path, got, err)
		}
	}
	if _, err := h.PutNew("data/1", nil); err == nil {
		t.Error("a file was made among the data")
	}
	if all, err := h.List("_log", "1"); fmt.Sprint(all) != "[{2 3 5} {_last 3 5}]" || err != nil {
		t.Error(all, err)
	}
	if part, err := h.GetPart("_log/1", 1, 9); string(part) != "bc" || err != nil {
		t.Errorf("%q, %v", part, err)
	}
}

func TestRowsOfATarget(t *testing.T) {
	h := &sdktest.Host{}
	file, err := h.CreateRows(abi.RowsCreateRequest{Path: "_log/1.parquet", Format: "parquet"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, `{"a":{"x":1},"b":null}`+"\n"+`{"b":2}`+"\n")
	if h.Target.Names() != nil {
		t.Error("it is there before it is closed")
	}
	if outcome, err := file.Close(); outcome != abi.PutCreated || err != nil {
		t.Fatal(outcome, err)
	}
	var lines []string
	err = h.ReadRows(abi.ReadRowsRequest{Path: "_log/1.parquet", Columns: []string{"a", "c"}}, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	if fmt.Sprint(lines) != `[{"a":{"x":1}}]` || err != nil {
		t.Error(lines, err)
	}
}

// What a writer is told of a file, and whether it was made, are two things.
func TestAnswersAreLost(t *testing.T) {
	for outcome, made := range map[abi.PutOutcome]bool{abi.PutUnknown: true, sdktest.PutLost: false} {
		h := &sdktest.Host{Lose: func(abi.Operation, string) abi.PutOutcome { return outcome }}
		if got, err := h.PutNew("_log/1", []byte("x")); got != abi.PutUnknown || err != nil || (h.Target.Read("_log/1") == "x") != made {
			t.Errorf("%s: %s, %v, %v", outcome, got, err, h.Target)
		}
	}
	h := &sdktest.Host{}
	h.Before = func(_ abi.Operation, path string) { h.Target = sdktest.Target{path: {Data: []byte("theirs")}} }
	if got, err := h.PutNew("_log/1", []byte("ours")); got != abi.PutExists || err != nil || h.Target.Read("_log/1") != "theirs" {
		t.Error(got, err, h.Target)
	}
	refused := &abi.Failure{Code: abi.CodeNotRead}
	h.Fail = func(abi.Operation) *abi.Failure { return refused }
	if _, err := h.Get("_log/1"); !errors.Is(err, refused) || sdk.NotFound(err) {
		t.Error(err)
	}
}
