package runstate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The second reading of a file: it knows no step and no format, only which path of the input becomes which path of the
// output. Paths are JSON pointers (RFC 6901), so a name with a dot or a slash in it is one element.

// renames is the written list of what stands elsewhere in version 8. Each is tried once, in this order.
var renames = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^(/actionsState/[^/]+)/attemptId$`), `$1/executionId/attemptId`},
	{regexp.MustCompile(`^(/actionsState/[^/]+/results/\d+)/subFeed(/.+)$`), `$1$2`},
	{regexp.MustCompile(`^(/actionsState/[^/]+/results/\d+)/mainMetrics(/.+)?$`), `$1/metrics$2`},
	{regexp.MustCompile(`^(/actionsState/[^/]+/(?:inputIds|outputIds)/\d+)/id$`), `$1`},
	{regexp.MustCompile(`^(/actionsState/[^/]+/results/\d+)/filter$`), `$1/filters/0`},
	{regexp.MustCompile(`^/buildVersionInfo(/.+)$`), `/sdlbVersionInfo$1`},
	{regexp.MustCompile(`^/appVersion$`), `/appVersionInfo/version`},
	{regexp.MustCompile(`^/runStateFormatVersion$`), `/migratedFrom/runStateFormatVersion`},
}

// wrapped are the places of partition values, which may stand in an object that holds them alone.
var wrapped = regexp.MustCompile(`^(/actionsState/[^/]+/results/\d+/partitionValues/\d+|` +
	`/actionsState/[^/]+/results/\d+/fileRefs/\d+/partitionValues|` +
	`/actionsState/[^/]+/results/\d+/fileRefMapping/\d+/(?:src|tgt)/partitionValues|` +
	`/appConfig/(?:partitionValues|multiPartitionValues)/\d+)/elements(/.+)?$`)

// The values that are written in another way, by where they stand in the output.
var (
	timePath     = regexp.MustCompile(`^(/(run|attempt)StartTime|/runEndTime|/actionsState/[^/]+/(start|end)Tstmp(Prepare|Init)?)$`)
	durationPath = regexp.MustCompile(`^/actionsState/[^/]+/duration$`)
	revisionPath = regexp.MustCompile(`^/sdlbVersionInfo/revision$`)
)

// added is the written list of what stands in the output and in no input.
var added = regexp.MustCompile(`^/(engine|runStateFormatVersion|migratedFrom/(engine|timeZone)|ubunyeVersionInfo/version|isFinal)$` +
	`|^/actionsState/[^/]+/executionId/(runId|attemptId)$`)

// leaves gives every scalar and every empty object and list of a JSON text by its path.
func leaves(t *testing.T, text []byte) map[string]string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				all[path] = "{}"
			}
			for name, inner := range v {
				walk(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), inner)
			}
		case []any:
			if len(v) == 0 {
				all[path] = "[]"
			}
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", path, i), inner)
			}
		case json.Number:
			all[path] = "number " + v.String()
		case string:
			all[path] = "text " + v
		default:
			all[path] = fmt.Sprint(v)
		}
	}
	walk("", tree)
	return all
}

// place tells where a leaf of the input stands in the output.
func place(path, value string) string {
	for _, r := range renames {
		path = r.from.ReplaceAllString(path, r.to)
	}
	// a column that is called elements is no wrapping: its value is a text
	if m := wrapped.FindStringSubmatch(path); m != nil && (m[2] != "" || value == "{}") {
		path = m[1] + m[2]
	}
	return path
}

// sameValue tells whether a leaf has kept its value.
func sameValue(t *testing.T, path, was, is string, zone *time.Location) bool {
	t.Helper()
	switch {
	case timePath.MatchString(path):
		return strings.HasSuffix(is, "Z") && instant(t, was, zone).Equal(instant(t, is, nil))
	case durationPath.MatchString(path) && strings.HasPrefix(was, "number "):
		return is == "text PT"+strings.TrimPrefix(was, "number ")+"S"
	case revisionPath.MatchString(path):
		return strings.TrimRight(was, "\r\n") == is
	}
	return was == is
}

// instant reads a time as the golden files and the real ones have it.
func instant(t *testing.T, text string, zone *time.Location) time.Time {
	t.Helper()
	text = strings.TrimPrefix(text, "text ")
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil && zone != nil {
			return at
		}
	}
	t.Fatalf("%q is no time", text)
	return time.Time{}
}

// wantNoLoss asserts that every leaf of the input is in the output, with its value, at the place that the list of
// renames gives, and that the output holds nothing else but what the list of additions names.
func wantNoLoss(t *testing.T, in, out []byte, zone *time.Location) {
	t.Helper()
	was, is := leaves(t, in), leaves(t, out)
	for _, path := range slices.Sorted(maps.Keys(was)) {
		to := place(path, was[path])
		value, there := is[to]
		switch {
		case !there:
			t.Errorf("%s (%s) is not at %s", path, was[path], to)
		case !sameValue(t, to, was[path], value, zone):
			t.Errorf("%s was %s and is %s at %s", path, was[path], value, to)
		}
		if !added.MatchString(to) {
			delete(is, to)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(is)) {
		if !added.MatchString(path) {
			t.Errorf("%s (%s) comes from nowhere", path, is[path])
		}
	}
}
