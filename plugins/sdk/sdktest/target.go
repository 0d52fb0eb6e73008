package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Target is the files of an output's target, by their paths. A file of rows holds lines of JSON, whatever its format is. The rules of
// names are the engine's.
type Target map[string]TargetFile

// TargetFile is a file of a Target.
type TargetFile struct {
	Data     []byte
	Modified time.Time
	Columns  []abi.Column // of a file of rows
}

// Read gives the content of a file as text; empty if it is not there.
func (t Target) Read(path string) string { return string(t[path].Data) }

// Names gives the paths of all files, sorted.
func (t Target) Names() []string { return slices.Sorted(maps.Keys(t)) }

func notFound(name string) error {
	return &abi.Failure{Code: abi.CodeNotFound, Message: name + " is not there"}
}

// Get upholds sdk.Table.
func (h *Host) Get(name string) ([]byte, error) {
	if err := h.failed(abi.OpGet); err != nil {
		return nil, err
	}
	h.Asked = append(h.Asked, "get "+name)
	file, ok := h.Target[name]
	if !ok {
		return nil, notFound(name)
	}
	return bytes.Clone(file.Data), nil
}

// GetPart upholds sdk.Table.
func (h *Host) GetPart(name string, offset, length int64) ([]byte, error) {
	data, err := h.Get(name)
	if err != nil {
		return nil, err
	}
	size := int64(len(data))
	offset = min(offset, size)
	return data[offset:min(offset+length, size)], nil
}

// List upholds sdk.Table.
func (h *Host) List(folder, after string) (all []abi.Entry, err error) {
	if err := h.failed(abi.OpList); err != nil {
		return nil, err
	}
	h.Asked = append(h.Asked, strings.TrimSpace("list "+folder+" "+after))
	there := folder == ""
	for _, name := range h.Target.Names() {
		dir, base := path.Split(name)
		there = there || strings.HasPrefix(dir, folder+"/")
		if strings.TrimSuffix(dir, "/") == folder && base > after {
			file := h.Target[name]
			all = append(all, abi.Entry{Name: base, Size: int64(len(file.Data)), Modified: file.Modified.UnixMilli()})
		}
	}
	if !there {
		return nil, notFound(folder)
	}
	return all, nil
}

// ReadRows upholds sdk.Table. Where leaves no rows out: it need not.
func (h *Host) ReadRows(req abi.ReadRowsRequest, line func([]byte) error) error {
	if err := h.failed(abi.OpReadRows); err != nil {
		return err
	}
	h.Asked = append(h.Asked, "read_rows "+req.Path)
	file, ok := h.Target[req.Path]
	if !ok {
		return notFound(req.Path)
	}
	for one := range bytes.Lines(file.Data) {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(one, &row); err != nil {
			return &abi.Failure{Code: abi.CodeNotRead, Message: fmt.Sprintf("%s: %v", req.Path, err)}
		}
		maps.DeleteFunc(row, func(name string, value json.RawMessage) bool {
			return !slices.Contains(req.Columns, name) || string(value) == "null"
		})
		if len(row) == 0 {
			continue
		}
		data, err := json.Marshal(row)
		if err == nil {
			err = line(data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PutNew upholds sdk.Table.
func (h *Host) PutNew(name string, data []byte) (abi.PutOutcome, error) {
	return h.put(abi.OpPutNew, name, TargetFile{Data: data})
}

// Put upholds sdk.Table.
func (h *Host) Put(name string, data []byte) (abi.PutOutcome, error) {
	return h.put(abi.OpPut, name, TargetFile{Data: data})
}

// put makes a file, unless Fail or Lose says otherwise.
func (h *Host) put(op abi.Operation, name string, file TargetFile) (abi.PutOutcome, error) {
	if err := h.failed(op); err != nil {
		return "", err
	}
	if err := abi.CheckPut(op, name); err != nil {
		return "", err
	}
	h.Asked = append(h.Asked, strings.TrimPrefix(string(op), "table.")+" "+name)
	if h.Before != nil {
		h.Before(op, name)
	}
	if _, taken := h.Target[name]; taken && op != abi.OpPut {
		return abi.PutExists, nil
	}
	if h.Target == nil {
		h.Target = Target{}
	}
	file.Data, file.Modified = bytes.Clone(file.Data), h.Now
	outcome := abi.PutCreated
	if h.Lose != nil {
		outcome = h.Lose(op, name)
	}
	if outcome != PutLost {
		h.Target[name] = file
		return outcome, nil
	}
	return abi.PutUnknown, nil
}

// PutLost is what Host.Lose answers for a file that is not made and of which the writer is told PutUnknown.
const PutLost abi.PutOutcome = "lost"

// CreateRows upholds sdk.Table.
func (h *Host) CreateRows(req abi.RowsCreateRequest) (sdk.RowsFile, error) {
	if err := h.failed(abi.OpRowsCreate); err != nil {
		return nil, err
	}
	if err := abi.CheckPut(abi.OpRowsCreate, req.Path); err != nil {
		return nil, err
	}
	return &rowsFile{host: h, request: req}, nil
}

type rowsFile struct {
	bytes.Buffer
	host    *Host
	request abi.RowsCreateRequest
}

// Close upholds sdk.RowsFile.
func (f *rowsFile) Close() (abi.PutOutcome, error) {
	return f.host.put(abi.OpRowsClose, f.request.Path, TargetFile{Data: f.Bytes(), Columns: f.request.Columns})
}
