package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// record is a file of the log: one delivery that the host has taken whole.
type record struct {
	Keys  []string `json:"keys"` // of the batch, and of what it was called before
	Run   string   `json:"run"`
	Epoch int64    `json:"epoch"`
	Files []string `json:"files"` // the bodies, in order
	Sent  []string `json:"sent"`  // the Idempotency-Key of each
}

const logFolder = "_delivered"

func recordName(number int) string { return fmt.Sprintf("%s/%08d.json", logFolder, number) }

// records gives the whole log, in order.
func records(h sdk.Host) (all []record, err error) {
	entries, err := h.List(logFolder, "")
	if sdk.NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if logFolder+"/"+e.Name != recordName(i+1) {
			return nil, &abi.Failure{Code: "log", Message: "the log of deliveries has " + e.Name + " where " + recordName(i+1) + " is due",
				Hint: "nobody but this plugin makes or removes files there"}
		}
		data, err := h.Get(logFolder + "/" + e.Name)
		var r record
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// mark finds the batch's delivery of the highest epoch.
func mark(all []record, b abi.Batch) (m abi.Mark) {
	if b.Key == "" {
		return m
	}
	for i, r := range all {
		own := slices.ContainsFunc(r.Keys, func(key string) bool { return key == b.Key || slices.Contains(b.OtherKeys, key) })
		if own && r.Epoch > m.Epoch {
			m = abi.Mark{Epoch: r.Epoch, Run: r.Run, Commit: deliveryText(i + 1)}
		}
	}
	return m
}

func deliveryText(number int) string { return fmt.Sprintf("delivery %d", number) }

// settled tells of a batch that is not to be delivered any more.
func settled(all []record, b abi.Batch) (abi.CommitAnswer, bool) {
	switch m := mark(all, b); {
	case m.Epoch == 0:
	case m.Epoch == b.Epoch && m.Run == b.Run:
		return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: m}, true
	case m.Epoch >= b.Epoch:
		return abi.CommitAnswer{Outcome: abi.OutcomeFenced, Mark: m}, true
	case b.Class == abi.ClassOnce && m.Epoch > b.After:
		return abi.CommitAnswer{Outcome: abi.OutcomeFound, Mark: m}, true
	}
	return abi.CommitAnswer{}, false
}

// Commit upholds sdk.Committer: all bodies are sent, and then the log says so. A run that dies between the two has delivered and
// nobody knows; the next one sends the same keys, which is why a host that honours them has the rows once.
func (delivery) Commit(h sdk.Host, req abi.CommitRequest) (abi.CommitAnswer, error) {
	none := abi.CommitAnswer{}
	o, problems := read(req.Output)
	if len(problems) > 0 {
		return none, errors.New(problems[0].Message)
	}
	files, err := inOrder(req)
	if err != nil {
		return none, err
	}
	all, err := records(h)
	if err != nil {
		return none, err
	}
	if answer, ok := settled(all, req.Batch); ok {
		return answer, nil
	}
	r := record{Keys: append([]string{req.Batch.Key}, req.Batch.OtherKeys...), Run: req.Batch.Run, Epoch: req.Batch.Epoch, Files: files}
	for i, name := range files {
		r.Sent = append(r.Sent, idempotencyKey(req.Batch, i))
		body, err := h.Get(name)
		if err == nil {
			err = o.send(h, r.Sent[i], body)
		}
		if err != nil {
			return unsettled(err, i, len(files)), nil
		}
	}
	return write(h, req.Batch, all, r)
}

// idempotencyKey names the i-th request of a delivery. Every run that may have to repeat the delivery makes the same one: it depends
// on the batch and on the last delivery that is known to be finished, not on the run.
func idempotencyKey(b abi.Batch, i int) string {
	key := b.Key
	if len(b.OtherKeys) > 0 {
		key = b.OtherKeys[0] // what a dead run may have sent
	}
	if key == "" {
		key = "run/" + b.Run
	}
	return ascii(fmt.Sprintf("%s/%d/%d", key, b.After, i+1))
}

