package runstate

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zone of the golden files, wherever the test runs

	"github.com/ubunye-io/ubunye/internal/cases"
)

func zurich(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// upcastText brings a file to the newest format, as it would be written, and checks that against the schema.
func upcastText(t *testing.T, in []byte, zone *time.Location) (*Document, []byte) {
	t.Helper()
	d, err := decode("file", in, zone)
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&Folder{Version: "0.0.0"}).encode(d)
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := runStateSchemas()
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas["lenient"].Check(out); err != nil {
		t.Fatal(err)
	}
	return d, out
}

// dialects are the shapes in which Smart Data Lake Builder wrote state files, each with a golden file.
var dialects = []struct {
	file string
	from string // version, as Migrate tells it
	zone string
}{
	{"absent-a.shop.3.1.json", "no version", "Europe/Zurich"},
	{"absent-b.shop.4.1.json", "no version", "Europe/Zurich"},
	{"absent-c.shop.5.2.json", "no version", "Europe/Zurich"},
	{"absent-d.shop.6.1.json", "no version", "Europe/Zurich"},
	{"v1.0.shop.7.1.json", "v1.0", "Europe/Zurich"},
	{"v1.shop.8.1.json", "v1", "Europe/Zurich"},
	{"v2.shop.9.1.json", "v2", "Europe/Zurich"},
	{"v3.shop.10.1.json", "v3", "Europe/Zurich"},
	{"v4-early.shop.11.1.json", "v4", "Europe/Zurich"},
	{"v4.shop.12.2.json", "v4", "Europe/Zurich"},
	{"v5-local.shop.13.1.json", "v5", "Europe/Zurich"},
	{"v5-utc.shop.14.1.json", "v5", ""},
	{"v6.shop.15.1.json", "v6", ""},
	{"v7.shop.16.1.json", "v7", ""},
}

