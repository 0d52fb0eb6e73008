// Package serverstest starts real servers of databases for tests: in a temporary folder, on a free port of this machine, as a user
// without rights, for as long as the test program runs. Their programs are those of the system's packages; `make test` installs them.
package serverstest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The login of every server. The password holds what addresses and shells escape.
const (
	User     = "ubunye"
	Password = "p@ss:w/rd$HOME%41"
)

// Server is one that runs.
type Server struct {
	Host string
	Port int
	Dir  string // its folder; of PostgreSQL, root.pem in it has signed the certificate that it shows for Host

	cmd    *exec.Cmd
	client func(database, sql string) *exec.Cmd
}

// servers are those of this test program.
var servers struct {
	sync.Mutex
	postgres, mariadb *Server
	missing           map[string]error
	dirs              []string
}

// PostgreSQL gives the server that the tests of the program share. Without the server's programs the test is skipped; with CI=true it fails.
func PostgreSQL(t testing.TB) *Server {
	t.Helper()
	return shared(t, "PostgreSQL", &servers.postgres, startPostgres)
}

// MariaDB is the same of MariaDB.
func MariaDB(t testing.TB) *Server {
	t.Helper()
	return shared(t, "MariaDB", &servers.mariadb, startMariaDB)
}

func shared(t testing.TB, name string, at **Server, start func() (*Server, error)) *Server {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	if *at == nil && servers.missing[name] == nil {
		s, err := start()
		if err != nil {
			if servers.missing == nil {
				servers.missing = map[string]error{}
			}
			servers.missing[name] = err
		}
		*at = s
	}
	switch err := servers.missing[name]; {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s: %v", name, err)
	default:
		t.Skipf("%s: %v", name, err)
	}
	return *at
}

// Stop ends the servers. A TestMain calls it after the tests.
func Stop() {
	servers.Lock()
	defer servers.Unlock()
	for _, s := range []*Server{servers.postgres, servers.mariadb} {
		if s != nil {
			s.Kill()
		}
	}
	for _, dir := range servers.dirs {
		_ = os.RemoveAll(dir)
	}
}

// Kill ends the server at once, as a crash would.
func (s *Server) Kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait() // it was killed
}

// Exec runs SQL in a database, by the server's own client; an empty name is the one that is always there.
func (s *Server) Exec(t testing.TB, database, sql string) string {
	t.Helper()
	cmd := s.client(database, sql)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", sql, err, stderr.String())
	}
	return strings.TrimRight(string(out), "\n")
}

// Database makes an empty database that goes with the test, and gives its name.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("t%d", time.Now().UnixNano())
	s.Exec(t, "", "CREATE DATABASE "+name)
	return name
}

// folder makes a folder that the user of the server owns.
func folder(prefix string) (string, *syscall.Credential, error) {
	dir, err := os.MkdirTemp("", "ubunye-"+prefix+"-")
	if err != nil {
		return "", nil, err
	}
	servers.dirs = append(servers.dirs, dir)
	if os.Getuid() != 0 {
		return dir, nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return "", nil, err
	}
	uid, err1 := strconv.Atoi(nobody.Uid)
	gid, err2 := strconv.Atoi(nobody.Gid)
	if err1 != nil || err2 != nil {
		return "", nil, fmt.Errorf("the user nobody has no numbers")
	}
	return dir, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// find looks for a program of a package, newest version first.
func find(name, pkg string, patterns ...string) (string, error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) + strings.Compare(b, a) })
			return found[0], nil
		}
	}
	return "", fmt.Errorf("there is no %s on this machine (Debian: apt-get install %s)", name, pkg)
}

func run(as *syscall.Credential, dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}

// launch starts a server and waits until it says that it is ready.
func (s *Server) launch(as *syscall.Credential, ready, name string, args ...string) error {
	s.cmd = exec.Command(name, args...)
	s.cmd.Dir, s.cmd.SysProcAttr = s.Dir, &syscall.SysProcAttr{Credential: as, Setpgid: true}
	said := &waiter{text: ready, seen: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = said, said
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _, _ = s.cmd.Process.Wait(); close(ended) }()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	select {
	case <-said.seen:
		return nil
	case <-ended:
		return fmt.Errorf("the server ended: %s", said.all())
	case <-ctx.Done():
		return fmt.Errorf("the server is not ready after a minute: %s", said.all())
	}
}

