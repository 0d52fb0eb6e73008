package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// fill gives every field below v a value that says something, and another one each time.
func fill(t *testing.T, v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[abi.JSON]() {
		v.SetBytes(fmt.Appendf(nil, `"%d: ä"`, *n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("\"%d\"\\\n\x01 é€𝄞 </>&\u2028", *n))
	case reflect.Uint8:
		v.SetUint(uint64(*n * 41 % 256))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n) << (v.Type().Bits() - 20) * -1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, n)
			fill(t, value, n)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("a field of kind %s: teach this test", v.Kind())
	}
}

// decodes holds a decoder against encoding/json, for a message with every field and for one with none.
func decodes[M any](read func(*jsontext.Decoder) M) func(*testing.T) {
	return func(t *testing.T) {
		var full, empty M
		n := 0
		fill(t, reflect.ValueOf(&full).Elem(), &n)
		for _, want := range []M{full, empty} {
			data, err := json.MarshalIndent(want, "\t", " ")
			if err != nil {
				t.Fatal(err)
			}
			data = append([]byte(`{"unknown": [{"a": "b\"]}"}, -1.5e3, true, null, [[]]], `), data[1:]...)
			var got M
			if err := jsontext.Decode(data, func(d *jsontext.Decoder) { got = read(d) }); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s\nbecame %+v (%v)", data, got, err)
			}
		}
	}
}

// encodes holds an encoder against encoding/json.
func encodes[M any](write func(M) func(*jsontext.Encoder)) func(*testing.T) {
	return func(t *testing.T) {
		var full, empty M
		n := 0
		fill(t, reflect.ValueOf(&full).Elem(), &n)
		for _, m := range []M{full, empty} {
			var want bytes.Buffer
			plain := json.NewEncoder(&want)
			plain.SetEscapeHTML(false)
			if err := plain.Encode(m); err != nil {
				t.Fatal(err)
			}
			var said, meant any
			data := jsontext.Encode(write(m))
			if err := json.Unmarshal(data, &said); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if err := json.Unmarshal(want.Bytes(), &meant); err != nil || !reflect.DeepEqual(said, meant) {
				t.Errorf("got  %s\nwant %s (%v)", data, want.Bytes(), err)
			}
		}
	}
}

// A field that is added to a message and not here is a failure of these tests.
func TestMessagesAreThoseOfTheTags(t *testing.T) {
	t.Run("PlanRequest", decodes(decodePlanRequest))
	t.Run("StageRequest", decodes(decodeStageRequest))
	t.Run("SchemaAnswer", decodes(decodeSchemaAnswer))
	t.Run("CountAnswer", decodes(decodeCountAnswer))
	t.Run("EncodeAnswer", decodes(decodeEncodeAnswer))
	t.Run("DeriveAnswer", decodes(decodeDeriveAnswer))
	t.Run("RowsAnswer", decodes(decodeRowsAnswer))
	t.Run("FileCreateAnswer", decodes(decodeFileCreateAnswer))
	t.Run("FileCloseAnswer", decodes(decodeFileCloseAnswer))
	t.Run("CommitRequest", decodes(decodeCommitRequest))
	t.Run("ResolveRequest", decodes(decodeResolveRequest))
	t.Run("GetAnswer", decodes(decodeGetAnswer))
	t.Run("ListAnswer", decodes(decodeListAnswer))
	t.Run("ReadRowsAnswer", decodes(decodeReadRowsAnswer))
	t.Run("PutAnswer", decodes(decodePutAnswer))
	t.Run("RowsCreateAnswer", decodes(decodeRowsCreateAnswer))
	t.Run("Failure read", decodes(decodeFailure))
	t.Run("DescribeAnswer", encodes(encodeDescribeAnswer))
	t.Run("PlanAnswer", encodes(encodePlanAnswer))
	t.Run("StageAnswer", encodes(encodeStageAnswer))
	t.Run("CommitAnswer", encodes(encodeCommitAnswer))
	t.Run("ResolveAnswer", encodes(encodeResolveAnswer))
	t.Run("GetRequest", encodes(encodeGetRequest))
	t.Run("ListRequest", encodes(encodeListRequest))
	t.Run("ReadRowsRequest", encodes(encodeReadRowsRequest))
	t.Run("PutNewRequest", encodes(encodePutNewRequest))
	t.Run("PutRequest", encodes(encodePutRequest))
	t.Run("RowsCreateRequest", encodes(encodeRowsCreateRequest))
	t.Run("RowsCloseRequest", encodes(encodeRowsCloseRequest))
	t.Run("Failure", encodes(encodeFailure))
	t.Run("SchemaRequest", encodes(encodeSchemaRequest))
	t.Run("CountRequest", encodes(encodeCountRequest))
	t.Run("EncodeRequest", encodes(encodeEncodeRequest))
	t.Run("DeriveRequest", encodes(encodeDeriveRequest))
	t.Run("RowsRequest", encodes(encodeRowsRequest))
	t.Run("FileCreateRequest", encodes(encodeFileCreateRequest))
	t.Run("FileCloseRequest", encodes(encodeFileCloseRequest))
}
