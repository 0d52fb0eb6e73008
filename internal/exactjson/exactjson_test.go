package exactjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var texts = []string{`{}`, `[]`, `{"a":[1,{"b":null}],"c":true}`, `[1,]`, `{,}`, `{"a"}`, `{"a":}`, `[`, `{"a":1`, `1`, `-1.5e+3`, `-`, `01`, `1.`, `1e`, `tru`, ``, ` 1 `, `1 2`,
	`"a"`, `"\u00e9\ud834\udd1e\/\b\f\n\r\t\"\\"`, `"\ud834"`, `"\ud834x"`, `"\ud834\ud834\udd1e"`, `"\udd1e\ud834"`, `"\u12"`, `"\u+123"`, `"\x"`, `"`, `"\`, "\"\n\"", "\"\xff\"",
	`null`, `nul`, `"a" x`, strings.Repeat("[", 600), `{"a":1,"a":2}`, "[1\v]", `{"\u0061":{"é":"\u0000"}}`}

// Any bytes are read whole, and then they are JSON for encoding/json too, or are a mistake for both.
func FuzzRaw(f *testing.F) {
	for _, s := range texts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(data)
		raw := r.Raw()
		err := r.End()
		if valid := json.Valid(data); valid != (err == nil) && err != ErrDeep {
			t.Fatalf("%q: %v", data, err)
		}
		if err == nil && !bytes.Equal(raw, bytes.Trim(data, " \t\r\n")) {
			t.Fatalf("%q: %q", data, raw)
		}
	})
}

// A text is read as encoding/json reads it, and is the same after it was written.
func FuzzText(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := NewReader([]byte(s))
		got := r.Text()
		err := r.End()
		var want string
		wantErr := json.Unmarshal([]byte(s), &want)
		if (err == nil) != (wantErr == nil) || err == nil && utf8.ValidString(s) && got != want {
			t.Fatalf("%q: %q, %v; encoding/json: %q, %v", s, got, err, want, wantErr)
		}
		w := &Writer{}
		w.Text(s)
		var again string
		if err := json.Unmarshal(w.Bytes(), &again); err != nil || again != string([]rune(s)) {
			t.Fatalf("%q was written as %s: %q, %v", s, w.Bytes(), again, err)
		}
		if back := NewReader(w.Bytes()).Text(); back != again {
			t.Fatalf("%q was written as %s and read as %q", s, w.Bytes(), back)
		}
	})
}

func TestLong(t *testing.T) {
	for text, want := range map[string]int64{"9007199254740993": 9007199254740993, "-9223372036854775808": -1 << 63, "9223372036854775807": 1<<63 - 1, "null": 0, " 7 ": 7, "-0": 0} {
		r := NewReader([]byte(text))
		if got := r.Long(64); got != want || r.End() != nil {
			t.Errorf("%s: %d, %v", text, got, r.End())
		}
	}
	for _, text := range []string{"9223372036854775808", "1.0", "1e3", `"1"`, "01", "+1", "true", "{}", ""} {
		r := NewReader([]byte(text))
		if got := r.Long(64); r.End() == nil || got != 0 {
			t.Errorf("%s: %d is taken", text, got)
		}
	}
	r := NewReader([]byte("2147483648"))
	if r.Long(32); r.End() == nil {
		t.Error("33 bits are taken for 32")
	}
}

func TestWriter(t *testing.T) {
	w := &Writer{}
	for range 2 {
		w.Object(func() {
			w.Name("a").Long(-5)
			w.Name("b").Array(func() {
				w.Bool(true)
				w.Null()
				w.Text("x\ty\u2028")
				w.Object(func() {})
				w.Raw([]byte("1.50"))
			})
			w.Name("c").Object(func() { w.Name("d").Array(func() {}) })
		})
		w.Line()
	}
	want := `{"a":-5,"b":[true,null,"x\ty` + "\u2028" + `",{},1.50],"c":{"d":[]}}` + "\n"
	if got := string(w.Bytes()); got != want+want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBool(t *testing.T) {
	for text, want := range map[string]bool{"true": true, " false ": false, "null": false} {
		r := NewReader([]byte(text))
		if got := r.Bool(); got != want || r.End() != nil {
			t.Errorf("%s: %v, %v", text, got, r.End())
		}
	}
	for _, text := range []string{"1", `"true"`, "tru", "True", "", "nul"} {
		r := NewReader([]byte(text))
		if got := r.Bool(); got || r.Err() == nil {
			t.Errorf("%q: %v, %v", text, got, r.Err())
		}
	}
}

// The first mistake is the one that is told, and what comes after it is not read.
func TestAfterAMistake(t *testing.T) {
	r := NewReader([]byte(`{"a":1,"b":x,"c":3}`))
	seen := ""
	r.Object(func(name []byte) {
		seen += string(name)
		r.Long(64)
	})
	r.Fail("another")
	if want := "the JSON has no number at byte 11"; seen != "ab" || r.End() == nil || r.End().Error() != want {
		t.Errorf("%q: %v", seen, r.End())
	}
	if r.Text() != "" || r.Bool() || r.Raw() != nil || r.Null() {
		t.Error("something is read after a mistake")
	}
}

// What ends with a line end inside a line gets its comma.
func TestCommasAfterLineEnds(t *testing.T) {
	var w Writer
	w.Array(func() { w.Raw([]byte("1\n")); w.Long(2) })
	w.Line()
	w.Long(3)
	if got := string(w.Bytes()); got != "[1\n,2]\n3" {
		t.Errorf("%q", got)
	}
}
