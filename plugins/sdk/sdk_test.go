package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
)

type writer struct {
	name string
	err  error
}

func (w writer) Describe() abi.Description { return abi.Description{Name: w.name, Version: "1"} }

func (w writer) Plan(_ Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	return abi.PlanAnswer{Class: abi.ClassClaims, Target: req.Output.Target, Will: w.name}, w.err
}

func (w writer) Stage(h Host, req abi.StageRequest) (abi.StageAnswer, error) {
	n, err := h.Count(req.Relation)
	return abi.StageAnswer{Rows: n}, err
}

func TestModuleAnswersForTheWriterThatIsNamed(t *testing.T) {
	m := module{[]Writer{writer{name: "a"}, writer{name: "b"}}}
	answer, failed := m.call(abi.CallPlan, []byte(`{"writer":"b","output":{"target":"/lake"}}`), nil)
	if want := `{"class":"claims","target":"/lake","will":"b"}`; failed || string(answer) != want {
		t.Fatalf("%s, failed %t", answer, failed)
	}
	var d abi.DescribeAnswer
	answer, failed = m.call(abi.CallDescribe, []byte(`{}`), nil)
	if err := json.Unmarshal(answer, &d); err != nil || failed || d.ABI != abi.Version || len(d.Writers) != 2 || d.Writers[1].ABI != abi.Version {
		t.Fatalf("%s, failed %t, %v", answer, failed, err)
	}
}

func TestFailuresReachTheEngine(t *testing.T) {
	hinted := &abi.Failure{Code: "mine", Message: "no", Hint: "yes", Retryable: true}
	for _, c := range []struct {
		call    abi.Call
		request string
		err     error
		want    string
	}{
		{abi.CallPlan, `{"writer":"a"}`, errors.New("broken"), `{"code":"error","message":"broken"}`},
		{abi.CallPlan, `{"writer":"a"}`, fmt.Errorf("while: %w", hinted), `{"code":"mine","message":"no","hint":"yes","retryable":true}`},
		{abi.CallPlan, `{"writer":"x"}`, nil, `{"code":"error","message":"there is no writer \"x\" in this module"}`},
		{abi.CallCommit, `{"writer":"a"}`, nil, `{"code":"error","message":"the writer a makes no commits"}`},
		{abi.CallResolve, `{"writer":"a"}`, nil, `{"code":"error","message":"the writer a makes no commits"}`},
		{abi.CallResolve, `{`, nil, `{"code":"error","message":"the request cannot be read: the JSON ends early"}`},
		{abi.CallAbort, `{}`, nil, `{"code":"error","message":"the call abort is not known"}`},
		{abi.CallStage, `{`, nil, `{"code":"error","message":"the request cannot be read: the JSON ends early"}`},
	} {
		answer, failed := module{[]Writer{writer{"a", c.err}}}.call(c.call, []byte(c.request), nil)
		if !failed || string(answer) != c.want {
			t.Errorf("%s %s: %s, failed %t", c.call, c.request, answer, failed)
		}
	}
}

// wire is a transport that keeps what crosses.
type wire struct {
	said    []string
	answers map[abi.Operation]string
	rows    [][]byte
	fail    error
}

func (w *wire) call(op abi.Operation, request []byte) ([]byte, error) {
	w.said = append(w.said, string(op)+" "+string(request))
	return []byte(w.answers[op]), w.fail
}

func (w *wire) rowsNext(cursor int32, buffer []byte) (message, grown []byte, err error) {
	if len(w.rows) == 0 {
		return nil, buffer, io.EOF
	}
	message, w.rows = w.rows[0], w.rows[1:]
	return message, buffer, w.fail
}

func (w *wire) fileWrite(file int32, data []byte) error {
	w.said = append(w.said, fmt.Sprintf("write %d %d", file, len(data)))
	return w.fail
}

func (w *wire) log(level abi.Level, text string) {
	w.said = append(w.said, fmt.Sprintf("log %d %s", level, text))
}

func TestHostSpeaksTheContract(t *testing.T) {
	w := &wire{rows: [][]byte{{1}}, answers: map[abi.Operation]string{
		abi.OpSchema: `{"columns":[{"name":"id","type":"BIGINT"}]}`, abi.OpCount: `{"rows":3}`, abi.OpEncode: `{"files":[{"name":"x","rows":3,"bytes":4}]}`,
		abi.OpDerive: `{"relation":"d"}`, abi.OpRows: `{"cursor":5}`, abi.OpFileCreate: `{"file":6,"name":"f"}`, abi.OpFileClose: `{"name":"f","bytes":2097152}`}}
	h := remote{w}
	columns, err1 := h.Schema("r")
	count, err2 := h.Count("r")
	files, err3 := h.Encode(abi.EncodeRequest{Relation: "r", Format: "csv"})
	derived, err4 := h.Derive(abi.DeriveRequest{SQL: "SELECT 1"})
	rows, err5 := h.Rows(abi.RowsRequest{Relation: "r"})
	file, err6 := h.CreateFile(abi.FileCreateRequest{Extension: "txt"})
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	if len(columns) != 1 || columns[0].Type != "BIGINT" || count != 3 || files[0].Bytes != 4 || derived != "d" || file.Name() != "f" {
		t.Fatal(columns, count, files, derived, file.Name())
	}
	if m, err := rows.Message(); err != nil || len(m) != 1 {
		t.Fatal(m, err)
	}
	for range 2 { // the end stays the end
		if _, err := rows.Message(); err != io.EOF {
			t.Fatal(err)
		}
	}
	if n, err := file.Write(make([]byte, 2*pieceSize+1)); n != 2*pieceSize+1 || err != nil {
		t.Fatal(n, err)
	}
	if closed, err := file.Close(); err != nil || closed.Bytes != 2<<20 {
		t.Fatal(closed, err)
	}
	h.Log(abi.LevelWarn, "careful")
	want := `relation.schema {"relation":"r"}
relation.count {"relation":"r"}
relation.encode {"relation":"r","format":"csv"}
relation.derive {"sql":"SELECT 1","inputs":null}
relation.rows {"relation":"r"}
files.file_create {"extension":"txt"}
write 6 1048576
write 6 1048576
write 6 1
files.file_close {"file":6}
log 2 careful`
	if got := strings.Join(w.said, "\n"); got != want {
		t.Fatalf("said\n%s", got)
	}
}

func TestHostHandsOnFailures(t *testing.T) {
	refused := &abi.Failure{Code: abi.CodeRefused, Message: "not granted"}
	h := remote{&wire{fail: refused}}
	if _, err := h.Count("r"); !errors.Is(err, refused) {
		t.Error(err)
	}
	if n, err := (&file{r: h}).Write(make([]byte, 10)); n != 0 || !errors.Is(err, refused) {
		t.Error(n, err)
	}
	if _, err := (remote{&wire{}}).Count("r"); err == nil {
		t.Error("an empty answer was taken for one")
	}
}
