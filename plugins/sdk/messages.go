package sdk

import (
	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// The messages of package abi, one function each. What the tags of their fields say is said here again; a test
// holds every field against encoding/json.

// optional reads a value that may be absent, or null.
func optional[M any](d *jsontext.Decoder, read func(*jsontext.Decoder) M) *M {
	if d.Null() {
		return nil
	}
	m := read(d)
	return &m
}

func decodeText(d *jsontext.Decoder) string { return d.Text() }

func decodePlanRequest(d *jsontext.Decoder) (m abi.PlanRequest) {
	d.Object(func(name string) {
		switch name {
		case "writer":
			m.Writer = d.Text()
		case "output":
			m.Output = decodeOutput(d)
		case "epoch":
			m.Epoch = d.Long(64)
		case "batch":
			m.Batch = optional(d, decodeBatch)
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

func decodeStageRequest(d *jsontext.Decoder) (m abi.StageRequest) {
	d.Object(func(name string) {
		switch name {
		case "writer":
			m.Writer = d.Text()
		case "output":
			m.Output = decodeOutput(d)
		case "relation":
			m.Relation = d.Text()
		case "schema":
			m.Schema = decodeColumns(d)
		case "epoch":
			m.Epoch = d.Long(64)
		case "batch":
			m.Batch = optional(d, decodeBatch)
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

func decodeOutput(d *jsontext.Decoder) (m abi.Output) {
	d.Object(func(name string) {
		switch name {
		case "name":
			m.Name = d.Text()
		case "mode":
			m.Mode = d.Text()
		case "target":
			m.Target = d.Text()
		case "partition_by":
			m.PartitionBy = d.Texts()
		case "sort_by":
			m.SortBy = d.Texts()
		case "target_file_size":
			m.TargetFileSize = d.Long(64)
		case "options":
			m.Options = d.Pairs()
		case "keys":
			m.Keys = d.Texts()
		case "replace_where":
			m.ReplaceWhere = d.Text()
		case "slice":
			m.Slice = d.Pairs()
		case "schema":
			m.Schema = d.Text()
		default:
			d.Raw()
		}
	})
	return m
}

func decodeColumns(d *jsontext.Decoder) (all []abi.Column) {
	d.Array(func() {
		var m abi.Column
		d.Object(func(name string) {
			switch name {
			case "name":
				m.Name = d.Text()
			case "type":
				m.Type = d.Text()
			default:
				d.Raw()
			}
		})
		all = append(all, m)
	})
	return all
}

func decodeSchemaAnswer(d *jsontext.Decoder) (m abi.SchemaAnswer) {
	d.Object(func(name string) {
		switch name {
		case "columns":
			m.Columns = decodeColumns(d)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeCountAnswer(d *jsontext.Decoder) (m abi.CountAnswer) {
	d.Object(func(name string) {
		switch name {
		case "rows":
			m.Rows = d.Long(64)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeEncodeAnswer(d *jsontext.Decoder) (m abi.EncodeAnswer) {
	d.Object(func(name string) {
		switch name {
		case "files":
			d.Array(func() { m.Files = append(m.Files, decodeStagedFile(d)) })
		default:
			d.Raw()
		}
	})
	return m
}

func decodeStagedFile(d *jsontext.Decoder) (m abi.StagedFile) {
	d.Object(func(name string) {
		switch name {
		case "name":
			m.Name = d.Text()
		case "partition":
			m.Partition = d.Pairs()
		case "rows":
			m.Rows = d.Long(64)
		case "bytes":
			m.Bytes = d.Long(64)
		case "columns":
			d.Array(func() { m.Columns = append(m.Columns, decodeColumnStats(d)) })
		default:
			d.Raw()
		}
	})
	return m
}

func decodeColumnStats(d *jsontext.Decoder) (m abi.ColumnStats) {
	d.Object(func(name string) {
		switch name {
		case "name":
			m.Name = d.Text()
		case "nulls":
			m.Nulls = d.Long(64)
		case "min":
			m.Min = optional(d, decodeText)
		case "max":
			m.Max = optional(d, decodeText)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeDeriveAnswer(d *jsontext.Decoder) (m abi.DeriveAnswer) {
	d.Object(func(name string) {
		switch name {
		case "relation":
			m.Relation = d.Text()
		default:
			d.Raw()
		}
	})
	return m
}

func decodeRowsAnswer(d *jsontext.Decoder) (m abi.RowsAnswer) {
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

func decodeFileCreateAnswer(d *jsontext.Decoder) (m abi.FileCreateAnswer) {
	d.Object(func(name string) {
		switch name {
		case "file":
			m.File = int32(d.Long(32))
		case "name":
			m.Name = d.Text()
		default:
			d.Raw()
		}
	})
	return m
}

func decodeFileCloseAnswer(d *jsontext.Decoder) (m abi.FileCloseAnswer) {
	d.Object(func(name string) {
		switch name {
		case "name":
			m.Name = d.Text()
		case "bytes":
			m.Bytes = d.Long(64)
		default:
			d.Raw()
		}
	})
	return m
}

func decodeFailure(d *jsontext.Decoder) (m abi.Failure) {
	d.Object(func(name string) {
		switch name {
		case "code":
			m.Code = d.Text()
		case "message":
			m.Message = d.Text()
		case "hint":
			m.Hint = d.Text()
		case "retryable":
			m.Retryable = d.Bool()
		default:
			d.Raw()
		}
	})
	return m
}

func encodeDescribeAnswer(m abi.DescribeAnswer) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("abi").Long(int64(m.ABI))
			jsontext.List(e.Field("writers"), m.Writers, func(d abi.Description) { encodeDescription(e, d) })
		})
	}
}

func encodeDescription(e *jsontext.Encoder, m abi.Description) {
	e.Object(func() {
		e.Field("abi").Long(int64(m.ABI))
		e.Field("name").Text(m.Name)
		e.Field("version").Text(m.Version)
		e.TextIf("doc", m.Doc)
		jsontext.List(e.Field("modes"), m.Modes, func(mode abi.Mode) {
			e.Object(func() {
				e.Field("name").Text(mode.Name)
				e.Field("class").Text(string(mode.Class))
				if len(mode.Exceptions) > 0 {
					jsontext.List(e.Field("exceptions"), mode.Exceptions, func(x abi.Exception) {
						e.Object(func() {
							e.Field("options").Pairs(x.Options)
							e.Field("class").Text(string(x.Class))
						})
					})
				}
			})
		})
		e.Field("options").Raw(m.Options)
		jsontext.List(e.Field("capabilities"), m.Capabilities, func(c abi.Capability) { e.Text(string(c)) })
	})
}

func encodePlanAnswer(m abi.PlanAnswer) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("class").Text(string(m.Class))
			e.Field("target").Text(m.Target)
			e.TextIf("exists", m.Exists)
			if len(m.Problems) > 0 {
				jsontext.List(e.Field("problems"), m.Problems, func(p abi.Problem) {
					e.Object(func() {
						e.Field("field").Text(p.Field)
						e.Field("message").Text(p.Message)
						e.TextIf("hint", p.Hint)
					})
				})
			}
			e.TextsIf("warnings", m.Warnings)
			e.NumberIf("reads", int64(m.Reads))
			e.Field("will").Text(m.Will)
		})
	}
}

func encodeStageAnswer(m abi.StageAnswer) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			jsontext.List(e.Field("files"), m.Files, func(f abi.StagedFile) { encodeStagedFile(e, f) })
			e.Field("rows").Long(m.Rows)
			e.RawIf("state", m.State)
		})
	}
}

func encodeStagedFile(e *jsontext.Encoder, m abi.StagedFile) {
	e.Object(func() {
		e.Field("name").Text(m.Name)
		e.PairsIf("partition", m.Partition)
		e.Field("rows").Long(m.Rows)
		e.Field("bytes").Long(m.Bytes)
		if len(m.Columns) == 0 {
			return
		}
		jsontext.List(e.Field("columns"), m.Columns, func(c abi.ColumnStats) {
			e.Object(func() {
				e.Field("name").Text(c.Name)
				e.Field("nulls").Long(c.Nulls)
				if c.Min != nil {
					e.Field("min").Text(*c.Min)
				}
				if c.Max != nil {
					e.Field("max").Text(*c.Max)
				}
			})
		})
	})
}

func encodeFailure(m abi.Failure) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("code").Text(m.Code)
			e.Field("message").Text(m.Message)
			e.TextIf("hint", m.Hint)
			e.BooleanIf("retryable", m.Retryable)
		})
	}
}

func encodeSchemaRequest(m abi.SchemaRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) { e.Object(func() { e.Field("relation").Text(m.Relation) }) }
}

func encodeCountRequest(m abi.CountRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) { e.Object(func() { e.Field("relation").Text(m.Relation) }) }
}

func encodeEncodeRequest(m abi.EncodeRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("relation").Text(m.Relation)
			e.Field("format").Text(m.Format)
			e.PairsIf("options", m.Options)
			e.TextsIf("partition_by", m.PartitionBy)
			e.TextsIf("order_by", m.OrderBy)
			e.NumberIf("target_file_size", m.TargetFileSize)
			e.BooleanIf("statistics", m.Statistics)
			e.BooleanIf("skip_empty", m.SkipEmpty)
		})
	}
}

func encodeDeriveRequest(m abi.DeriveRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("sql").Text(m.SQL)
			jsontext.List(e.Field("inputs"), m.Inputs, func(in abi.DeriveInput) {
				e.Object(func() {
					e.Field("name").Text(in.Name)
					e.TextIf("relation", in.Relation)
					e.TextIf("format", in.Format)
					if in.Version != nil {
						e.Field("version").Long(*in.Version)
					}
					e.TextsIf("files", in.Files)
					e.TextIf("file_column", in.FileColumn)
				})
			})
		})
	}
}

func encodeRowsRequest(m abi.RowsRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("relation").Text(m.Relation)
			e.TextsIf("columns", m.Columns)
		})
	}
}

func encodeFileCreateRequest(m abi.FileCreateRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) {
		e.Object(func() {
			e.PairsIf("partition", m.Partition)
			e.Field("extension").Text(m.Extension)
		})
	}
}

func encodeFileCloseRequest(m abi.FileCloseRequest) func(*jsontext.Encoder) {
	return func(e *jsontext.Encoder) { e.Object(func() { e.Field("file").Long(int64(m.File)) }) }
}