// ascii makes a text one that a structured field can have (RFC 8941, 3.3.3).
func ascii(text string) string {
	var out []byte
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			out = fmt.Appendf(out, "%%%02X", c)
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// inOrder gives the bodies in the order of their rows.
func inOrder(req abi.CommitRequest) ([]string, error) {
	var staged []string
	if err := json.Unmarshal(req.State, &staged); err != nil {
		return nil, err
	}
	files := make([]string, len(staged))
	for i, name := range staged {
		at := slices.IndexFunc(req.Files, func(f abi.StagedFile) bool { return strings.HasPrefix(name, f.Name) })
		if at < 0 {
			return nil, errors.New("the file " + name + " is gone")
		}
		files[i] = req.Files[at].Name
	}
	return files, nil
}

// failed is why a request was not taken.
type failed struct {
	message string
	certain bool // the host has done nothing
}

func (f *failed) Error() string { return f.message }

// attempts is how often a request is sent that may be sent again.
const attempts = 3

// send delivers one body.
func (o options) send(h sdk.Host, key string, body []byte) (err error) {
	req := abi.HTTPRequest{Method: "POST", URL: o.url, Headers: map[string]string{keyField: `"` + key + `"`}, Body: body}
	for name, value := range o.headers {
		req.Headers[name] = value
	}
	for range attempts {
		var again bool
		if again, err = try(h, req); !again || !o.honours {
			return err
		}
	}
	return err
}

// try sends a request once, and tells whether it may go better the next time.
func try(h sdk.Host, req abi.HTTPRequest) (again bool, err error) {
	answer, err := h.HTTP(req)
	if err != nil {
		f, ok := errors.AsType[*abi.Failure](err)
		if !ok {
			return false, err
		}
		return f.Retryable, &failed{f.Message, f.Code != abi.CodeNoAnswer}
	}
	if answer.Status >= 200 && answer.Status < 300 {
		return false, nil
	}
	const most = 200
	said := strings.ToValidUTF8(string(answer.Body[:min(len(answer.Body), most)]), "")
	err = &failed{fmt.Sprintf("%s answered %d: %s", req.URL, answer.Status, said), answer.Status < 500}
	return answer.Status >= 500 || answer.Status == 429, err
}

// unsettled tells of a delivery that is not whole.
func unsettled(err error, sent, of int) abi.CommitAnswer {
	f, ok := errors.AsType[*failed](err)
	message := fmt.Sprintf("request %d of %d: %s", sent+1, of, err)
	if sent == 0 && ok && f.certain {
		return abi.CommitAnswer{Outcome: abi.OutcomeNotDone, Message: message}
	}
	return abi.CommitAnswer{Outcome: abi.OutcomeUnknown, Message: message, Hint: "the host has the requests before it, and perhaps this one"}
}

// write notes a delivery in the log, after all that was noted meanwhile.
func write(h sdk.Host, b abi.Batch, all []record, r record) (abi.CommitAnswer, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return abi.CommitAnswer{}, err
	}
	for {
		number := len(all) + 1
		outcome, err := h.PutNew(recordName(number), data)
		if err != nil {
			return abi.CommitAnswer{}, err
		}
		if outcome == abi.PutCreated {
			return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: b.Epoch, Run: b.Run, Commit: deliveryText(number)}}, nil
		}
		if all, err = records(h); err != nil {
			return abi.CommitAnswer{}, err
		}
		if answer, ok := settled(all, b); ok {
			return answer, nil
		}
	}
}

// Resolve upholds sdk.Committer.
func (delivery) Resolve(h sdk.Host, req abi.ResolveRequest) (abi.ResolveAnswer, error) {
	all, err := records(h)
	answer := abi.ResolveAnswer{Mark: mark(all, req.Batch)}
	for _, name := range req.Files {
		if slices.ContainsFunc(all, func(r record) bool { return slices.Contains(r.Files, name) }) {
			answer.Named = append(answer.Named, name)
		}
	}
	return answer, err
}
