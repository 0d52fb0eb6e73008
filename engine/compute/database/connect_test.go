package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/internal/serverstest"
)

// wantStage asserts what of a connection is said to fail, and that no error shows the password.
func wantStage(t *testing.T, what string, err error, want Stage) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s: error is %v, want one at %s", what, err, want)
		return
	}
	if e.Stage != want {
		t.Errorf("%s: it fails at %s, want %s: %v", what, e.Stage, want, err)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err)} {
			if strings.Contains(text, serverstest.Password) || strings.Contains(text, "wr0ng") {
				t.Errorf("%s: the error shows the password: %s", what, text)
			}
		}
	}
}

// silent listens and never answers.
func silent(t *testing.T) Host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return Host{"127.0.0.1", l.Addr().(*net.TCPAddr).Port}
}

// closed is a port where nobody listens.
func closed(t *testing.T) Host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return Host{"127.0.0.1", l.Addr().(*net.TCPAddr).Port}
}

func TestConnectionTestNamesWhatFails(t *testing.T) {
	for name, base := range map[string]func(*testing.T, string) *Database{"PostgreSQL": postgresAt, "MariaDB": mariadbAt} {
		t.Run(name, func(t *testing.T) {
			test := func(change func(*Database)) error {
				d := base(t, "")
				change(d)
				return d.Test(t.Context())
			}
			if err := test(func(*Database) {}); err != nil {
				t.Fatalf("the server itself: %v", err)
			}
			wantStage(t, "no such host", test(func(d *Database) { d.Address.Hosts = []Host{{"no-such-host.invalid", 1}} }), StageHost)
			wantStage(t, "nobody listens", test(func(d *Database) { d.Address.Hosts = []Host{closed(t)} }), StagePort)
			wantStage(t, "nobody answers", test(func(d *Database) { d.Address.Hosts, d.Address.Connect = []Host{silent(t)}, 50_000_000 }), StagePort)
			wantStage(t, "no TLS, or not of whom it says", test(func(d *Database) { d.Address.TLS.Mode = TLSVerifyFull }), StageTLS)
			wantStage(t, "no file of certificates", test(func(d *Database) { d.Address.TLS = TLS{Mode: TLSVerifyCA, Root: "/no/such.pem"} }), StageFile)
			wantStage(t, "wrong password", test(func(d *Database) { d.Password = NewSecret("wr0ng") }), StageLogin)
			wantStage(t, "no such database", test(func(d *Database) { d.Address.Database = "nowhere" }), StageDatabase)
			d := base(t, "CREATE TABLE t (id int)")
			d.Address.Hosts = append([]Host{closed(t)}, d.Address.Hosts...)
			if err := d.Test(t.Context()); err != nil {
				t.Errorf("the second host is not tried: %v", err)
			}
			_, err := d.Source(t.Context(), Rows{Table: "T2"})
			wantStage(t, "no such table", err, StageTable)
			_, err = d.Source(t.Context(), Rows{Query: "SELECT nothing FROM t"})
			wantStage(t, "no such column", err, StageTable)
			_, err = d.Source(t.Context(), Rows{Query: "SELEC 1"})
			wantStage(t, "no SQL", err, StageQuery)
			_, err = d.Source(t.Context(), Rows{Query: "SELECT 1 AS a) AS x; DROP TABLE t; --"})
			wantStage(t, "two statements", err, StageQuery)
			if got, err := d.Source(t.Context(), Rows{Table: "t"}); err != nil || len(got.Columns()) != 1 {
				t.Errorf("the table is gone: %v", err)
			}
		})
	}
}

// Each mode of TLS verifies what it says, and no less.
func TestTLS(t *testing.T) {
	s := serverstest.PostgreSQL(t)
	root := filepath.Join(s.Dir, "root.pem")
	other := filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(other, []byte("no certificate"), 0o666); err != nil {
		t.Fatal(err)
	}
	encrypted := func(tls TLS, host string) (string, error) {
		d := postgresAt(t, "")
		d.Address.TLS, d.Address.Hosts[0].Name = tls, host
		conn, err := d.connect(t.Context())
		if err != nil {
			return "", err
		}
		defer conn.close()
		row, err := conn.values(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
		if err != nil {
			return "", err
		}
		return *row[0], nil
	}
	for _, c := range []struct {
		tls        TLS
		host, want string
		stage      Stage
	}{
		{TLS{Mode: TLSNever}, s.Host, "f", ""},
		{TLS{Mode: TLSPreferred}, s.Host, "t", ""},
		{TLS{Mode: TLSRequired}, s.Host, "t", ""},
		{TLS{Mode: TLSVerifyCA}, s.Host, "", StageTLS},
		{TLS{Mode: TLSVerifyCA, Root: root}, s.Host, "t", ""},
		{TLS{Mode: TLSVerifyCA, Root: root}, "localhost", "t", ""},
		{TLS{Mode: TLSVerifyFull, Root: root}, s.Host, "t", ""},
		{TLS{Mode: TLSVerifyFull, Root: root}, "localhost", "", StageTLS},
		{TLS{Mode: TLSVerifyFull}, s.Host, "", StageTLS},
		{TLS{Mode: TLSVerifyFull, Root: other}, s.Host, "", StageFile},
	} {
		got, err := encrypted(c.tls, c.host)
		switch {
		case c.stage != "":
			wantStage(t, fmt.Sprint(c.tls, c.host), err, c.stage)
		case err != nil || got != c.want:
			t.Errorf("%v at %s: encrypted is %q, %v, want %q", c.tls, c.host, got, err, c.want)
		}
	}
}

func TestMissingRightIsNamed(t *testing.T) {
	d := postgresAt(t, "CREATE TABLE secret (id int); DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD 'wr0ng'")
	d.User, d.Password = "reader", NewSecret("wr0ng")
	_, err := d.Source(t.Context(), Rows{Table: "secret"})
	wantStage(t, "PostgreSQL", err, StageRight)
	m := mariadbAt(t, "CREATE TABLE secret (id int); CREATE TABLE open (id int); CREATE OR REPLACE USER reader IDENTIFIED BY 'wr0ng'; GRANT SELECT ON open TO reader")
	m.User, m.Password = "reader", NewSecret("wr0ng")
	_, err = m.Source(t.Context(), Rows{Table: "secret"})
	wantStage(t, "MariaDB", err, StageRight)
}

func TestSQLiteThatCannotBeRead(t *testing.T) {
	d := sqliteAt(t, "CREATE TABLE t (id INTEGER)")
	path := d.Address.Database
	d.Address.Database = path + "2"
	wantStage(t, "no file", d.Test(t.Context()), StageFile)
	d.Address.Database = t.TempDir()
	wantStage(t, "a folder", d.Test(t.Context()), StageFile)
	d.Address.Database = "url_test.go"
	_, err := d.Source(t.Context(), Rows{Table: "t"})
	wantStage(t, "another file", err, StageDatabase)
}

// A wish to stop ends what waits for a server.
func TestConnectingIsCancelled(t *testing.T) {
	d := postgresAt(t, "")
	d.Address.Hosts = []Host{silent(t)}
	ctx, stop := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	stop(reason)
	if err := d.Test(ctx); !errors.Is(err, reason) {
		t.Errorf("error is %v", err)
	}
}
