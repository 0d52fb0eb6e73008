package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// List is what may be asked. The zero value allows nothing.
type List struct {
	hosts    []host
	prefixes []netip.Prefix // addresses that are no public ones, and allowed all the same
}

// host is one that may be asked, on one port.
type host struct {
	scheme string // "http" or "https"
	name   string // in lower case, or an address
	port   string
}

// Parse reads entries: a host as "api.example.com" or "api.example.com:8443" is asked by https; one that is to be asked without
// encryption is written whole, "http://localhost:8080". A host is one name, without wild cards. Where a name may lead to an
// address of this machine or of a private network, that address or its network is an entry too, as "10.1.0.0/16"; of a host that is written
// as an address, and of localhost, this need not be said. The error names the entry.
func Parse(entries []string) (List, error) {
	var l List
	for _, entry := range entries {
		if p, err := netip.ParsePrefix(entry); err == nil {
			l.prefixes = append(l.prefixes, p.Masked())
			continue
		}
		h, err := parseHost(entry)
		if err != nil {
			return List{}, err
		}
		l.hosts = append(l.hosts, h)
		if a, err := netip.ParseAddr(h.name); err == nil {
			l.prefixes = append(l.prefixes, netip.PrefixFrom(a, a.BitLen()))
		} else if h.name == "localhost" {
			l.prefixes = append(l.prefixes, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
		}
	}
	return l, nil
}

func parseHost(entry string) (host, error) {
	text := entry
	if a, err := netip.ParseAddr(entry); err == nil && a.Is6() {
		text = "[" + entry + "]"
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return host{}, fmt.Errorf("%q is no host; one is api.example.com, api.example.com:8443 or http://localhost:8080", entry)
	}
	return hostOf(u)
}

// hostOf gives the host that an address asks.
func hostOf(u *url.URL) (host, error) {
	h := host{scheme: u.Scheme, name: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port: u.Port()}
	defaults := map[string]string{"http": "80", "https": "443"}
	if h.port == "" {
		h.port = defaults[h.scheme]
	}
	number, err := strconv.ParseUint(h.port, 10, 16)
	switch {
	case defaults[h.scheme] == "":
		return h, fmt.Errorf("%q is asked neither by https nor by http", u.Redacted())
	case err != nil || number == 0 || h.name == "" || strings.ContainsAny(h.name, "*%_ ,"):
		return h, fmt.Errorf("%q names no host", u.Host)
	}
	return h, nil
}

// target reads the address of a request and refuses one that is not listed.
func (l List) target(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, refused("the address of the request cannot be read")
	}
	if u.User != nil || u.Opaque != "" {
		return nil, refused("the address of a request has no user in it")
	}
	h, err := hostOf(u)
	if err != nil {
		return nil, refused("%v", err)
	}
	if !slices.Contains(l.hosts, h) {
		return nil, refused("the host %s is not listed", h)
	}
	u.Fragment = ""
	return u, nil
}

func (h host) String() string { return h.scheme + "://" + net.JoinHostPort(h.name, h.port) }

// notPublic are the networks of the IANA special-purpose address registries (RFC 6890 and its successors) that netip has no
// question for.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
}

// address refuses a connection to an address that is not public and was not listed.
func (l List) address(text string) error {
	a, err := addressOf(text)
	if err != nil {
		return refused("%s is no address", text)
	}
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.ContainsFunc(l.prefixes, contains) || a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(notPublic, contains) {
		return nil
	}
	return refused("the host has the address %s, which is none of the public network and is not listed", a)
}
