package deltalog

import (
	"errors"
	"strconv"
	"strings"
)

// Folder is where a table's log lies, below the table.
const Folder = "_delta_log"

// NullFolder stands for NULL in the name of a partition's folder.
const NullFolder = "__HIVE_DEFAULT_PARTITION__"

// longestName is the longest name of a folder or file, in bytes, that all file systems of the day take.
const longestName = 255

// DecodePath gives the path of a file that an add or a remove names: relative to the table with slashes, or absolute. A
// path with another scheme than file comes as it is.
func DecodePath(path string) (decoded string, absolute bool, err error) {
	if at := strings.IndexByte(path, ':'); at > 0 && scheme(path[:at]) {
		if !strings.EqualFold(path[:at], "file") {
			return path, true, nil
		}
		// file:/a, file:///a and file://localhost/a are the same.
		path = path[at+1:]
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			slash := strings.IndexByte(rest, '/')
			if slash < 0 || rest[:slash] != "" && rest[:slash] != "localhost" {
				return "", false, errors.New("the path " + strconv.Quote(path) + " is on another machine")
			}
			path = rest[slash:]
		}
	}
	if decoded, err = unescape(path); err != nil {
		return "", false, err
	}
	return decoded, strings.HasPrefix(decoded, "/"), nil
}

// scheme tells whether text can be the scheme of a URI.
func scheme(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

func unescape(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			n, err := strconv.ParseUint(text[min(i+1, len(text)):min(i+3, len(text))], 16, 8)
			if err != nil || i+3 > len(text) {
				return "", errors.New("the path " + strconv.Quote(text) + " has a % that encodes nothing")
			}
			c = byte(n)
			i += 2
		}
		plain = append(plain, c)
	}
	return string(plain), nil
}

// EncodePath gives a path below the table as an add names it: every byte that a reader could take for something else is
// encoded.
func EncodePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~/=", c) >= 0:
			b.WriteByte(c)
		default:
			escapeByte(&b, c)
		}
	}
	return b.String()
}

func escapeByte(b *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(hex[c>>4])
	b.WriteByte(hex[c&15])
}

// PartitionFolder gives the folder of a partition, name=value, as other writers name it: what file systems or readers could
// take for something else is escaped. value is nil for NULL. A folder is a matter of order: readers take the value from the
// log. An empty text is an error, for readers take it for NULL; so is a name too long for a file system.
func PartitionFolder(name string, value *string) (string, error) {
	if value != nil && *value == "" {
		return "", errors.New("the partition column " + name + " has an empty text, which readers could not tell from NULL")
	}
	text := NullFolder
	if value != nil {
		text = escapeFolder(*value)
	}
	folder := escapeFolder(name) + "=" + text
	if len(folder) > longestName {
		return "", errors.New("the folder of a partition would have a name of " + strconv.Itoa(len(folder)) + " bytes; file systems take " + strconv.Itoa(longestName))
	}
	return folder, nil
}

func escapeFolder(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f || strings.IndexByte("\"#%'*/:=?\\{[]^<>|", c) >= 0 {
			escapeByte(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// The files of a log.

const versionDigits = 20

// CommitPath is the file of a version's commit, below the table.
func CommitPath(version int64) string { return Folder + "/" + versionName(version) + ".json" }

// CheckpointPath is the file of a version's classic checkpoint.
func CheckpointPath(version int64) string {
	return Folder + "/" + versionName(version) + ".checkpoint.parquet"
}

func versionName(version int64) string {
	digits := strconv.FormatInt(version, 10)
	return strings.Repeat("0", max(versionDigits-len(digits), 0)) + digits
}

// logFile is what the name of a file in the log says.
type logFile struct {
	name        string
	version     int64
	commit      bool
	part, parts int  // of a checkpoint of several parts
	json        bool // of a checkpoint
	classic     bool // a checkpoint of one file, without an id
}

// versioned tells whether a name begins with a version, as all do but the hint's.
func versioned(name string) bool {
	return len(name) > versionDigits && name[versionDigits] == '.' && strings.Trim(name[:versionDigits], "0123456789") == ""
}

// parseName reads the name of a file in the log; false if it is neither a commit nor a checkpoint.
func parseName(name string) (logFile, bool) {
	if !versioned(name) {
		return logFile{}, false
	}
	version, err := strconv.ParseUint(name[:versionDigits], 10, 63)
	if err != nil {
		return logFile{}, false
	}
	f := logFile{name: name, version: int64(version)}
	parts := strings.Split(name[versionDigits+1:], ".")
	last := parts[len(parts)-1]
	switch {
	case len(parts) == 1 && last == "json":
		f.commit = true
		return f, true
	case len(parts) < 2 || parts[0] != "checkpoint":
		return logFile{}, false
	case len(parts) == 2 && last == "parquet":
		f.classic = true
		return f, true
	case len(parts) == 3 && (last == "parquet" || last == "json") && parts[1] != "":
		f.json = last == "json"
		return f, true
	case len(parts) == 4 && last == "parquet":
		part, err1 := strconv.ParseUint(parts[1], 10, 31)
		of, err2 := strconv.ParseUint(parts[2], 10, 31)
		f.part, f.parts = int(part), int(of)
		return f, err1 == nil && err2 == nil && part >= 1 && part <= of
	}
	return logFile{}, false
}
