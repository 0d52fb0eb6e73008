package deltalog_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

func TestDecodePath(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.parquet":               "a/b.parquet",
		"p=a%20b/%E6%97%A5.parquet": "p=a b/日.parquet",
		"p=a%252Fb":                 "p=a%2Fb",
		"a+b":                       "a+b",
		"/x/y":                      "abs /x/y",
		"file:/x/y%23":              "abs /x/y#",
		"file:///x/y":               "abs /x/y",
		"FILE://localhost/x":        "abs /x",
		"s3://bucket/a%20b":         "abs s3://bucket/a%20b",
		"p=a%3Ab/c":                 "p=a:b/c",
		"file://server/x":           `error the path "//server/x" is on another machine`,
		"a%2":                       `error the path "a%2" has a % that encodes nothing`,
		"a%":                        `error the path "a%" has a % that encodes nothing`,
		"a%+1":                      `error the path "a%+1" has a % that encodes nothing`,
	} {
		got, absolute, err := deltalog.DecodePath(path)
		if absolute {
			got = "abs " + got
		}
		if err != nil {
			got = "error " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

var hell = []string{"a b", "a/b", "a:b", "a%b", "a%20b", "a=b", "a+b", "a#b", "a&b", "R&D", "a?b", "(beta)", "é", "日本", "..", `a\b`, `a"b`, "trailing ", "[x]", "{x}",
	"a\x01b", "a\x7fb", "'", "*", "^", "🙂"}

// A value is escaped for the folder, and the folder encoded for the log: readers undo the second only.
func TestC067_PartitionFolders(t *testing.T) {
	for _, value := range hell {
		folder, err := deltalog.PartitionFolder("p", &value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(folder[len("p="):], "/\\:?#\"\x01\x7f") || folder == ".." {
			t.Errorf("%q: the folder is %q", value, folder)
		}
		if back, err := url.PathUnescape(strings.TrimPrefix(folder, "p=")); err != nil || back != value {
			t.Errorf("%q: the folder %q says %q, %v", value, folder, back, err)
		}
		path := folder + "/part.parquet"
		encoded := deltalog.EncodePath(path)
		if back, absolute, err := deltalog.DecodePath(encoded); back != path || absolute || err != nil {
			t.Errorf("%q: %q is decoded as %q, %v, %v", value, encoded, back, absolute, err)
		}
		if u, err := url.Parse(encoded); err != nil || u.Path != path || u.Scheme != "" {
			t.Errorf("%q: as a URI %q is %+v, %v", value, encoded, u, err)
		}
	}
	for value, want := range map[string]string{"a b": "p=a b", "a%20b": "p=a%2520b", "2026-01-01 00:00:00": "p=2026-01-01 00%3A00%3A00"} {
		if got, err := deltalog.PartitionFolder("p", &value); got != want || err != nil {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
	if got := deltalog.EncodePath("p=a%2520b c/x"); got != "p=a%252520b%20c/x" {
		t.Error(got)
	}
}

func TestC069_NullHasAFolderOfItsOwn(t *testing.T) {
	if got, err := deltalog.PartitionFolder("a:b", nil); got != "a%3Ab=__HIVE_DEFAULT_PARTITION__" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestATooLongFolderIsRefused(t *testing.T) {
	long := strings.Repeat("é", 127)
	if _, err := deltalog.PartitionFolder("p", &long); err == nil || !strings.Contains(err.Error(), "256 bytes") {
		t.Errorf("error %v", err)
	}
	long = long[2:]
	if _, err := deltalog.PartitionFolder("p", &long); err != nil {
		t.Error(err)
	}
}

func TestC070_AnEmptyTextIsNoPartition(t *testing.T) {
	empty := ""
	if got, err := deltalog.PartitionFolder("p", &empty); err == nil {
		t.Errorf("%s is taken", got)
	}
}
