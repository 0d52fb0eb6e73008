package sdk

import (
	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// The messages of writers that make commits.

func decodeBatch(d *jsontext.Decoder) (m abi.Batch) {
	d.Object(func(name string) {
		switch name {
		case "key":
			m.Key = d.Text()
		case "other_keys":
			m.OtherKeys = d.Texts()
		case "run":
			m.Run = d.Text()
		case "epoch":
			m.Epoch = d.Long(64)
		case "after":
			m.After = d.Long(64)
		case "class":
			m.Class = abi.Class(d.Text())
		case "range":
			m.Range = decodeJSON(d)
		default:
			d.Raw()
		}
	})
	return m
}

// decodeJSON keeps a value as it is written; null is none.
func decodeJSON(d *jsontext.Decoder) abi.JSON {
	if d.Null() {
		return nil
	}
	return append(abi.JSON(nil), d.Raw()...)
}

func decodeCommitRequest(d *jsontext.Decoder) (m abi.CommitRequest) {
	d.Object(func(name string) {
		switch name {
		case "writer":
			m.Writer = d.Text()
		case "output":
			m.Output = decodeOutput(d)
		case "batch":
			m.Batch = decodeBatch(d)
		case "files":
			d.Array(func() { m.Files = append(m.Files, decodeStagedFile(d)) })
		case "state":
			m.State = decodeJSON(d)
		case "time":
			m.Time = d.Text()
		case "memory":
			m.Memory = d.Long(64)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeResolveRequest(d *jsontext.Decoder) (m abi.ResolveRequest) {
	d.Object(func(name string) {
		switch name {
		case "writer":
			m.Writer = d.Text()
		case "output":
			m.Output = decodeOutput(d)
		case "batch":
			m.Batch = decodeBatch(d)
		case "files":
			m.Files = d.Texts()
		case "time":
			m.Time = d.Text()
		case "memory":
			m.Memory = d.Long(64)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeGetAnswer(d *jsontext.Decoder) (m abi.GetAnswer) {
	d.Object(func(name string) {
		switch name {
		case "bytes":
			m.Bytes = d.Blob()
		case "size":
			m.Size = d.Long(64)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeListAnswer(d *jsontext.Decoder) (m abi.ListAnswer) {
	d.Object(func(name string) {
		switch name {
		case "entries":
			d.Array(func() { m.Entries = append(m.Entries, decodeEntry(d)) })
		case "more":
			m.More = d.Bool()
		default:
			d.Raw()
		}
	})
	return m
}

func decodeEntry(d *jsontext.Decoder) (m abi.Entry) {
	d.Object(func(name string) {
		switch name {
		case "name":
			m.Name = d.Text()
		case "size":
			m.Size = d.Long(64)
		case "modified":
			m.Modified = d.Long(64)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeReadRowsAnswer(d *jsontext.Decoder) (m abi.ReadRowsAnswer) {
	d.Object(func(name string) {
		switch name {
		case "cursor":
			m.Cursor = int32(d.Long(32))
		default:
			d.Raw()
		}
	})
	return m
}

func decodePutAnswer(d *jsontext.Decoder) (m abi.PutAnswer) {
	d.Object(func(name string) {
		switch name {
		case "outcome":
			m.Outcome = abi.PutOutcome(d.Text())
		default:
			d.Raw()
		}
	})
	return m
}

func decodeRowsCreateAnswer(d *jsontext.Decoder) (m abi.RowsCreateAnswer) {
	d.Object(func(name string) {
		switch name {
		case "file":
			m.File = int32(d.Long(32))
		default:
			d.Raw()
		}
	})
	return m
}

func encodeMark(e *jsontext.Encoder, m abi.Mark) {
	e.Object(func() {
		e.Field("epoch").Long(m.Epoch)
		e.Field("run").Text(m.Run)
		e.Field("commit").Text(m.Commit)
	})
}

func encodeCommitAnswer(m abi.CommitAnswer) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("outcome").Text(string(m.Outcome))
			encodeMark(e.Field("mark"), m.Mark)
			e.TextIf("message", m.Message)
			e.TextIf("hint", m.Hint)
		})
	}
}

func encodeResolveAnswer(m abi.ResolveAnswer) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			encodeMark(e.Field("mark"), m.Mark)
			e.TextsIf("named", m.Named)
		})
	}
}

func encodeGetRequest(m abi.GetRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("path").Text(m.Path)
			e.NumberIf("offset", m.Offset)
			e.NumberIf("length", m.Length)
		})
	}
}

func encodeListRequest(m abi.ListRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("folder").Text(m.Folder)
			e.TextIf("after", m.After)
		})
	}
}

func encodeReadRowsRequest(m abi.ReadRowsRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("path").Text(m.Path)
			e.Field("format").Text(m.Format)
			e.Field("columns").Texts(m.Columns)
			if w := m.Where; w != nil {
				e.Field("where").Object(func() {
					e.Field("column").Text(w.Column)
					e.Field("field").Text(w.Field)
					e.Field("equals").Text(w.Equals)
				})
			}
		})
	}
}

func encodePutNewRequest(m abi.PutNewRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("path").Text(m.Path)
			e.Field("bytes").Blob(m.Bytes)
		})
	}
}

func encodePutRequest(m abi.PutRequest) func(*jsontext.Encoder) {
	return encodePutNewRequest(abi.PutNewRequest(m))
}

func encodeRowsCreateRequest(m abi.RowsCreateRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("path").Text(m.Path)
			e.Field("format").Text(m.Format)
			jsontext.List(e.Field("columns"), m.Columns, func(c abi.Column) {
				e.Object(func() {
					e.Field("name").Text(c.Name)
					e.Field("type").Text(c.Type)
				})
			})
		})
	}
}

func encodeRowsCloseRequest(m abi.RowsCloseRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) { e.Object(func() { e.Field("file").Long(int64(m.File)) }) }
}
