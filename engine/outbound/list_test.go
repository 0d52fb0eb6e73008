package outbound

import (
	"strings"
	"testing"
)

// A name may be looked up to anything: which addresses are connected to is decided when they are known.
func TestAddresses(t *testing.T) {
	list := func(entries ...string) List {
		l, err := Parse(entries)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, c := range []struct {
		list    List
		address string
		allowed bool
	}{
		{list("api.example.com"), "93.184.215.14:443", true},
		{list("api.example.com"), "[2606:2800:21f:cb07::1]:443", true},
		{list("api.example.com"), "127.0.0.1:443", false},
		{list("api.example.com"), "[::1]:443", false},
		{list("api.example.com"), "[::ffff:127.0.0.1]:443", false},
		{list("api.example.com"), "[::ffff:10.0.0.1]:443", false},
		{list("api.example.com"), "0.0.0.0:443", false},
		{list("api.example.com"), "0.1.2.3:443", false},
		{list("api.example.com"), "10.1.2.3:443", false},
		{list("api.example.com"), "172.16.0.1:443", false},
		{list("api.example.com"), "192.168.1.1:443", false},
		{list("api.example.com"), "169.254.169.254:80", false}, // where clouds keep credentials
		{list("api.example.com"), "100.64.0.1:443", false},
		{list("api.example.com"), "[fd00::1]:443", false},
		{list("api.example.com"), "[fe80::1%eth0]:443", false},
		{list("api.example.com"), "[64:ff9b::7f00:1]:443", false}, // 127.0.0.1 through NAT64
		{list("api.example.com"), "224.0.0.1:443", false},
		{list("api.example.com", "10.1.0.0/16"), "10.1.2.3:443", true},
		{list("api.example.com", "10.1.0.0/16"), "10.2.2.3:443", false},
		{list("10.1.2.3"), "10.1.2.3:443", true},
		{list("10.1.2.3"), "10.1.2.4:443", false},
		{list("http://localhost:8080"), "127.0.0.1:8080", true},
		{list("http://localhost:8080"), "[::1]:8080", true},
		{list("http://localhost:8080"), "10.0.0.1:8080", false},
	} {
		if err := c.list.address(c.address); (err == nil) != c.allowed {
			t.Errorf("%s: %v", c.address, err)
		}
	}
}

func TestEntries(t *testing.T) {
	for _, entry := range []string{"", "*", "*.example.com", "https://", "ftp://example.com", "example.com/path", "https://u@example.com", "example.com:0", "example.com:99999", "a b", "a,b"} {
		if l, err := Parse([]string{entry}); err == nil || !strings.Contains(err.Error(), `"`) {
			t.Errorf("%q became %+v, %v", entry, l, err)
		}
	}
	l, err := Parse([]string{"API.Example.com.", "::1", "http://[::1]:81"})
	if err != nil || len(l.hosts) != 3 || l.hosts[0] != (host{"https", "api.example.com", "443"}) || l.hosts[1] != (host{"https", "::1", "443"}) || l.hosts[2] != (host{"http", "::1", "81"}) {
		t.Errorf("%+v, %v", l, err)
	}
}
