package database

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dialect names the kind of a database.
type Dialect string

// The dialects. A server of MariaDB speaks that of MySQL, but for what its address may say.
const (
	PostgreSQL Dialect = "postgresql"
	MySQL      Dialect = "mysql"
	MariaDB    Dialect = "mariadb"
	SQLite     Dialect = "sqlite"
	SQLServer  Dialect = "sqlserver"
)

// Address is what a URL of a connection means.
type Address struct {
	Dialect  Dialect
	Hosts    []Host // in the order in which they are tried; none for SQLite
	Database string // its name; of SQLite the path of the file as written
	User     string
	TLS      TLS
	Schema   string        // searched for tables without a schema; empty: as the server has it
	TimeZone string        // of the session; empty: UTC
	Connect  time.Duration // for one host to answer; 0: ten seconds
	Primary  bool          // only a host that takes changes counts
	Instance string        // of SQL Server

	Ignored []string // parameters that mean nothing here, by name

	password Secret
	settings map[string]string // that the session of the server gets
}

// Host is one server.
type Host struct {
	Name string
	Port int
}

// String gives it as host:port.
func (h Host) String() string {
	if strings.Contains(h.Name, ":") {
		return fmt.Sprintf("[%s]:%d", h.Name, h.Port)
	}
	return fmt.Sprintf("%s:%d", h.Name, h.Port)
}

// TLSMode says how far a connection is protected.
type TLSMode string

// The modes, from none to one that also holds the server's name against its certificate.
const (
	TLSNever      TLSMode = "disable"
	TLSPreferred  TLSMode = "prefer" // if the server has it; nothing is verified
	TLSRequired   TLSMode = "require"
	TLSVerifyCA   TLSMode = "verify-ca"
	TLSVerifyFull TLSMode = "verify-full"
)

// TLS says how a connection is protected, and by which files.
type TLS struct {
	Mode      TLSMode
	Root      string // of certificates that are trusted; empty: the system's
	Cert, Key string // of this side
	trustAny  bool   // no certificate is verified, whatever the mode was called
}

// URLError says what is wrong with an address. It shows nothing of the address that could be a secret.
type URLError struct {
	Message string
	Hint    string
}

// Error gives the message.
func (e *URLError) Error() string { return e.Message }

// schemes are the forms of an address, by what they begin with.
var schemes = []struct {
	prefix  string
	dialect Dialect
}{
	{"jdbc:postgresql:", PostgreSQL}, {"postgresql:", PostgreSQL}, {"postgres:", PostgreSQL},
	{"jdbc:mysql:", MySQL}, {"mysql:", MySQL},
	{"jdbc:mariadb:", MariaDB}, {"mariadb:", MariaDB},
	{"jdbc:sqlite:", SQLite}, {"sqlite:", SQLite},
	{"jdbc:sqlserver:", SQLServer}, {"sqlserver:", SQLServer},
}

// Parse reads an address: a jdbc: URL, or the form of the database's own tools. The error is a *URLError.
func Parse(text string) (*Address, error) {
	if strings.ContainsRune(text, 0) {
		return nil, &URLError{Message: "it holds a NUL byte"}
	}
	for _, s := range schemes {
		rest, ok := strings.CutPrefix(text, s.prefix)
		if !ok {
			continue
		}
		a := &Address{Dialect: s.dialect, settings: map[string]string{}}
		var err error
		switch s.dialect {
		case SQLite:
			err = a.parseSQLite(rest)
		case SQLServer:
			err = a.parseSQLServer(rest)
		default:
			err = a.parseServer(rest)
		}
		if err != nil {
			return nil, err
		}
		slices.Sort(a.Ignored)
		return a, nil
	}
	if user, dsn, ok := goMySQL(text); ok {
		a := &Address{Dialect: MySQL, settings: map[string]string{}}
		return a, a.parseServer("//" + user + dsn)
	}
	scheme, _, found := strings.Cut(text, "://")
	if found && len(scheme) < 20 && !strings.ContainsAny(scheme, "@/ ") {
		return nil, &URLError{Message: fmt.Sprintf("there is no database driver for %q", scheme), Hint: "known: jdbc:postgresql: jdbc:mysql: jdbc:mariadb: jdbc:sqlite: jdbc:sqlserver:"}
	}
	return nil, &URLError{Message: "it does not begin with the kind of a database", Hint: "as in jdbc:postgresql://db:5432/sales, jdbc:mysql:, jdbc:mariadb:, jdbc:sqlite: or jdbc:sqlserver:"}
}

