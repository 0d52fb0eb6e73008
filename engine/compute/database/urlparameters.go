package database

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// postgresParameter reads what the JDBC driver of PostgreSQL (pgJDBC, "Connection Parameters") and libpq know, as far as it matters to one who
// reads and writes rows; what only tunes those drivers is known and does nothing.
func (a *Address) postgresParameter(name, value string) (known bool, err error) {
	switch name {
	case "sslmode":
		switch value {
		case "disable", "prefer", "require", "verify-ca", "verify-full":
			a.TLS.Mode = TLSMode(value)
		case "allow":
			a.TLS.Mode = TLSPreferred
		default:
			return true, wrongValue(name, value, "disable", "allow", "prefer", "require", "verify-ca", "verify-full")
		}
	case "ssl":
		if a.TLS.Mode == "" && (value == "" || value == "true") {
			a.TLS.Mode = TLSVerifyFull
		}
	case "sslfactory":
		a.TLS.trustAny = strings.HasSuffix(value, "NonValidatingFactory")
		return a.TLS.trustAny || strings.HasSuffix(value, "LibPQFactory"), nil
	case "sslrootcert":
		a.TLS.Root = value
	case "sslcert":
		a.TLS.Cert = value
	case "sslkey":
		a.TLS.Key = value
	case "currentSchema", "search_path":
		a.Schema = value
	case "ApplicationName", "application_name":
		a.settings["application_name"] = value
	case "options":
		a.settings["options"] = value
	case "TimeZone", "timezone":
		a.TimeZone = value
	case "connectTimeout", "connect_timeout", "loginTimeout":
		a.Connect, err = seconds(name, value, time.Second)
	case "targetServerType", "target_session_attrs":
		switch value {
		case "any", "prefer-standby", "preferSecondary", "preferPrimary", "secondary", "standby", "slave", "preferSlave", "read-only":
		case "primary", "master", "read-write":
			a.Primary = true
		default:
			return true, wrongValue(name, value, "any", "primary", "secondary", "preferSecondary")
		}
	case "gssEncMode", "gssencmode", "reWriteBatchedInserts", "prepareThreshold", "preparedStatementCacheQueries", "preparedStatementCacheSizeMiB",
		"defaultRowFetchSize", "stringtype", "tcpKeepAlive", "binaryTransfer", "assumeMinServerVersion", "loggerLevel", "adaptiveFetch", "socketTimeout",
		"sslnegotiation", "channel_binding", "loadBalanceHosts", "hostRecheckSeconds":
	default:
		return false, nil
	}
	return true, err
}

// mysqlParameter reads what Connector/J ("Configuration Properties") and MariaDB's connector know. The two spell modes of TLS each in its own way.
func (a *Address) mysqlParameter(name, value string) (known bool, err error) {
	on := value == "true" || value == "1" || value == ""
	switch strings.ToLower(name) {
	case "sslmode":
		modes := map[string]TLSMode{"disabled": TLSNever, "disable": TLSNever, "preferred": TLSPreferred, "required": TLSRequired, "trust": TLSRequired,
			"verify_ca": TLSVerifyCA, "verify-ca": TLSVerifyCA, "verify_identity": TLSVerifyFull, "verify-full": TLSVerifyFull}
		mode, ok := modes[strings.ToLower(value)]
		if !ok {
			return true, wrongValue(name, value, "DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY, and MariaDB's disable, trust, verify-ca, verify-full")
		}
		a.TLS.Mode = mode
	case "tls": // of the driver for Go
		modes := map[string]TLSMode{"false": TLSNever, "true": TLSVerifyFull, "skip-verify": TLSRequired, "preferred": TLSPreferred}
		mode, ok := modes[value]
		if !ok {
			return true, wrongValue(name, value, "true", "false", "skip-verify", "preferred")
		}
		a.TLS.Mode = mode
	case "usessl":
		switch {
		case !on:
			a.TLS.Mode = TLSNever
		case a.TLS.Mode == "":
			a.TLS.Mode = TLSPreferred
		}
	case "requiressl":
		if on && (a.TLS.Mode == "" || a.TLS.Mode == TLSPreferred) {
			a.TLS.Mode = TLSRequired
		}
	case "verifyservercertificate":
		if on {
			a.TLS.Mode = TLSVerifyCA
		}
	case "trustservercertificate":
		a.TLS.trustAny = on
	case "serversslcert":
		a.TLS.Root = value
	case "connecttimeout":
		a.Connect, err = seconds(name, strings.TrimSuffix(value, "ms"), time.Millisecond)
	case "timeout":
		d, bad := time.ParseDuration(value)
		if bad != nil {
			return true, &URLError{Message: fmt.Sprintf("%s: %q is no time with its unit", name, value), Hint: "as in 10s"}
		}
		a.Connect = d
	case "connectiontimezone", "servertimezone", "timezone":
		a.TimeZone = value
	case "sessionvariables":
		for pair := range strings.SplitSeq(value, ",") {
			variable, to, ok := strings.Cut(pair, "=")
			if !ok || !plainWord(variable) {
				return true, &URLError{Message: fmt.Sprintf("%s: %q sets nothing", name, variable), Hint: "as in sql_mode='ANSI'"}
			}
			a.settings[variable] = to
		}
	case "characterencoding", "charset", "useunicode", "allowpublickeyretrieval", "usecompression", "rewritebatchedstatements", "useserverprepstmts", "cacheprepstmts",
		"prepstmtcachesize", "prepstmtcachesqllimit", "zerodatetimebehavior", "tinyint1isbit", "autoreconnect", "failoverreadonly", "maxreconnects",
		"usecursorfetch", "defaultfetchsize", "sockettimeout", "tcpkeepalive", "uselegacydatetimecode", "parsetime", "loc", "collation", "nullcatalogmeanscurrent",
		"noaccesstoprocedurebodies", "cacheserverconfiguration", "maintaintimestats", "elidesetautocommits", "uselocalsessionstate":
	default:
		return false, nil
	}
	return true, err
}

func plainWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// parseSQLite reads path, file:path and //path, with parameters behind a question mark.
func (a *Address) parseSQLite(text string) error {
	path, query, _ := strings.Cut(text, "?")
	path = strings.TrimPrefix(path, "file:")
	if rest, ok := strings.CutPrefix(path, "//"); ok { // an empty host
		path = rest
	}
	switch {
	case path == "" || strings.HasPrefix(path, ":memory:"):
		return &URLError{Message: "it names no file: a database in memory has no rows to read, and keeps none", Hint: "as in jdbc:sqlite:data/orders.db"}
	case strings.HasPrefix(path, ":resource:"):
		return &URLError{Message: "a resource of a Java program is no file", Hint: "name the file, as in jdbc:sqlite:data/orders.db"}
	}
	a.Database = path
	values, err := url.ParseQuery(query)
	if err != nil {
		return &URLError{Message: "the parameters are not escaped as in a URL", Hint: "write %25 for %"}
	}
	for name, value := range values {
		switch strings.ToLower(name) {
		case "busy_timeout":
			if a.Connect, err = seconds(name, value[0], time.Millisecond); err != nil {
				return err
			}
		case "mode", "cache", "journal_mode", "synchronous", "foreign_keys", "date_class", "date_precision", "date_string_format", "open_mode":
		default:
			a.Ignored = append(a.Ignored, name)
		}
	}
	return nil
}

// parseSQLServer reads //host\instance:port;name=value;…, and //user:password@host:port?database=name of the driver for Go.
func (a *Address) parseSQLServer(text string) error {
	rest, ok := strings.CutPrefix(text, "//")
	if !ok {
		return &URLError{Message: "it names no host", Hint: "as in jdbc:sqlserver://db:1433;databaseName=sales"}
	}
	if server, query, isURL := strings.Cut(rest, "?"); isURL || strings.Contains(server, "@") {
		rest = server + ";" + strings.ReplaceAll(query, "&", ";")
	}
	server, properties, _ := strings.Cut(rest, ";")
	if at := strings.LastIndexByte(server, '@'); at >= 0 {
		if err := a.userinfo(server[:at]); err != nil {
			return err
		}
		server = server[at+1:]
	}
	server = strings.TrimSuffix(server, "/")
	if host, instance, has := strings.Cut(server, `\`); has {
		name, port, ported := strings.Cut(instance, ":")
		a.Instance, server = name, host
		if ported {
			server += ":" + port
		}
	}
	if err := a.hosts(server); err != nil {
		return err
	}
	a.TLS.Mode = TLSVerifyFull
	for properties != "" {
		var name, value string
		name, properties, _ = strings.Cut(properties, "=")
		value, properties = bracedValue(properties)
		known, err := a.serverProperty(strings.TrimSpace(name), value)
		if err != nil {
			return err
		}
		if !known {
			a.Ignored = append(a.Ignored, strings.TrimSpace(name))
		}
	}
	return a.defaults()
}

// bracedValue reads a value up to the next semicolon; one in braces may hold any sign, a closing brace twice.
func bracedValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, "{") {
		value, rest, _ = strings.Cut(text, ";")
		return value, rest
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '}':
			b.WriteByte(text[i])
		case strings.HasPrefix(text[i+1:], "}"):
			b.WriteByte('}')
			i++
		default:
			return b.String(), strings.TrimPrefix(text[i+1:], ";")
		}
	}
	return b.String(), ""
}

// serverProperty reads what the JDBC driver of SQL Server knows ("Setting the connection properties").
func (a *Address) serverProperty(name, value string) (known bool, err error) {
	switch strings.ToLower(name) {
	case "databasename", "database":
		a.Database = value
	case "user", "username":
		a.User = value
	case "password":
		a.password = NewSecret(value)
	case "portnumber", "port":
		server := a.Hosts[0]
		a.Hosts = nil
		return true, a.hosts(server.Name + ":" + value)
	case "instancename":
		a.Instance = value
	case "encrypt":
		switch strings.ToLower(value) {
		case "false", "no", "optional", "disable":
			a.TLS.Mode = TLSPreferred
		case "true", "yes", "mandatory", "strict":
		default:
			return true, wrongValue(name, value, "true", "false", "strict")
		}
	case "trustservercertificate":
		a.TLS.trustAny = strings.EqualFold(value, "true")
	case "logintimeout":
		a.Connect, err = seconds(name, value, time.Second)
	case "applicationname", "sendstringparametersasunicode", "selectmethod", "multisubnetfailover", "lastupdatecount", "responsebuffering", "packetsize", "":
	default:
		return false, nil
	}
	return true, err
}
