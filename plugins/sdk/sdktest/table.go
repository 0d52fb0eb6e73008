package sdktest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Table makes a relation of these columns and rows, as the engine hands it out; each list of rows is a record batch.
// A value is nil for NULL, else by the kind of its column a bool, int, uint64, float64, string (also of Decimal: "1.50"),
// []byte, or time.Time in UTC (of Date, Time and Timestamp). It panics for anything else.
func Table(columns []sdk.Field, batches ...[][]any) Relation {
	r := Relation{fields: columns, batches: batches}
	fields := make([]part, len(columns))
	for i, c := range columns {
		kind, typ, sql := arrowType(c)
		r.Columns = append(r.Columns, abi.Column{Name: c.Name, Type: sql})
		fields[i] = table(ref(text(c.Name)), num(1), num(kind), ref(typ), slot{}, ref(tables(nil)))
	}
	r.Messages = [][]byte{encapsulate(1, table(num(0), ref(tables(fields))), nil)}
	for _, rows := range batches {
		r.Rows += int64(len(rows))
		r.Messages = append(r.Messages, recordBatch(columns, rows))
	}
	return r
}

// choose gives the table with the columns named alone, in that order.
func (r Relation) choose(names []string) (Relation, error) {
	var fields []sdk.Field
	batches := make([][][]any, len(r.batches))
	for i, rows := range r.batches {
		batches[i] = make([][]any, len(rows))
	}
	for _, name := range names {
		at := slices.IndexFunc(r.fields, func(f sdk.Field) bool { return strings.EqualFold(f.Name, name) })
		if at < 0 {
			return r, &abi.Failure{Code: abi.CodeFailed, Message: fmt.Sprintf("there is no column %q", name)}
		}
		fields = append(fields, r.fields[at])
		for i, rows := range r.batches {
			for k, row := range rows {
				batches[i][k] = append(batches[i][k], row[at])
			}
		}
	}
	return Table(fields, batches...), nil
}

// arrowType gives a column's type as Arrow's Schema.fbs has it, and its SQL type.
func arrowType(c sdk.Field) (kind int, typ part, sql string) {
	switch c.Kind {
	case sdk.Bool:
		return 6, table(), "BOOLEAN"
	case sdk.Int:
		return 2, table(num(c.Bits), num(1)), map[int]string{8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}[c.Bits]
	case sdk.Uint:
		return 2, table(num(c.Bits), num(0)), map[int]string{8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}[c.Bits]
	case sdk.Float:
		return 3, table(num(c.Bits / 32)), map[int]string{32: "FLOAT", 64: "DOUBLE"}[c.Bits]
	case sdk.Decimal:
		return 7, table(num(c.Precision), num(c.Scale), num(128)), fmt.Sprintf("DECIMAL(%d,%d)", c.Precision, c.Scale)
	case sdk.Text:
		return 5, table(), "VARCHAR"
	case sdk.Binary:
		return 4, table(), "BLOB"
	case sdk.Date:
		return 8, table(num(0)), "DATE"
	case sdk.Time:
		return 9, table(num(c.Digits/3), num(64)), "TIME"
	case sdk.Timestamp:
		if c.Zone != "" {
			return 10, table(num(c.Digits/3), ref(text(c.Zone))), "TIMESTAMP WITH TIME ZONE"
		}
		return 10, table(num(c.Digits / 3)), "TIMESTAMP"
	}
	panic(fmt.Sprintf("column %s has no kind", c.Name))
}

func recordBatch(columns []sdk.Field, rows [][]any) []byte {
	var body []byte
	var nodes, buffers [][2]int
	put := func(data []byte) {
		buffers = append(buffers, [2]int{len(body), len(data)})
		body = append(body, data...)
		pad(&body, 8)
	}
	for k, c := range columns {
		valid := make([]byte, (len(rows)+7)/8)
		nulls := 0
		var data []byte
		offsets := make([]byte, 4)
		if c.Kind == sdk.Bool {
			data = make([]byte, len(valid))
		}
		for i, row := range rows {
			if row[k] != nil {
				valid[i/8] |= 1 << (i % 8)
			} else {
				nulls++
			}
			if on, is := row[k].(bool); c.Kind == sdk.Bool && is && on {
				data[i/8] |= 1 << (i % 8)
			} else if c.Kind != sdk.Bool {
				data = appendValue(data, c, row[k])
			}
			offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(data)))
		}
		nodes = append(nodes, [2]int{len(rows), nulls})
		put(valid)
		if c.Kind == sdk.Text || c.Kind == sdk.Binary {
			put(offsets)
		}
		put(data)
	}
	return encapsulate(3, table(num(len(rows)), ref(pairs(nodes)), ref(pairs(buffers))), body)
}

// appendValue appends a value of any kind but Bool.
func appendValue(data []byte, c sdk.Field, v any) []byte {
	number := func(n uint64, bits int) []byte {
		return append(data, binary.LittleEndian.AppendUint64(nil, n)[:bits/8]...)
	}
	moment, _ := v.(time.Time)
	switch v := v.(type) {
	case nil:
		switch c.Kind {
		case sdk.Text, sdk.Binary:
			return data
		case sdk.Decimal:
			return append(data, make([]byte, 16)...)
		case sdk.Int, sdk.Uint, sdk.Float:
			return number(0, c.Bits)
		}
	case int:
		return number(uint64(v), c.Bits)
	case uint64:
		return number(v, c.Bits)
	case float64:
		if c.Bits == 32 {
			return number(uint64(math.Float32bits(float32(v))), 32)
		}
		return number(math.Float64bits(v), 64)
	case []byte:
		return append(data, v...)
	case string:
		if c.Kind == sdk.Decimal {
			return appendDecimal(data, v, c)
		}
		return append(data, v...)
	}
	switch c.Kind {
	case sdk.Date:
		return number(uint64(moment.Unix()/86400), 32)
	case sdk.Time:
		return number(uint64(moment.Sub(moment.Truncate(24*time.Hour)))/uint64(math.Pow10(9-c.Digits)), 64)
	case sdk.Timestamp:
		unit := int64(math.Pow10(c.Digits))
		return number(uint64(moment.Unix()*unit+int64(moment.Nanosecond())*unit/1e9), 64)
	}
	panic(fmt.Sprintf("column %s cannot hold %v", c.Name, v))
}

func appendDecimal(data []byte, v string, c sdk.Field) []byte {
	whole, part, _ := strings.Cut(v, ".")
	n, ok := new(big.Int).SetString(whole+part+strings.Repeat("0", max(0, c.Scale-len(part))), 10)
	if !ok || len(part) > c.Scale {
		panic(fmt.Sprintf("column %s cannot hold %q", c.Name, v))
	}
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	var bytes [16]byte
	n.FillBytes(bytes[:])
	for i := range bytes {
		data = append(data, bytes[15-i])
	}
	return data
}
