package jsontext

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// Whatever a text is, both ways agree on it: what is no JSON is an error of both, and a text survives.
func FuzzText(f *testing.F) {
	for _, s := range []string{``, `"a"`, `"\u00e9\ud834\udd1e\/\b\f\n\r\t\"\\"`, `"\ud834"`, `"\ud834x"`, `"\ud834\ud834\udd1e"`, `"\udd1e\ud834"`, `"\u12"`, `"\x"`, `"`, `"\`, "\"\n\"",
		`null`, `nul`, ` "a" `, `"a" x`, "\"\xff\"", `"a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		err := Decode([]byte(s), func(d *Decoder) { got = d.Text() })
		var want string
		wantErr := json.Unmarshal([]byte(s), &want)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, encoding/json: %v", s, err, wantErr)
		}
		if err == nil && strings.ToValidUTF8(got, "\ufffd") != strings.ToValidUTF8(want, "\ufffd") && !strings.Contains(want, "\ufffd") {
			t.Fatalf("%q: %q, encoding/json: %q", s, got, want)
		}
		data := Encode(func(e *Encoder) { e.Text(s) })
		var again string
		if err := json.Unmarshal(data, &again); err != nil || again != strings.ToValidUTF8(s, "\ufffd") && again != string([]rune(s)) {
			t.Fatalf("%q was written as %s: %q, %v", s, data, again, err)
		}
	})
}

// Any bytes are passed over whole, or are a mistake for encoding/json too.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":[1,{"b":null}],"c":true}`, `[1,]`, `{,}`, `{"a"}`, `{"a":}`, `[`, `{"a":1`, `1`, `-1.5e+3`, `tru`, strings.Repeat("[", 200), ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Decode(data, func(d *Decoder) { d.Raw() })
		if json.Valid(data) && err != nil && err != exactjson.ErrDeep {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                          "the JSON ends early",
		`{"n":1} x`:                  "something follows the end at byte 8",
		`{"n":1.5}`:                  "not an integer of 32 bits: 1.5 at byte 8",
		`{"n":99999999999}`:          "not an integer of 32 bits: 99999999999 at byte 16",
		`{"n":"1"}`:                  "the JSON has no number at byte 5",
		`{"m":[1}`:                   "the JSON has no comma at byte 7",
		strings.Repeat(`{"m":`, 600): "the JSON is nested too deeply",
	} {
		var n int64
		err := Decode([]byte(text), func(d *Decoder) {
			d.Object(func(name string) {
				if name == "n" {
					n = d.Long(32)
				} else {
					d.Raw()
				}
			})
		})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, %d; want %s", text, err, n, want)
		}
	}
}

// Bytes survive, as encoding/json writes them.
func FuzzBlob(f *testing.F) {
	for _, s := range []string{"", "a", "ab", "abc", "abcd", "\x00\xff\xfe\xfb\xf0\x3e\x3f"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		written := Encode(func(e *Encoder) { e.Blob(data) })
		if string(written) != string(want) {
			t.Fatalf("%q: wrote %s, want %s", data, written, want)
		}
		var got []byte
		if err := Decode(written, func(d *Decoder) { got = d.Blob() }); err != nil || string(got) != string(data) || (got == nil) != (data == nil) {
			t.Fatalf("%s: read %q, %v", written, got, err)
		}
	})
}

// What encoding/json takes for bytes is taken, and nothing else.
func FuzzBlobText(f *testing.F) {
	for _, s := range []string{`""`, `"YQ=="`, `"YQ="`, `"YQ"`, `"Y==="`, `"===="`, `"YQ==YQ=="`, `"Y=Q="`, `"YW\n="`, `null`, `1`, `"`, `"YR=="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "[\\ \t\r\n") {
			return // encoding/json passes over line ends in base64 and takes a list of numbers, and nobody writes them
		}
		var got, want []byte
		err := Decode([]byte(s), func(d *Decoder) { got = d.Blob() })
		wrong := json.Unmarshal([]byte(s), &want)
		if (err == nil) != (wrong == nil) || err == nil && string(got) != string(want) {
			t.Fatalf("%s: %q, %v, and not %q, %v", s, got, err, want, wrong)
		}
	})
}
