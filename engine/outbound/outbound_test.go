package outbound_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ubunye-io/ubunye/engine/outbound"
)

func client(t *testing.T, secrets map[string]string, entries ...string) *outbound.Client {
	t.Helper()
	list, err := outbound.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	c := outbound.New(list, secrets)
	t.Cleanup(c.Close)
	return c
}

func TestRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Idempotency-Key")+" "+string(body))
	}))
	defer server.Close()
	c := client(t, map[string]string{"TOKEN": "s3cr3t"}, server.URL)
	a, err := c.Do(context.Background(), outbound.Request{Method: "POST", URL: server.URL + "/in?x=1", Body: []byte("rows"),
		Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "Idempotency-Key": "k1"}})
	if err != nil || a.Status != 201 || string(a.Body) != "POST /in?x=1 Bearer *** k1 rows" || a.Headers["x-two"] != "a, b" || a.Truncated {
		t.Errorf("%+v %q, %v", a, a.Body, err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, outbound.MaxAnswer+5))
	}))
	defer server.Close()
	a, err := client(t, nil, server.URL).Do(context.Background(), outbound.Request{Method: "GET", URL: server.URL})
	if err != nil || len(a.Body) != outbound.MaxAnswer || !a.Truncated {
		t.Errorf("%d bytes, truncated %v, %v", len(a.Body), a.Truncated, err)
	}
}

// A redirect is an answer: nothing is sent to where it points, which may be anywhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	a, err := client(t, nil, server.URL, other.URL).Do(context.Background(), outbound.Request{Method: "POST", URL: server.URL, Body: []byte("x")})
	if err != nil || a.Status != 307 || a.Headers["location"] != other.URL || asked.Load() != 0 {
		t.Errorf("%+v, %v; the other host was asked %d times", a, err, asked.Load())
	}
}

// What was sent and not answered is not sent again, though it has an Idempotency-Key, and is told apart from what was not sent.
func TestNothingIsSentTwice(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			return // the connection is kept
		}
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.Close()
	}))
	c := client(t, nil, server.URL)
	req := outbound.Request{Method: "POST", URL: server.URL, Body: []byte("x"), Headers: map[string]string{"Idempotency-Key": "k"}}
	if _, err := c.Do(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	var e *outbound.Error
	if _, err := c.Do(context.Background(), req); !errors.As(err, &e) || !e.Sent || e.Refused || asked.Load() != 2 {
		t.Errorf("%+v, asked %d times", err, asked.Load())
	}
	server.Close()
	if _, err := c.Do(context.Background(), req); !errors.As(err, &e) || e.Sent || e.Refused {
		t.Errorf("a server that is gone: %+v", err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for name, c := range map[string]struct {
		list    []string
		request outbound.Request
		says    string
	}{
		"another host":         {[]string{"api.example.com"}, outbound.Request{Method: "GET", URL: server.URL}, "is not listed"},
		"another port":         {[]string{"http://127.0.0.1:1"}, outbound.Request{Method: "GET", URL: server.URL}, "is not listed"},
		"without encryption":   {[]string{"127.0.0.1" + port}, outbound.Request{Method: "GET", URL: server.URL}, "is not listed"},
		"nothing listed":       {nil, outbound.Request{Method: "GET", URL: server.URL}, "is not listed"},
		"a file":               {[]string{server.URL}, outbound.Request{Method: "GET", URL: "file:///etc/passwd"}, "neither by https nor by http"},
		"a user":               {[]string{server.URL}, outbound.Request{Method: "GET", URL: "http://u:p@127.0.0.1" + port}, "no user"},
		"a name for localhost": {[]string{"http://localhost.localdomain:80", "http://ip6-localhost" + port}, outbound.Request{Method: "GET", URL: "http://ip6-localhost" + port}, ""},
		"the host's name":      {[]string{server.URL}, outbound.Request{Method: "GET", URL: server.URL, Headers: map[string]string{"Host": "x"}}, "no header field"},
		"a length":             {[]string{server.URL}, outbound.Request{Method: "GET", URL: server.URL, Headers: map[string]string{"content-Length": "1"}}, "no header field"},
		"a line break":         {[]string{server.URL}, outbound.Request{Method: "GET", URL: server.URL, Headers: map[string]string{"A": "b\r\nC: d"}}, "line break"},
		"a secret":             {[]string{server.URL}, outbound.Request{Method: "GET", URL: server.URL, Headers: map[string]string{"A": "${HOME}"}}, "not listed as a secret"},
		"a method":             {[]string{server.URL}, outbound.Request{Method: "GET /x", URL: server.URL}, "no method"},
		"a tunnel":             {[]string{server.URL}, outbound.Request{Method: "CONNECT", URL: server.URL}, "no method"},
	} {
		_, err := client(t, nil, c.list...).Do(context.Background(), c.request)
		var e *outbound.Error
		if !errors.As(err, &e) || e.Sent || c.says != "" && !e.Refused || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %+v", name, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests were sent", asked.Load())
	}
}
