// Package outbound makes HTTP requests for programs that are not trusted: to listed hosts only, within a time, without following
// redirects, and never to an address of this machine or its networks unless that was listed too. It knows nothing of who asks.
package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds of one request.
const (
	Timeout   = 60 * time.Second // from looking the name up to the last byte of the answer
	MaxAnswer = 1 << 20          // bytes of an answer's body that are given
	maxHeader = 64 << 10         // bytes of an answer's header
	maxFields = 64               // header fields of a request
)

// Client makes requests as a List allows. Its methods may be called by several goroutines.
type Client struct {
	list    List
	secrets map[string]string // by the name that a header's value has in ${}
	client  *http.Client
}

// New returns a Client. The values of secrets go into headers where a value has ${NAME}, and are taken out of every answer and error.
func New(list List, secrets map[string]string) *Client {
	c := &Client{list: list, secrets: secrets}
	transport := &http.Transport{
		Proxy: nil, // a proxy would look the name up itself, where its address cannot be judged
		DialContext: (&net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return list.address(address) // after the name was looked up: what it says now is what is connected to
		}}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout:        10 * time.Second,
	}
	c.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// Close gives back idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Request is what is to be sent.
type Request struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
}

// Answer is what came back. A redirect is an answer like any other.
type Answer struct {
	Status    int
	Headers   map[string]string // by lower-case name; the values of one that came several times are joined by ", "
	Body      []byte
	Truncated bool // the body has more than MaxAnswer bytes
}

// Error says why there is no answer.
type Error struct {
	Message string // one line, without secrets
	Refused bool   // it is not allowed, or makes no sense: nothing was sent
	Sent    bool   // something may have reached the host
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

func refused(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Refused: true}
}

// Do sends a request once. It is never sent again by itself, whatever its method is. Errors are of type *Error.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	none := Answer{}
	u, err := c.list.target(r.URL)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var sent atomic.Bool // the transport's goroutines say so
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { sent.Store(true) }})
	req, err := c.request(ctx, r, u)
	if err != nil {
		return none, err
	}
	response, err := c.client.Do(req)
	if err != nil {
		return none, c.failed(r, u, err, sent.Load())
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	if err != nil {
		return none, c.failed(r, u, err, true)
	}
	a := Answer{Status: response.StatusCode, Headers: map[string]string{}}
	if len(body) > MaxAnswer {
		body, a.Truncated = body[:MaxAnswer], true
	}
	a.Body = []byte(c.redact(string(body)))
	for name, values := range response.Header {
		a.Headers[strings.ToLower(name)] = c.redact(strings.Join(values, ", "))
	}
	return a, nil
}

// failed tells what went wrong, without the request's address, in which an error of net/http has it whole.
func (c *Client) failed(r Request, u *url.URL, err error, sent bool) *Error {
	var e *Error
	if errors.As(err, &e) && !sent { // the address is refused
		return e
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	message := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		message = fmt.Sprintf("there is no answer after %s", Timeout)
	}
	return &Error{Message: c.redact(fmt.Sprintf("%s %s: %s", r.Method, u.Host, message)), Sent: sent}
}

var (
	method    = regexp.MustCompile(`^[A-Z]+$`) // how long they may be is looked at apart: a bound makes a large automaton at each start of the program
	fieldName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	secret    = regexp.MustCompile(`\$\{([^}]*)\}`)
)

// ours are header fields that say where a message ends or who is asked.
var ours = []string{"connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}

func (c *Client) request(ctx context.Context, r Request, u *url.URL) (*http.Request, error) {
	if len(r.Method) > 16 || !method.MatchString(r.Method) || r.Method == http.MethodConnect {
		return nil, refused("%q is no method of a request", r.Method)
	}
	if len(r.Headers) > maxFields {
		return nil, refused("a request has at most %d header fields", maxFields)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, refused("%v", err)
	}
	if len(r.Body) > 0 {
		req.GetBody = nil // net/http would send again what has an Idempotency-Key
	} else {
		req.Body = http.NoBody
	}
	req.Header.Set("User-Agent", "ubunye")
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if len(name) > 128 || !fieldName.MatchString(name) || slices.Contains(ours, strings.ToLower(name)) {
			return nil, refused("%q is no header field that a request may have", name)
		}
		value, err := c.reveal(r.Headers[name])
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, refused("the header field %s has a line break", name)
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

// reveal puts secrets into a header's value.
func (c *Client) reveal(value string) (string, error) {
	var unknown string
	revealed := secret.ReplaceAllStringFunc(value, func(found string) string {
		text, ok := c.secrets[found[2:len(found)-1]]
		if !ok {
			unknown = found
		}
		return text
	})
	if unknown != "" {
		return "", refused("a header has %s, which is not listed as a secret", unknown)
	}
	return revealed, nil
}

// redact takes secrets out of a text.
func (c *Client) redact(text string) string {
	for _, name := range slices.Sorted(maps.Keys(c.secrets)) {
		if value := c.secrets[name]; value != "" {
			text = strings.ReplaceAll(text, value, "***")
		}
	}
	return text
}

// addressOf reads the address of a connection that is about to be made.
func addressOf(address string) (netip.Addr, error) {
	at, err := netip.ParseAddrPort(address)
	return at.Addr().Unmap().WithZone(""), err
}
