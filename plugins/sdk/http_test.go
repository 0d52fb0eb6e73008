package sdk

import (
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
)

func TestHTTP(t *testing.T) {
	w := &wire{answers: map[abi.Operation]string{abi.OpHTTP: `{"status":201,"headers":{"a":"b"},"body":"b2s=","truncated":true,"later":[1]}`}}
	a, err := remote{w}.HTTP(abi.HTTPRequest{Method: "POST", URL: "https://h/x", Headers: map[string]string{"K": "${S}"}, Body: []byte("hi")})
	if err != nil || a.Status != 201 || a.Headers["a"] != "b" || string(a.Body) != "ok" || !a.Truncated {
		t.Errorf("%+v, %v", a, err)
	}
	if want := `http.request {"method":"POST","url":"https://h/x","headers":{"K":"${S}"},"body":"aGk="}`; strings.Join(w.said, "\n") != want {
		t.Errorf("said %q", w.said)
	}
}
