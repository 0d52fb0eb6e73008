package sdk

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// keeper is a writer that makes commits.
type keeper struct{ writer }

func (keeper) Commit(h Host, req abi.CommitRequest) (abi.CommitAnswer, error) {
	outcome, err := h.PutNew("_log/"+req.Files[0].Name, req.State)
	if outcome != abi.PutCreated || err != nil {
		return abi.CommitAnswer{}, fmt.Errorf("%s, %w", outcome, err)
	}
	return abi.CommitAnswer{Outcome: abi.OutcomeDone, Mark: abi.Mark{Epoch: req.Batch.Epoch, Run: req.Batch.Run, Commit: "1"}}, nil
}

func (keeper) Resolve(h Host, req abi.ResolveRequest) (abi.ResolveAnswer, error) {
	return abi.ResolveAnswer{Named: req.Files}, nil
}

func TestACommitterIsAskedToCommit(t *testing.T) {
	w := &wire{answers: map[abi.Operation]string{abi.OpPutNew: `{"outcome":"created"}`}}
	m := module{[]Writer{keeper{writer{name: "k"}}}}
	answer, failed := m.call(abi.CallCommit, []byte(`{"writer":"k","batch":{"epoch":3,"run":"r"},"files":[{"name":"1"}],"state":[1]}`), remote{w})
	if want := `{"outcome":"done","mark":{"epoch":3,"run":"r","commit":"1"}}`; failed || string(answer) != want {
		t.Errorf("%s, failed %t", answer, failed)
	}
	if want := `table.put_new {"path":"_log/1","bytes":"WzFd"}`; strings.Join(w.said, "\n") != want {
		t.Errorf("said %q", w.said)
	}
	answer, failed = m.call(abi.CallResolve, []byte(`{"writer":"k","files":["a","b"]}`), nil)
	if want := `{"mark":{"epoch":0,"run":"","commit":""},"named":["a","b"]}`; failed || string(answer) != want {
		t.Errorf("%s, failed %t", answer, failed)
	}
}

// pages answers the operations of a table a part at a time.
type pages struct {
	wire
	answer func(op abi.Operation, request string) (string, error)
}

func (p *pages) call(op abi.Operation, request []byte) ([]byte, error) {
	p.said = append(p.said, string(op)+" "+string(request))
	answer, err := p.answer(op, string(request))
	return []byte(answer), err
}

func TestALongFileIsReadInParts(t *testing.T) {
	p := &pages{answer: func(_ abi.Operation, request string) (string, error) {
		if strings.Contains(request, "offset") {
			return `{"bytes":"YmM=","size":3}`, nil
		}
		return `{"bytes":"YQ==","size":3}`, nil
	}}
	if data, err := (remote{p}).Get("f"); string(data) != "abc" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := (remote{p}).GetPart("f", 0, 3); string(data) != "abc" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	want := `table.get {"path":"f"}
table.get {"path":"f","offset":1}
table.get {"path":"f","length":3}
table.get {"path":"f","offset":1,"length":2}`
	if got := strings.Join(p.said, "\n"); got != want {
		t.Errorf("said\n%s", got)
	}
}

func TestALongFolderIsListedInParts(t *testing.T) {
	p := &pages{answer: func(_ abi.Operation, request string) (string, error) {
		if strings.Contains(request, `"after":"b"`) {
			return `{"entries":[{"name":"c","size":3,"modified":4}]}`, nil
		}
		return `{"entries":[{"name":"a","size":1,"modified":2},{"name":"b","size":1,"modified":2}],"more":true}`, nil
	}}
	all, err := remote{p}.List("_log", "")
	if fmt.Sprint(all) != "[{a 1 2} {b 1 2} {c 3 4}]" || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

func TestRowsAreLines(t *testing.T) {
	w := &wire{answers: map[abi.Operation]string{abi.OpReadRows: `{"cursor":2}`}, rows: [][]byte{[]byte("{\"a\":1}\n{\"a\":2}\n"), []byte(`{"a":3}`)}}
	var lines []string
	enough := errors.New("enough")
	err := remote{w}.ReadRows(abi.ReadRowsRequest{Path: "p", Format: "parquet", Columns: []string{"a"}}, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	if got := strings.Join(lines, " "); got != `{"a":1} {"a":2} {"a":3}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	w.rows = [][]byte{[]byte("{}\n{}")}
	if err := (remote{w}).ReadRows(abi.ReadRowsRequest{}, func([]byte) error { return enough }); err != enough {
		t.Error(err)
	}
}

func TestRowsArePut(t *testing.T) {
	w := &wire{answers: map[abi.Operation]string{abi.OpRowsCreate: `{"file":7}`, abi.OpRowsClose: `{"outcome":"exists"}`}}
	file, err := remote{w}.CreateRows(abi.RowsCreateRequest{Path: "_log/1.parquet", Format: "parquet", Columns: []abi.Column{{Name: "a", Type: "BIGINT"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, "{}\n"); err != nil {
		t.Fatal(err)
	}
	if outcome, err := file.Close(); outcome != abi.PutExists || err != nil {
		t.Error(outcome, err)
	}
	want := `table.rows_create {"path":"_log/1.parquet","format":"parquet","columns":[{"name":"a","type":"BIGINT"}]}
write 7 3
table.rows_close {"file":7}`
	if got := strings.Join(w.said, "\n"); got != want {
		t.Errorf("said\n%s", got)
	}
}

func TestOnlyWhatIsCertainlyNotThereIsNotFound(t *testing.T) {
	for code, want := range map[string]bool{abi.CodeNotFound: true, abi.CodeNotRead: false, abi.CodeFailed: false, "": false} {
		if NotFound(fmt.Errorf("look: %w", &abi.Failure{Code: code})) != want {
			t.Error(code)
		}
	}
	if NotFound(nil) || NotFound(io.EOF) {
		t.Error("another error says that something is not there")
	}
}
