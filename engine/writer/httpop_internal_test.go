package writer

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// hosts answers every request alike.
type hosts struct {
	asked int
	err   error
}

func (h *hosts) Request(context.Context, abi.HTTPRequest) (abi.HTTPAnswer, error) {
	h.asked++
	return abi.HTTPAnswer{Status: 200, Headers: map[string]string{}}, h.err
}

// What may change something at a host is for commit alone, and afterwards nobody takes the commit for not done.
func TestRequestsByCall(t *testing.T) {
	fails := func(code string) error { return &abi.Failure{Code: code, Message: "x"} }
	for _, c := range []struct {
		call   abi.Call
		method string
		err    error
		code   string // of the failure; "": it is an answer
		put    bool
	}{
		{abi.CallPlan, "GET", nil, "", false},
		{abi.CallStage, "HEAD", nil, "", false},
		{abi.CallPlan, "POST", nil, abi.CodeRefused, false},
		{abi.CallStage, "DELETE", nil, abi.CodeRefused, false},
		{abi.CallResolve, "get", nil, abi.CodeRefused, false},
		{abi.CallCommit, "GET", nil, "", false},
		{abi.CallCommit, "POST", nil, "", true},
		{abi.CallCommit, "POST", fails(abi.CodeNoAnswer), abi.CodeNoAnswer, true},
		{abi.CallCommit, "POST", fails(abi.CodeNotSent), abi.CodeNotSent, false},
		{abi.CallCommit, "POST", fails(abi.CodeRefused), abi.CodeRefused, false},
		{abi.CallCommit, "POST", context.DeadlineExceeded, abi.CodeFailed, true},
	} {
		h := &hosts{err: c.err}
		ops := newOperations(c.call, Grants{HTTP: h})
		status, answer := ops.serve(t.Context(), c.call, wire.Operation, []byte(string(abi.OpHTTP)+"\x00"+`{"method":"`+c.method+`","url":"https://a"}`))
		var f abi.Failure
		if status == wire.Failed {
			if err := json.Unmarshal(answer, &f); err != nil {
				t.Fatal(err)
			}
		}
		if f.Code != c.code || ops.put != c.put || h.asked == 0 != (c.code == abi.CodeRefused && c.err == nil) {
			t.Errorf("%s during %s: %s %s, put %t, asked %d times", c.method, c.call, outcome(status), answer, ops.put, h.asked)
		}
	}
	_, answer := newOperations(abi.CallCommit, Grants{}).serve(t.Context(), abi.CallCommit, wire.Operation, []byte(string(abi.OpHTTP)+"\x00{}"))
	var f abi.Failure
	if err := json.Unmarshal(answer, &f); err != nil || f.Code != abi.CodeRefused {
		t.Errorf("not granted: %s, %v", answer, err)
	}
}

func outcome(s wire.Status) string {
	return map[bool]string{true: "answer", false: "failure"}[s == wire.OK]
}
