package duckdb

/*
#include <stdlib.h>
void ubunyeUsual(void *info, void *input, void *output);
typedef void (*ubunye_usual_t)(void *, void *, void *);
*/
import "C"

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// DuckDB's casts of text lose digits without a word, and to prove by SQL that one did not costs as much as half of
// reading the file. So the usual texts are converted by functions of this package. They are called with whole vectors
// and write the values where DuckDB has them: the functions of duckdb-go's own interface get and give single values,
// which takes longer than the SQL.

// quicken has usual texts converted by a function, if there is one for the type.
func (s *session) quicken(ctx context.Context, f *fit) error {
	if !f.usual {
		return nil
	}
	name, err := s.usualFunction(ctx, f.typ)
	if name != "" {
		f.quick = quote(name) + "(" + f.column + ")"
	}
	return err
}

// usualFunction makes the SQL function that converts text to a type, and gives its name. It gives NULL for a text
// that it does not know. An empty name: there is none for this type.
func (s *session) usualFunction(ctx context.Context, typ string) (string, error) {
	if name, made := s.usual[typ]; made {
		return name, nil
	}
	e, ok := usualFor(typ)
	if !ok {
		return "", nil
	}
	name := "usual text as " + typ
	err := s.conn.Raw(func(conn any) error { return register(conn, name, e) })
	if c := cancelled(ctx); c != nil {
		return "", c
	}
	if err != nil {
		return "", failed("preparing to read text failed", err)
	}
	s.usual[typ] = name
	return name, nil
}

// register makes the function on a connection of duckdb-go. That has no way to give the handle of a connection, so
// it is read out of it; a test notices if an upgrade moves it.
func register(conn any, name string, e usualText) error {
	handle := reflect.ValueOf(conn).Elem().FieldByName("conn")
	if !handle.IsValid() || handle.Type() != reflect.TypeFor[mapping.Connection]() {
		return fmt.Errorf("duckdb-go keeps its connection elsewhere")
	}
	function := mapping.CreateScalarFunction()
	defer mapping.DestroyScalarFunction(&function)
	mapping.ScalarFunctionSetName(function, name)
	text, result := mapping.CreateLogicalType(mapping.TypeVarchar), e.logicalType()
	defer mapping.DestroyLogicalType(&text)
	defer mapping.DestroyLogicalType(&result)
	mapping.ScalarFunctionAddParameter(function, text)
	mapping.ScalarFunctionSetReturnType(function, result)
	extra := C.malloc(C.size_t(unsafe.Sizeof(e))) // DuckDB frees it with the function
	*(*usualText)(extra) = e
	mapping.ScalarFunctionSetExtraInfo(function, extra, unsafe.Pointer(C.free))
	mapping.ScalarFunctionSetFunction(function, unsafe.Pointer(C.ubunye_usual_t(C.ubunyeUsual)))
	connection := mapping.Connection{Ptr: handle.FieldByName("Ptr").UnsafePointer()}
	if mapping.RegisterScalarFunction(connection, function) == mapping.StateError {
		return fmt.Errorf("DuckDB refuses the function %q", name)
	}
	return nil
}

// logicalType is the type of the values. It is to be destroyed.
func (e usualText) logicalType() mapping.LogicalType {
	if e.typ == mapping.TypeDecimal {
		return mapping.CreateDecimalType(uint8(e.width), uint8(e.scale))
	}
	return mapping.CreateLogicalType(e.typ)
}

// texts is a vector of VARCHAR as DuckDB keeps it (duckdb.h, duckdb_string_t): 16 bytes a row.
type texts struct {
	data  unsafe.Pointer
	valid unsafe.Pointer // a bit a row; nil: no NULL
}

// at gives the text of a row; false: it is NULL.
func (t texts) at(row int) ([]byte, bool) {
	if t.valid != nil && *(*uint64)(unsafe.Add(t.valid, row/64*8))>>(row%64)&1 == 0 {
		return nil, false
	}
	const inlined = 12 // as many bytes stand in the vector itself
	entry := unsafe.Add(t.data, row*16)
	size := *(*uint32)(entry)
	if size <= inlined {
		return unsafe.Slice((*byte)(unsafe.Add(entry, 4)), size), true
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(entry, 8)), size), true
}

// ubunyeUsual converts one vector. DuckDB calls it from any of its threads.
//
//export ubunyeUsual
func ubunyeUsual(info, input, output unsafe.Pointer) {
	e := (*usualText)(mapping.ScalarFunctionGetExtraInfo(mapping.FunctionInfo{Ptr: info}))
	chunk, out := mapping.DataChunk{Ptr: input}, mapping.Vector{Ptr: output}
	in := mapping.DataChunkGetVector(chunk, 0)
	from := texts{data: mapping.VectorGetData(in), valid: mapping.VectorGetValidity(in)}
	rows, to := int(mapping.DataChunkGetSize(chunk)), mapping.VectorGetData(out)
	switch e.size {
	case 1:
		convertAll(e, from, unsafe.Slice((*int8)(to), rows), out)
	case 2:
		convertAll(e, from, unsafe.Slice((*int16)(to), rows), out)
	case 4:
		convertAll(e, from, unsafe.Slice((*int32)(to), rows), out)
	case 8:
		convertAll(e, from, unsafe.Slice((*int64)(to), rows), out)
	}
}

// convertAll converts each row. The bits of an unsigned value are those of the signed one.
func convertAll[T int8 | int16 | int32 | int64](e *usualText, from texts, to []T, out mapping.Vector) {
	var valid []uint64 // made for the first NULL
	for row := range to {
		text, ok := from.at(row)
		if ok {
			var v int64
			v, ok = e.convert(text)
			to[row] = T(v)
		}
		if ok {
			continue
		}
		if valid == nil {
			mapping.VectorEnsureValidityWritable(out)
			valid = unsafe.Slice((*uint64)(mapping.VectorGetValidity(out)), (len(to)+63)/64)
		}
		valid[row/64] &^= 1 << (row % 64)
	}
}