func golden(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryDialectIsUpcastWithoutLoss(t *testing.T) {
	if files, err := filepath.Glob("testdata/*.json"); err != nil || len(files) != len(dialects) {
		t.Fatalf("%d golden files, %d dialects, %v", len(files), len(dialects), err)
	}
	for _, c := range dialects {
		t.Run(c.file, func(t *testing.T) {
			in := golden(t, c.file)
			d, out := upcastText(t, in, zurich(t))
			wantNoLoss(t, in, out, zurich(t))
			if d.Migrated == nil || d.Migrated.Engine != "sdlb" || versionText(d.Migrated) != c.from || d.Migrated.Zone != c.zone {
				t.Errorf("it is from %+v", d.Migrated)
			}
			again, second := upcastText(t, out, time.UTC)
			if string(second) != string(out) {
				t.Errorf("read and written again it is\n%s\nnot\n%s", second, out)
			}
			if !again.foreign() {
				t.Error("written, it is not told from ours any more")
			}
		})
	}
}

// The 75 files of a project that ran for two years. They are read where they lie, beside the repository.
func TestRealFilesAreUpcastWithoutLoss(t *testing.T) {
	dir := cases.Folder(t, "sdlb-state")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^v(\w+)_[0-9a-f]+_viz_state_(current|succeeded)_(.+)$`)
	versions := map[string]int{}
	for _, file := range files {
		m := named.FindStringSubmatch(filepath.Base(file))
		if m == nil {
			t.Fatalf("%s has another name", file)
		}
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, out := upcastText(t, in, zurich(t))
		wantNoLoss(t, in, out, zurich(t))
		if app, n, ok := parseName(m[3]); !ok || d.App.Name != app || d.Run != n.Run || d.Attempt != n.Attempt {
			t.Errorf("%s is %s %d.%d", file, d.App.Name, d.Run, d.Attempt)
		}
		// in these files nothing was skipped, and streams there were none
		if ran := strings.Count(string(in), `"state" : "SUCCEEDED"`); ran != len(d.Actions)-len(d.Unfinished()) {
			t.Errorf("%s: %d succeeded, unfinished are %v of %d", file, ran, d.Unfinished(), len(d.Actions))
		}
		versions[m[1]]++
	}
	if len(files) != 75 || versions["None"] != 37 || versions["4"] != 3 || versions["5"] != 35 {
		t.Errorf("%d files: %v", len(files), versions)
	}
}

// What a step might get wrong, by what stands in the document afterwards.
func TestKnownTrapsOfOldFormats(t *testing.T) {
	doc := func(t *testing.T, file string) *Document {
		d, _ := upcastText(t, golden(t, file), zurich(t))
		return d
	}
	text := func(t *testing.T, d *Document) map[string]string {
		out, err := (&Folder{}).encode(d)
		if err != nil {
			t.Fatal(err)
		}
		return leaves(t, out)
	}
	want := func(t *testing.T, got map[string]string, path, value string) {
		t.Helper()
		if got[path] != value {
			t.Errorf("%s is %q, want %q", path, got[path], value)
		}
	}
	t.Run("metrics of old attempts are kept", func(t *testing.T) {
		got := text(t, doc(t, "v4.shop.12.2.json"))
		want(t, got, "/actionsState/a/results/0/metrics/rows_inserted", "number 7")
		want(t, got, "/actionsState/a/executionId/attemptId", "number 1")
		want(t, got, "/attemptId", "number 2")
	})
	t.Run("an action called results", func(t *testing.T) {
		got := text(t, doc(t, "absent-a.shop.3.1.json"))
		want(t, got, "/actionsState/results/results/0/dataObjectId", "text orders")
		want(t, got, "/actionsState/results/results/0/metrics/bytes_written", "number 12345678901234567890")
		want(t, got, "/actionsState/results/results/0/metrics/rate", "number 1.50")
	})
	t.Run("a partition column called filter", func(t *testing.T) {
		got := text(t, doc(t, "absent-a.shop.3.1.json"))
		want(t, got, "/actionsState/results/results/0/partitionValues/0/filter", "text a")
		want(t, got, "/actionsState/results/results/0/partitionValues/1", "{}")
		want(t, got, "/actionsState/results/results/0/filters/0", "text amount > 1")
	})
	t.Run("partition values of the application", func(t *testing.T) {
		got := text(t, doc(t, "absent-a.shop.3.1.json"))
		want(t, got, "/appConfig/partitionValues/0/dt", "text 20210301")
		want(t, got, "/appConfig/partitionValues/0/elements", "text e")
		want(t, text(t, doc(t, "absent-d.shop.6.1.json")), "/appConfig/multiPartitionValues/0/dt", "text 1")
		want(t, text(t, doc(t, "v4.shop.12.2.json")), "/appConfig/partitionValues/0/elements", "text 2")
	})
	t.Run("a partition column called elements", func(t *testing.T) {
		want(t, text(t, doc(t, "absent-d.shop.6.1.json")), "/actionsState/elements/results/0/partitionValues/0/elements", "text x")
		want(t, text(t, doc(t, "v4.shop.12.2.json")), "/actionsState/a/results/0/partitionValues/0/elements", "text only")
	})
	t.Run("what is called elements elsewhere", func(t *testing.T) {
		want(t, text(t, doc(t, "v2.shop.9.1.json")), "/actionsState/mainMetrics/results/0/parameters/elements/a", "text b")
		want(t, text(t, doc(t, "v4-early.shop.11.1.json")), "/actionsState/metrics/results/0/metrics/elements/elements", "number 1")
	})
	t.Run("versions 3 and 4 do not skip their step", func(t *testing.T) {
		want(t, text(t, doc(t, "v3.shop.10.1.json")), "/actionsState/a/results/0/partitionValues/1/dt", "text 2")
		want(t, text(t, doc(t, "v3.shop.10.1.json")), "/actionsState/a/inputIds/0", "text a")
		want(t, text(t, doc(t, "v4-early.shop.11.1.json")), "/actionsState/metrics/results/0/partitionValues/0/dt", "text 1")
	})
	t.Run("local times", func(t *testing.T) {
		got := text(t, doc(t, "absent-a.shop.3.1.json"))
		want(t, got, "/actionsState/results/startTstmp", "text 2021-03-01T01:00:00Z") // without seconds, in winter
		got = text(t, doc(t, "v5-local.shop.13.1.json"))
		want(t, got, "/runStartTime", "text 2024-06-30T22:30:00.184488956Z") // in summer
		want(t, got, "/actionsState/filter/endTstmp", "text 2024-06-30T23:31:06.25Z")
		want(t, got, "/sdlbVersionInfo/date", "text 2024-06-25T15:06:40.462934520") // of another machine, whose zone nobody knows
		want(t, got, "/sdlbVersionInfo/revision", "text 02bb4d137c")
	})
	t.Run("times with a zone", func(t *testing.T) {
		got := text(t, doc(t, "v5-utc.shop.14.1.json"))
		want(t, got, "/actionsState/a/startTstmp", "text 2025-04-28T05:20:00Z")
		want(t, got, "/actionsState/a/endTstmp", "text 2025-04-28T05:20:59.000000001Z")
	})
	t.Run("durations", func(t *testing.T) {
		want(t, text(t, doc(t, "absent-a.shop.3.1.json")), "/actionsState/results/duration", "text PT7S")
		want(t, text(t, doc(t, "v1.shop.8.1.json")), "/actionsState/subFeed/duration", "text PT0S")
		want(t, text(t, doc(t, "v1.0.shop.7.1.json")), "/actionsState/inputIds/duration", "text PT-0.5S")
	})
	t.Run("results of unknown type", func(t *testing.T) {
		got := text(t, doc(t, "v1.shop.8.1.json"))
		want(t, got, "/actionsState/subFeed/results/0/payload/subFeed/2/id", "text x")
		want(t, got, "/actionsState/subFeed/results/0/metrics/a", "<nil>")
	})
	t.Run("states are kept, and cancelled without a cause is not completed", func(t *testing.T) {
		for file, c := range map[string]struct {
			action    string
			state     State
			completed bool
		}{
			"absent-b.shop.4.1.json": {"runStateFormatVersion", Cancelled, false},
			"absent-d.shop.6.1.json": {"elements", Initialized, false},
			"v1.0.shop.7.1.json":     {"inputIds", Skipped, true},
			"v1.shop.8.1.json":       {"subFeed", Streaming, true},
			"v2.shop.9.1.json":       {"mainMetrics", Prepared, false},
		} {
			if a := doc(t, file).Actions[c.action]; a.State != c.state || a.Completed() != c.completed {
				t.Errorf("%s: %s, completed %v", file, a.State, a.Completed())
			}
		}
	})
	t.Run("both filters", func(t *testing.T) {
		got := text(t, doc(t, "v6.shop.15.1.json"))
		want(t, got, "/actionsState/filters/results/0/filters", "[]")
		want(t, got, "/actionsState/filters/results/1/filters/0", "text ts > 1")
		want(t, text(t, doc(t, "v7.shop.16.1.json")), "/actionsState/a/results/0/filters/0/column", "text ts")
	})
}

// head is a file of version 7 with one action, for what is wrong with it.
const head = `{"appConfig":{"applicationName":"shop"},"runId":1,"attemptId":1,"runStateFormatVersion":`

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	action := func(version, text string) string {
		return head + version + `,"actionsState":{"a.b":` + text + `},"isFinal":true}`
	}
	for text, want := range map[string]string{
		"":                    "cut off",
		"null":                "no JSON object",
		"[]":                  "array",
		"{} {}":               "something follows",
		"{}":                  "applicationName",
		"{\"a\":\"\xff\"}":    "not UTF-8",
		action(`8`, `{}`):     "formats up to 7",
		action(`"2.0"`, `{}`): "no version",
		action(`"abc"`, `{}`): "no version",
		action(`0`, `{}`):     "no version",
		action(`1.5`, `{}`):   "no version",
		action(`true`, `{}`):  "neither a number nor a text",
		action(`5,"engine":"ubunye"`, `{"state":"SUCCEEDED"}`):                              "has the format 5, which is not",
		action(`9,"engine":"ubunye"`, `{"state":"SUCCEEDED"}`):                              "formats up to 8",
		action(`8,"engine":"other"`, `{"state":"SUCCEEDED"}`):                               "program other",
		`{"engine":"ubunye","appConfig":{"applicationName":"shop"}}`:                        "no runStateFormatVersion",
		action(`8,"engine":"ubunye"`, `{}`):                                                 "actionsState.a.b has no state",
		action(`7`, `[]`):                                                                   "actionsState.a.b is no object",
		action(`3`, `{"state":"X","results":{}}`):                                           "actionsState.a.b.results is no list",
		action(`3`, `{"state":"X","results":[1]}`):                                          "actionsState.a.b.results[0] is no object",
		action(`5`, `{"state":"X","startTstmp":"yesterday"}`):                               `actionsState.a.b.startTstmp: "yesterday" is no time`,
		action(`5`, `{"state":"X","startTstmp":"2024-02-30T00:00:00"}`):                     "is no time",
		action(`5`, `{"state":"X","startTstmp":5}`):                                         "no text",
		action(`5`, `{"state":"X","duration":"soon"}`):                                      `"soon" is no duration`,
		action(`5`, `{"state":"X","duration":1.5}`):                                         "no number of seconds",
		action(`3`, `{"state":"X","inputIds":[{"id":"a","b":1}]}`):                          "actionsState.a.b.inputIds[0] is no id",
		action(`3`, `{"state":"X","results":[{"subFeed":{"metrics":1},"mainMetrics":{}}]}`): "has metrics twice",
		action(`3`, `{"state":"X","results":[{"mainMetrics":{},"metrics":{}}]}`):            "both mainMetrics and metrics",
		`{"appConfig":{"applicationName":"shop"},"runId":1,"attemptId":1,"actionsState":{"a":{"attemptId":1,"executionId":{},"state":"X"}}}`: "both attemptId and executionId",
		strings.Replace(action(`7`, `{"state":"X"}`), `"isFinal"`, `"migratedFrom":{},"isFinal"`, 1):                                         "does not say that it is ours",
		strings.Replace(action(`7`, `{"state":"X"}`), `"runId":1`, `"runId":0`, 1):                                                           "no runId",
		strings.Replace(action(`7`, `{"state":"X"}`), `"attemptId":1`, `"attemptId":"1"`, 1):                                                 "attemptId",
	} {
		_, err := decode("the/file.json", []byte(text), time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the/file.json") {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
		var newer *NewerError
		var unreadable *UnreadableError
		if strings.Contains(want, "formats up to") != errors.As(err, &newer) || newer == nil && !errors.As(err, &unreadable) {
			t.Errorf("%s: a %T", text, err)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT0S": 0, "PT7S": 7 * time.Second, "PT0.1S": 100 * time.Millisecond, "PT0.000000001S": 1, "PT1H": time.Hour,
		"PT2M3.5S": 123500 * time.Millisecond, "PT-0.5S": -500 * time.Millisecond, "PT1H1M1.25S": 3661250 * time.Millisecond,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if got, err := parseDuration(DurationText(want)); err != nil || got != want {
			t.Errorf("%v is written as %s: %v, %v", want, DurationText(want), got, err)
		}
	}
	for _, bad := range []string{"", "PT", "7S", "P1D", "PT1.2.3S", "PT99999999999H"} {
		if got, err := parseDuration(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
