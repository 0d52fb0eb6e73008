package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Secret is a text that shows itself nowhere: printed, formatted or encoded it is an ellipsis.
type Secret struct{ text *string } // printing what holds one, by fields that are not exported, shows an address

// hidden stands for a secret.
const hidden = "…"

// Reveal gives the text, for the one who needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format hides it, whatever the verb.
func (Secret) Format(to fmt.State, _ rune) { _, _ = to.Write([]byte(hidden)) }

// MarshalText hides it.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Connection is a database that inputs and outputs name. Nothing of it is part of a task's configuration: a password that was
// changed makes no other task.
type Connection struct {
	Name     string
	URL      Secret // it may hold a password
	User     Credential
	Password Credential
	Pos      problem.Pos
	URLPos   problem.Pos
	Open     bool // the url depends on a secret that is not there: see Options.AllowUnset
}

// Credential is a user or a password, or where it is found when it is needed. At most one of its parts is there.
type Credential struct {
	Value   Secret
	Given   bool // there is Value, possibly empty
	Env     string
	File    string   // absolute
	Command []string // its first line of output is meant
	Pos     problem.Pos
}

// LookUp finds what Env and File name; run runs Command and gives what it writes.
func (c Credential) LookUp(env func(string) (string, bool), run func(command []string) (string, error)) (Secret, error) {
	switch {
	case c.Env != "":
		text, ok := env(c.Env)
		if !ok {
			return Secret{}, fmt.Errorf("the environment variable %s is not set", c.Env)
		}
		return Secret{&text}, nil
	case c.File != "":
		text, err := secretFile(c.File)
		return Secret{&text}, err
	case len(c.Command) > 0:
		text, err := run(c.Command)
		if err != nil {
			return Secret{}, err
		}
		first, _, _ := strings.Cut(text, "\n")
		first = strings.TrimSuffix(first, "\r")
		return Secret{&first}, nil
	}
	return c.Value, nil
}

// secretFile reads a file that holds a secret, and may end in a line end that is no part of it.
func secretFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %s", path, reason(err))
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// connectionField declares a connection.
func connectionField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "url", Kind: Text, Required: true, Secret: true, Example: "jdbc:postgresql://db:5432/sales",
			Doc: "Its address: jdbc:postgresql: jdbc:mysql: jdbc:mariadb: jdbc:sqlite: or jdbc:sqlserver:, or what the database's own tools take. Parameters that mean nothing here are told by a warning. It is shown nowhere, since it may hold a password."},
		credentialField("user", "The user."),
		credentialField("password", "The password. It is shown nowhere, and in no record."),
	}}
}

func credentialField(name, doc string) *Field {
	return &Field{Name: name, Kind: Object, Short: "value", Example: "{env: PG" + strings.ToUpper(name) + "}", Doc: doc, Fields: []*Field{
		{Name: "value", Kind: Text, Secret: true, Example: `"{{ env.PG` + strings.ToUpper(name) + ` }}"`,
			Doc: "The text itself, which nothing is expanded in but {{ }}: {{ env.NAME }}, {{ secret('env/NAME') }} or {{ secret('file/PATH') }}."},
		{Name: "env", Kind: Text, Example: "PG" + strings.ToUpper(name), Doc: "The environment variable that holds it, which must be set when the database is needed."},
		{Name: "file", Kind: Path, Example: "secrets/" + name, Doc: "The file that holds it; a line end behind it is no part of it."},
		{Name: "command", Kind: List, Elem: &Field{Kind: Text}, Example: "[pass, show, db/" + name + "]", Doc: "The command, with its arguments, that writes it as its first line."},
	}}
}

// connection reads one connection.
func (l *loader) connection(name string, s section) Connection {
	return Connection{Name: name, URL: s.secret("url"), User: l.credential(s.sub("user")), Password: l.credential(s.sub("password")), Pos: s.pos, URLPos: s.where("url"), Open: s.n.get("url") != nil && s.n.get("url").open}
}

// secret reads a scalar that is one.
func (s section) secret(key string) Secret {
	text := s.text(key)
	return Secret{&text}
}

func (l *loader) credential(s section) Credential {
	c := Credential{Value: s.secret("value"), Env: s.text("env"), File: s.path("file"), Command: s.texts("command"), Pos: s.pos}
	var given []string
	for _, key := range []string{"value", "env", "file", "command"} {
		if s.n.get(key) != nil {
			given = append(given, key)
		}
	}
	c.Given = slices.Contains(given, "value")
	switch {
	case s.n == nil || s.bad():
	case len(given) == 0:
		l.at(s.n, s.at+" is empty", "write the text, or {env: NAME}, {file: PATH} or {command: [PROGRAM, …]}")
	case len(given) > 1:
		l.at(s.n, s.at+" has "+strings.Join(given, " and "), "leave one of them")
	}
	return c
}

// reads looks that an input says exactly one of: which files, or which table or query of which connection.
func (l *loader) reads(in *Input, s section) {
	if s.n.get("from") != nil || s.bad() {
		return
	}
	path, connection, table, query := s.n.get("path"), s.n.get("connection"), s.n.get("table"), s.n.get("query")
	if in.Format != formatJDBC {
		for _, n := range []struct {
			key  string
			node *node
		}{{"connection", connection}, {"table", table}, {"query", query}} {
			if n.node != nil && in.Format != "" {
				l.at(n.node, s.at+"."+n.key+" is about databases, and the format is "+in.Format, "write format: "+formatJDBC+", or remove the key")
			}
		}
		if path == nil {
			s.missing(s.f.member("path"))
		}
		return
	}
	in.Connection, in.Table, in.Query = s.text("connection"), s.text("table"), s.text("query")
	in.PathPos = s.where("connection")
	switch {
	case path != nil:
		l.at(path, s.at+" has path, and its format is "+formatJDBC, "name the database as connection, and what is read of it as table or query")
	case connection == nil:
		s.missing(s.f.member("connection"))
	case table == nil && query == nil:
		l.at(s.n, s.at+" says neither table nor query", "write table: schema.name, or query: SELECT …")
	case table != nil && query != nil:
		l.at(query, s.at+" has table and query", "remove one of the two")
	}
	if table != nil {
		in.Written, in.PathPos = in.Table, s.where("table")
	} else if query != nil {
		in.Written, in.PathPos = "the query", s.where("query")
	}
	if table != nil && !table.bad && !table.open && slices.Contains(strings.Split(in.Table, "."), "") {
		l.at(table, s.at+".table: "+quote(in.Table)+" is no name of a table", "write name, or schema.name")
	}
	l.known(in, connection, s.at)
}

// formatJDBC is the format of inputs and outputs that are tables of a database.
const formatJDBC = "jdbc"

// known looks that there is a connection of the name.
func (l *loader) known(in *Input, n *node, at string) {
	if n == nil || n.bad {
		return
	}
	names := make([]string, len(l.connections))
	for i, c := range l.connections {
		if names[i] = c.Name; c.Name == in.Connection {
			return
		}
	}
	hint := DidYouMean(in.Connection, names)
	if len(names) == 0 {
		hint = "declare it: connections: {" + in.Connection + ": {url: jdbc:postgresql://HOST/DATABASE}}"
	}
	l.at(n, at+".connection: there is no connection "+quote(in.Connection), hint)
}