// goMySQL reads the form user:password@tcp(host:port)/database of MySQL's driver for Go, and gives it as user and the rest of a URL.
func goMySQL(text string) (user, rest string, ok bool) {
	before, after, found := strings.Cut(text, "@tcp(")
	if !found {
		return "", "", false
	}
	host, path, closed := strings.Cut(after, ")")
	if !closed || !strings.HasPrefix(path, "/") {
		return "", "", false
	}
	name, password, has := strings.Cut(before, ":")
	user = url.UserPassword(name, password).String()
	if !has {
		user = url.User(name).String()
	}
	return user, "@" + host + path, true
}

// parseServer reads //user:password@host:port,host:port/database?name=value&….
func (a *Address) parseServer(text string) error {
	rest, query, _ := strings.Cut(text, "?")
	if rest, ok := strings.CutPrefix(rest, "//"); ok {
		authority, database, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			if err := a.userinfo(authority[:at]); err != nil {
				return err
			}
			authority = authority[at+1:]
		}
		if err := a.hosts(authority); err != nil {
			return err
		}
		name, err := url.PathUnescape(database)
		if err != nil {
			return &URLError{Message: "the name of the database is not escaped as in a URL", Hint: "write %25 for %"}
		}
		a.Database = name
	} else { // jdbc:postgresql:sales is a database of this machine
		a.Database = rest
		if err := a.hosts(""); err != nil {
			return err
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, escaped, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(strings.ReplaceAll(escaped, "+", "%2B"))
		if err != nil {
			return &URLError{Message: "the parameter " + name + " is not escaped as in a URL", Hint: "write %25 for %"}
		}
		known, err := a.parameter(name, value)
		if err != nil {
			return err
		}
		if !known {
			a.Ignored = append(a.Ignored, name)
		}
	}
	return a.defaults()
}

func (a *Address) userinfo(text string) error {
	name, password, _ := strings.Cut(text, ":")
	user, err := url.PathUnescape(name)
	if err == nil {
		err = a.unescape(password)
	}
	if err != nil {
		return &URLError{Message: "the user or the password is not escaped as in a URL", Hint: "write %25 for % and %40 for @; or give them as user and password, where nothing is escaped"}
	}
	a.User = user
	return nil
}

func (a *Address) unescape(password string) error {
	text, err := url.PathUnescape(password)
	a.password = NewSecret(text)
	return err
}

// ports are those that servers listen on without another word.
var ports = map[Dialect]int{PostgreSQL: 5432, MySQL: 3306, MariaDB: 3306, SQLServer: 1433}

func (a *Address) hosts(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		h := Host{Name: part, Port: ports[a.Dialect]}
		name, port := part, ""
		switch end := strings.LastIndexByte(part, ']'); {
		case strings.HasPrefix(part, "[") && end > 0:
			name = part[1:end]
			port, _ = strings.CutPrefix(part[end+1:], ":")
		case strings.Count(part, ":") == 1:
			name, port, _ = strings.Cut(part, ":")
		}
		h.Name = name
		if port != "" {
			n, err := strconv.Atoi(port)
			if err != nil || n < 1 || n > 65535 {
				return &URLError{Message: "what stands behind the colon of a host is no port", Hint: "write it as host:port; an @ or / in a password is written as %40 or %2F"}
			}
			h.Port = n
		}
		if h.Name == "" {
			h.Name = "localhost"
		}
		if strings.ContainsAny(h.Name, " /\\@?#") {
			return &URLError{Message: "the name of the host holds a sign that no name has", Hint: "an @ or / in a password is written as %40 or %2F; or give it as password, where nothing is escaped"}
		}
		a.Hosts = append(a.Hosts, h)
	}
	return nil
}

// parameter reads one parameter of a URL; false: it means nothing here.
func (a *Address) parameter(name, value string) (known bool, err error) {
	switch strings.ToLower(name) {
	case "user", "username":
		a.User = value
		return true, nil
	case "password":
		a.password = NewSecret(value)
		return true, nil
	}
	if a.Dialect == PostgreSQL {
		return a.postgresParameter(name, value)
	}
	return a.mysqlParameter(name, value)
}

func (a *Address) defaults() error {
	if a.TLS.Mode == "" {
		a.TLS.Mode = TLSPreferred
	}
	if a.TLS.Mode == TLSVerifyCA || a.TLS.Mode == TLSVerifyFull {
		if a.TLS.trustAny {
			a.TLS.Mode = TLSRequired
		}
	}
	return nil
}

// wrongValue says that a parameter has a value that it cannot have.
func wrongValue(name, value string, known ...string) error {
	return &URLError{Message: fmt.Sprintf("%s: %q is not known", name, value), Hint: "known: " + strings.Join(known, ", ")}
}

// seconds reads a time of so many units.
func seconds(name, value string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<31 {
		return 0, &URLError{Message: fmt.Sprintf("%s: %q is no number", name, value)}
	}
	return time.Duration(n) * unit, nil
}
