// Package fetch gets a plugin's module from where it is published: a file, an address that begins with https://, or an
// artifact of an OCI registry, oci://HOST/REPOSITORY:TAG or …@DIGEST. It decides nothing about the module; what it may have to be
// signed by is checked here, against Ed25519 public keys (RFC 8032).
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// MaxModule is the most bytes of a module.
const MaxModule = 64 << 20

// maxSignature is the most bytes of a signature's file.
const maxSignature = 4 << 10

// SignatureSuffix ends the name of the file beside a module that holds its signature: the 64 bytes of Ed25519 over the
// whole module, or those in base64.
const SignatureSuffix = ".sig"

// Error says why a module could not be had.
type Error struct {
	Source  string
	Message string // one line
	Hint    string // what to do, if known
	Err     error  // what lies below, if something does
}

// Error gives the error as one line.
func (e *Error) Error() string { return e.Source + ": " + e.Message }

// Unwrap gives what lies below.
func (e *Error) Unwrap() error { return e.Err }

// Module is what was fetched.
type Module struct {
	Contents  []byte
	Signature []byte // as it was published; nil: it has none
	Resolved  string // the source by content, where there is such a name: oci://HOST/REPOSITORY@DIGEST; else the source
}

// Fetcher gets modules. The zero value is ready to be used.
type Fetcher struct {
	Client *http.Client // nil: one that gives up after five minutes
}

// Remote tells whether a source is not a file.
func Remote(source string) bool { return strings.Contains(source, "://") }

// Fetch gets the module that is published at a source. Errors but those of the context are of type *Error.
func (f Fetcher) Fetch(ctx context.Context, source string) (m Module, err error) {
	scheme, _, remote := strings.Cut(source, "://")
	switch {
	case !remote:
		m, err = fromFile(source)
	case scheme == "https":
		m, err = f.fromWeb(ctx, source)
	case scheme == "oci":
		m, err = f.fromRegistry(ctx, source)
	case scheme == "http":
		err = &Error{Message: "whoever is on the way could send another module", Hint: "publish it at an https:// address, or in a registry"}
	default:
		err = &Error{Message: scheme + ":// is no kind of source", Hint: "a source is a file, an https:// address or an oci:// reference"}
	}
	if m.Resolved == "" {
		m.Resolved = source
	}
	if err == nil && len(m.Contents) == 0 {
		err = &Error{Message: "it is empty"}
	}
	return m, placed(ctx, source, err)
}

// placed says of an error which source it is about.
func placed(ctx context.Context, source string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Message: strings.Join(strings.Fields(err.Error()), " "), Err: err}
	}
	e.Source = source
	return e
}

func fromFile(path string) (m Module, err error) {
	if m.Contents, err = readFile(path, MaxModule); err != nil {
		return m, err
	}
	m.Signature, err = readFile(path+SignatureSuffix, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return m, err
}

func readFile(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			return nil, &Error{Message: "it cannot be read: " + p.Err.Error(), Err: err}
		}
		return nil, err
	}
	defer file.Close()
	return readAll(file, most)
}

// readAll reads what has at most so many bytes.
func readAll(from io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(data)) > most {
		err = &Error{Message: fmt.Sprintf("it has more than %d bytes", most)}
	}
	return data, err
}

// client is one that never leaves https.
func (f Fetcher) client() *http.Client {
	c := http.Client{Timeout: 5 * time.Minute}
	if f.Client != nil {
		c = *f.Client
	}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Scheme != "https" {
			return &Error{Message: "it leads on to " + req.URL.Scheme + "://" + req.URL.Host + ", where whoever is on the way could send another module"}
		}
		if len(via) == 10 {
			return &Error{Message: "it leads on more than 10 times"}
		}
		return nil
	}
	return &c
}

func (f Fetcher) fromWeb(ctx context.Context, source string) (m Module, err error) {
	at, err := url.Parse(source)
	if err != nil || at.Host == "" {
		return m, &Error{Message: "it is no address"}
	}
	if m.Contents, _, err = f.get(ctx, at.String(), MaxModule); err != nil {
		return m, err
	}
	at.Path, at.RawPath = at.Path+SignatureSuffix, ""
	signature, found, err := f.get(ctx, at.String(), maxSignature)
	if !found {
		return m, nil
	}
	m.Signature = signature
	return m, err
}

// get reads what is at an address. found is false, with an error, if the server says that nothing is there.
func (f Fetcher) get(ctx context.Context, address string, most int64) (data []byte, found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, true, err
	}
	answer, err := f.client().Do(req)
	if err != nil {
		var inner *url.Error // its text has the address, which the message begins with
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, true, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		gone := answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone
		return nil, !gone, &Error{Message: "the server answered " + answer.Status}
	}
	data, err = readAll(answer.Body, most)
	return data, true, err
}

// local is a client for this machine itself.
func (f Fetcher) local() *http.Client {
	if f.Client != nil {
		return f.Client
	}
	return &http.Client{Timeout: 5 * time.Minute}
}