// waiter looks for a text in what a process writes.
type waiter struct {
	mu   sync.Mutex
	got  bytes.Buffer
	text string
	seen chan struct{}
	done bool
}

var _ io.Writer = (*waiter)(nil)

// Write takes what the process writes, as long as it matters.
func (w *waiter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.got.Write(p)
		if strings.Contains(w.got.String(), w.text) {
			w.done = true
			close(w.seen)
		}
	}
	return len(p), nil
}

func (w *waiter) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.String()
}

func startPostgres() (*Server, error) {
	initdb, err := find("initdb of PostgreSQL", "postgresql", "/usr/lib/postgresql/*/bin/initdb", "/usr/bin/initdb", "/usr/local/bin/initdb", "/opt/homebrew/bin/initdb")
	if err != nil {
		return nil, err
	}
	dir, as, err := folder("postgres")
	if err != nil {
		return nil, err
	}
	s := &Server{Host: "127.0.0.1", Dir: dir}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(Password+"\n"), 0o644); err != nil {
		return nil, err
	}
	if err := certificates(dir, as); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := run(as, dir, initdb, "-D", data, "-U", User, "--auth=scram-sha-256", "--pwfile="+secret, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return nil, err
	}
	bin := filepath.Dir(initdb)
	s.client = func(database, sql string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", s.Host, "-p", strconv.Itoa(s.Port), "-U", User, "-d", or(database, "postgres"), "-c", sql)
		cmd.Env = append(os.Environ(), "PGPASSWORD="+Password)
		return cmd
	}
	return s, s.launch(as, "ready to accept connections", filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(s.Port), "-k", dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "ssl=on", "-c", "ssl_cert_file="+filepath.Join(dir, "server.pem"), "-c", "ssl_key_file="+filepath.Join(dir, "server.key"), "-c", "max_connections=200")
}

func startMariaDB() (*Server, error) {
	install, err := find("mariadb-install-db", "mariadb-server", "/usr/bin/mariadb-install-db", "/usr/local/bin/mariadb-install-db", "/opt/homebrew/bin/mariadb-install-db")
	if err != nil {
		return nil, err
	}
	program, err := find("mariadbd", "mariadb-server", "/usr/sbin/mariadbd", "/usr/local/bin/mariadbd", "/opt/homebrew/bin/mariadbd")
	if err != nil {
		return nil, err
	}
	dir, as, err := folder("mariadb")
	if err != nil {
		return nil, err
	}
	s := &Server{Host: "127.0.0.1", Dir: dir}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	if err := run(as, dir, install, "--no-defaults", "--datadir="+data, "--tmpdir="+dir, "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return nil, err
	}
	client := filepath.Join(filepath.Dir(install), "mariadb")
	if err := s.launch(as, "ready for connections", program, "--no-defaults", "--datadir="+data, "--tmpdir="+dir, "--socket="+socket, "--port="+strconv.Itoa(s.Port), "--bind-address=127.0.0.1",
		"--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve", "--pid-file="+filepath.Join(dir, "pid"), "--character-set-server=utf8mb4"); err != nil {
		return nil, err
	}
	as1 := exec.Command(client, "--no-defaults", "-S", socket, "-u", "root", "-e", "CREATE USER '"+User+"'@'%' IDENTIFIED BY '"+Password+"'; GRANT ALL ON *.* TO '"+User+"'@'%' WITH GRANT OPTION")
	if out, err := as1.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("making a user: %w: %s", err, out)
	}
	s.client = func(database, sql string) *exec.Cmd {
		return exec.Command(client, "--no-defaults", "-h", s.Host, "-P", strconv.Itoa(s.Port), "--protocol=tcp", "-u", User, "-p"+Password, "--batch", "--skip-column-names", "--default-character-set=utf8mb4", or(database, "mysql"), "-e", sql)
	}
	return s, nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
