package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown is an address on one line, as far as it differs from an empty one.
func shown(a *Address) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", a.Dialect)
	for _, h := range a.Hosts {
		fmt.Fprintf(&b, " %s", h)
	}
	fmt.Fprintf(&b, " db=%s", a.Database)
	for _, part := range []struct{ name, value string }{{"user", a.User}, {"password", a.password.reveal()}, {"tls", string(a.TLS.Mode)}, {"root", a.TLS.Root}, {"cert", a.TLS.Cert}, {"schema", a.Schema},
		{"zone", a.TimeZone}, {"instance", a.Instance}, {"ignored", strings.Join(a.Ignored, ",")}} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%s", part.name, part.value)
		}
	}
	if a.Connect != 0 {
		fmt.Fprintf(&b, " connect=%s", a.Connect)
	}
	if a.Primary {
		b.WriteString(" primary")
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range a.settings {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, " %s=%s", name, a.settings[name])
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"jdbc:postgresql://db:5433/sales", "postgresql db:5433 db=sales tls=prefer"},
		{"jdbc:postgresql:sales", "postgresql localhost:5432 db=sales tls=prefer"},
		{"jdbc:postgresql://a,b:5433,[::1]:5434/s?targetServerType=primary&connectTimeout=5", "postgresql a:5432 b:5433 [::1]:5434 db=s tls=prefer connect=5s primary"},
		{"jdbc:postgresql://db/s?user=u&password=p%26w%3D+x&ssl=true", "postgresql db:5432 db=s user=u password=p&w=+x tls=verify-full"},
		{"jdbc:postgresql://db/s?ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory", "postgresql db:5432 db=s tls=require"},
		{"jdbc:postgresql://db/s?sslmode=verify-ca&sslrootcert=ca.pem&sslcert=me.pem&sslkey=me.key", "postgresql db:5432 db=s tls=verify-ca root=ca.pem cert=me.pem"},
		{"jdbc:postgresql://db/s?currentSchema=a,b&ApplicationName=x&TimeZone=Europe/Zurich&reWriteBatchedInserts=true&fancy=1", "postgresql db:5432 db=s tls=prefer schema=a,b zone=Europe/Zurich ignored=fancy application_name=x"},
		{"postgres://u:p%40ss@db/s?sslmode=require", "postgresql db:5432 db=s user=u password=p@ss tls=require"},
		{"postgresql://u:ab$defgh%25@jk@db/s", "postgresql db:5432 db=s user=u password=ab$defgh%@jk tls=prefer"},
		{"jdbc:mysql://db/s?useSSL=false&serverTimezone=UTC&rewriteBatchedStatements=true&characterEncoding=utf8", "mysql db:3306 db=s tls=disable zone=UTC"},
		{"jdbc:mysql://a:3307,b/s?sslMode=VERIFY_IDENTITY&connectTimeout=2500&who=1", "mysql a:3307 b:3306 db=s tls=verify-full ignored=who connect=2.5s"},
		{"jdbc:mysql://db/s?useSSL=true&requireSSL=true&verifyServerCertificate=true", "mysql db:3306 db=s tls=verify-ca"},
		{"jdbc:mariadb://db/s?sslMode=trust&sessionVariables=sql_mode='ANSI'", "mariadb db:3306 db=s tls=require sql_mode='ANSI'"},
		{"u:p@w@tcp(db:3307)/s?tls=skip-verify&timeout=3s", "mysql db:3307 db=s user=u password=p@w tls=require connect=3s"},
		{"jdbc:sqlite:data/orders.db", "sqlite db=data/orders.db"},
		{"jdbc:sqlite:file:/tmp/a b.db?mode=ro&busy_timeout=500&nolock=1", "sqlite db=/tmp/a b.db ignored=nolock connect=500ms"},
		{"sqlite:///abs/x.db", "sqlite db=/abs/x.db"},
		{`jdbc:sqlserver://db\inst:1444;databaseName=s;user=sa;password={a;b}}c};encrypt=true;trustServerCertificate=true;x=1`, "sqlserver db:1444 db=s user=sa password=a;b}c tls=require instance=inst ignored=x"},
		{"sqlserver://sa:p%21@db?database=s&encrypt=disable", "sqlserver db:1433 db=s user=sa password=p! tls=prefer"},
		{"jdbc:sqlserver://db;portNumber=1500", "sqlserver db:1500 db= tls=verify-full"},
	} {
		a, err := Parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if got := shown(a); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.url, got, c.want)
		}
	}
}

// What is wrong with an address is told without what could be a password in it.
func TestParseMistakes(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"jdbc:oracle:thin:@db:1521/x", "it does not begin with the kind of a database"},
		{"oracle://u:sesame@db/x", `there is no database driver for "oracle"`},
		{"sesame", "it does not begin with the kind of a database"},
		{"jdbc:postgresql://u:ses%ame@db/s", "the user or the password is not escaped as in a URL"},
		{"jdbc:postgresql://u:sesame/x@db/s", "what stands behind the colon of a host is no port"},
		{"jdbc:postgresql://db:70000/s", "what stands behind the colon of a host is no port"},
		{"jdbc:postgresql://db/s?sslmode=sometimes", `sslmode: "sometimes" is not known`},
		{"jdbc:postgresql://db/s?password=ses%zzame", "the parameter password is not escaped as in a URL"},
		{"jdbc:mysql://db/s?sslMode=maybe", `sslMode: "maybe" is not known`},
		{"jdbc:sqlite::memory:", "it names no file: a database in memory has no rows to read, and keeps none"},
		{"jdbc:sqlserver:db", "it names no host"},
		{"jdbc:postgresql://db/a\x00b", "it holds a NUL byte"},
	} {
		_, err := Parse(c.url)
		var e *URLError
		if !errors.As(err, &e) {
			t.Errorf("%s: error is %v, want %q", c.url, err, c.want)
			continue
		}
		if e.Message != c.want {
			t.Errorf("%s: %q, want %q", c.url, e.Message, c.want)
		}
		if strings.Contains(e.Message+e.Hint, "sesame") || strings.Contains(e.Message+e.Hint, "ame@") {
			t.Errorf("%s: the error shows a password: %v (%s)", c.url, e, e.Hint)
		}
	}
}

func TestSecretShowsNothing(t *testing.T) {
	s := NewSecret("p@ss:w/rd")
	encoded, err := json.Marshal(map[string]any{"a": s, "b": []Secret{s}})
	if err != nil {
		t.Fatal(err)
	}
	c := Connection{Name: "w", Password: s, Address: &Address{password: s, Connect: time.Second}}
	all := fmt.Sprint(s) + fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s) + fmt.Sprintf("%+v %#v %+v %#v", c, c, *c.Address, *c.Address) + string(encoded)
	for _, secret := range []string{"p@ss", "w/rd", "70407373", "70 40"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is shown: %s", secret, all)
		}
	}
	for _, text := range []string{"no p@ss:w/rd here", "jdbc:x://u:p%40ss%3Aw%2Frd@db", "u:p%40ss:w%2Frd@db", "p%40ss:w%2Frd"} {
		if got := s.scrub(text); strings.Contains(got, "ss") || !strings.Contains(got, hidden) {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	if got := NewSecret("").scrub("abc"); got != "abc" {
		t.Errorf("no secret scrubs to %s", got)
	}
}
