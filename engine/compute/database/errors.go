package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Stage tells how far the way to the rows went before it failed.
type Stage string

// The stages, in their order.
const (
	StageHost     Stage = "host"     // its name is not known
	StagePort     Stage = "port"     // nobody answers there
	StageTLS      Stage = "tls"      // no protected connection
	StageLogin    Stage = "login"    // user or password
	StageDatabase Stage = "database" // there is none of that name
	StageRight    Stage = "right"    // the user may not
	StageTable    Stage = "table"    // there is no such table or column
	StageQuery    Stage = "query"    // the database does not take the SQL, or fails at it
	StageLost     Stage = "lost"     // the connection ended
	StageFile     Stage = "file"     // a file of this machine cannot be used
)

// Error says what of a connection fails. It shows no secret, and holds no error of a driver, which might.
type Error struct {
	Connection string
	Stage      Stage
	Message    string
	Hint       string
	State      string // SQLSTATE or number that the server gave; empty: it gave none
}

// Error gives the message.
func (e *Error) Error() string { return "connection " + e.Connection + ": " + e.Message }

// fault is what a dialect makes of an error of its driver.
type fault struct {
	stage   Stage // empty: it is no word of the server
	message string
	state   string
	hint    string
}

// fileError is about a file of this machine.
type fileError struct {
	message string
	err     error
}

func (e *fileError) Error() string {
	if e.err == nil {
		return e.message
	}
	return e.message + ": " + e.err.Error()
}

// connectError says what of reaching a host failed.
func (d *Database) connectError(err error, h Host) error {
	var file *fileError
	if errors.As(err, &file) {
		return d.failed(StageFile, file.Error(), "")
	}
	if f := d.dialect.explain(err); f.stage != "" {
		return d.told(f)
	}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return d.failed(StageHost, "there is no host "+h.Name, "look at the name in its url, and at the name server of this machine")
	case errors.Is(err, syscall.ECONNREFUSED):
		return d.failed(StagePort, "nobody listens at "+h.String(), "start the server, or give its port in the url")
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(x509.HostnameError)), errors.As(err, new(tls.RecordHeaderError)), errors.As(err, new(tls.AlertError)):
		return d.failed(StageTLS, fmt.Sprintf("%s has no connection by TLS that %s takes: %s", h, d.Address.TLS.Mode, d.line(err)), "name the certificate that signed the server's, as sslrootcert=FILE in the url; or ask for less")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return d.failed(StagePort, h.String()+" does not answer", "look whether a firewall is in between; the url may have a longer time to wait")
	case d.Address.TLS.Mode != TLSNever && d.Address.TLS.Mode != TLSPreferred && d.Address.TLS.Mode != "":
		return d.failed(StageTLS, fmt.Sprintf("%s gives no connection by TLS, and %s asks for one: %s", h, d.Address.TLS.Mode, d.line(err)), "have the server offer TLS, or ask for less in the url")
	}
	return d.failed(StagePort, h.String()+" answers in no way that a server of "+string(d.Address.Dialect)+" does: "+d.line(err), "look at the host and port in its url")
}

// queryError says what of a query failed.
func (d *Database) queryError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.As(err, new(*compute.Error)) || errors.As(err, new(*Error)) {
		return err
	}
	if f := d.dialect.explain(err); f.stage != "" {
		return d.told(f)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, new(*net.OpError)) || errors.Is(err, net.ErrClosed) {
		return d.failed(StageLost, "the connection ended while rows were read: "+d.line(err), "run it again; nothing was kept of them")
	}
	return d.failed(StageQuery, d.line(err), "")
}

func (d *Database) told(f fault) *Error {
	return &Error{Connection: d.Name, Stage: f.stage, Message: d.Password.scrub(f.message), Hint: f.hint, State: f.state}
}

func (d *Database) failed(stage Stage, message, hint string) *Error {
	return &Error{Connection: d.Name, Stage: stage, Message: d.Password.scrub(message), Hint: hint}
}

// line is what is at the bottom of an error of others, as one line without secrets.
func (d *Database) line(err error) string {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				err = all[len(all)-1]
				continue
			}
		}
		break
	}
	return d.Password.scrub(strings.Join(strings.Fields(err.Error()), " "))
}
