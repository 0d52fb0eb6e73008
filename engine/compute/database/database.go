package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Connection is what is needed to reach a database.
type Connection struct {
	Name        string // that people gave it
	Address     *Address
	User        string // in place of the address's; empty: that one
	Password    Secret // the same
	Application string // what the server shows of the connection
	Dir         string // what relative paths are relative to
}

// Database is one that can be reached by a connection. Nothing is connected before something is asked of it.
type Database struct {
	Connection
	dialect dialect
}

// dialect is what differs between databases.
type dialect interface {
	// connect opens one connection to a host; SQLite has none.
	connect(ctx context.Context, d *Database, h Host) (session, error)
	// explain says what an error of the driver means.
	explain(err error) fault
	// quote makes an identifier of a name.
	quote(name string) string
	// literal makes the value of a type, of a text in DuckDB's spelling.
	literal(text, typ string) string
	// text gives the SQL that makes a text of a column.
	text(column string) string
	// shared opens sessions that see the same rows of the table, as many as it can, up to n; table is empty if it is a query.
	shared(ctx context.Context, d *Database, table string, n int) ([]session, error)
}

// session is one connection.
type session interface {
	// describe gives the columns of a query that has no rows.
	describe(ctx context.Context, query string) ([]column, error)
	// values gives the first row of a query as texts, a NULL as nil.
	values(ctx context.Context, query string) ([]*string, error)
	// read hands the rows of a query to b.
	read(ctx context.Context, query string, b *batcher) error
	close()
}

// New gives the database of a connection. The error is a *URLError: a database that cannot be used.
func New(c Connection) (*Database, error) {
	if c.User == "" {
		c.User = c.Address.User
	}
	if c.Password.empty() {
		c.Password = c.Address.password
	}
	d := &Database{Connection: c}
	switch c.Address.Dialect {
	case PostgreSQL:
		d.dialect = postgres{}
	case MySQL, MariaDB:
		d.dialect = mysqlDialect{}
	case SQLite:
		d.dialect = sqliteDialect{}
	default:
		return nil, &URLError{Message: "SQL Server cannot be read in this version", Hint: "known: jdbc:postgresql: jdbc:mysql: jdbc:mariadb: jdbc:sqlite:"}
	}
	return d, nil
}

// usualWait is how long a host may take to answer.
const usualWait = 10 * time.Second

// connect opens a connection to the first host that answers and may be used.
func (d *Database) connect(ctx context.Context) (session, error) {
	hosts := d.Address.Hosts
	if len(hosts) == 0 {
		hosts = []Host{{}}
	}
	wait := d.Address.Connect
	if wait <= 0 {
		wait = usualWait
	}
	var last error
	for _, h := range hosts {
		s, err := d.dial(ctx, h, wait)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var e *Error
		if last == nil || errors.As(err, &e) && e.Stage != StageHost && e.Stage != StagePort {
			last = err // what a server said tells more than that another one did not answer
		}
	}
	return nil, last
}

func (d *Database) dial(ctx context.Context, h Host, wait time.Duration) (session, error) {
	within, stop := context.WithTimeout(ctx, wait)
	defer stop()
	s, err := d.dialect.connect(within, d, h)
	if err != nil {
		return nil, d.connectError(err, h)
	}
	return s, nil
}

// Test connects, and says what fails if it cannot: the host, its port, TLS, the login, or the database.
func (d *Database) Test(ctx context.Context) error {
	s, err := d.connect(ctx)
	if err != nil {
		return err
	}
	s.close()
	return nil
}

// tlsConfig makes the settings of TLS for a host; nil: none.
func (d *Database) tlsConfig(h Host) (*tls.Config, error) {
	t := d.Address.TLS
	if t.Mode == TLSNever {
		return nil, nil
	}
	config := &tls.Config{ServerName: h.Name, MinVersion: tls.VersionTLS12}
	if t.Root != "" {
		pem, err := os.ReadFile(d.path(t.Root))
		if err != nil {
			return nil, &fileError{"the certificates that are trusted cannot be read", err}
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &fileError{"the file of the certificates that are trusted holds none: " + t.Root, nil}
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(d.path(t.Cert), d.path(t.Key))
		if err != nil {
			return nil, &fileError{"the own certificate cannot be used", err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if t.Mode != TLSVerifyFull {
		config.InsecureSkipVerify = true // as the mode says; verify-ca verifies below
	}
	if t.Mode == TLSVerifyCA {
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, config.RootCAs) }
	}
	return config, nil
}

// verifyChain holds a certificate against those that are trusted, whatever name it has.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// path makes a path absolute.
func (d *Database) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Dir, name)
}

// zone is the time zone of sessions.
func (d *Database) zone() string {
	if d.Address.TimeZone == "" {
		return "UTC"
	}
	return d.Address.TimeZone
}
