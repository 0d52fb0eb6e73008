package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// examplePlugin is a project with one of configs/plugins and its data.
func examplePlugin(t *testing.T, name string, data ...string) *project {
	t.Helper()
	p := newProject(t, "")
	for _, file := range append(data, "plugins/"+name+"/pipeline.yaml") {
		text, err := os.ReadFile(filepath.Join("../configs", file))
		if err != nil {
			t.Fatal(err)
		}
		p.write(file, string(text))
	}
	digest := p.built("../configs/plugins/"+name+"/"+name+".wasm", "plugins/"+name+"/"+name+".wasm")
	p.env = []string{strings.ToUpper(name) + "_SHA256=" + digest, "WEATHER_TOKEN=s3cr3t-t0ken"}
	return p
}

const weatherFile = "quickstart/seattle-weather.csv"

// weather are the days of the file that begin so, as the readers of JSON give them.
func weather(t *testing.T, p *project, prefix string, row func(map[string]string) string) (all []string) {
	t.Helper()
	for _, line := range p.csvRows(weatherFile) {
		var v map[string]string
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(v["date"], prefix) {
			all = append(all, row(v))
		}
	}
	slices.Sort(all)
	return all
}

// killedAtPoints kills a run at some of its changes of files, has it done again, and looks at what is there.
func killedAtPoints(t *testing.T, fresh func() *project, args []string, whole func(what string, p *project)) {
	t.Helper()
	ops := fresh().traceHere(args...)
	kills := 0
	for _, k := range points(t, len(ops), 5) {
		p := fresh()
		if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, args...); r.exit == 137 {
			kills++
		} else {
			r.must(t, 0)
		}
		what := fmt.Sprintf("killed at %d (%v)", k, op(ops, k))
		if r := p.run(args...); r.exit != 0 && r.exit != 1 { // 1: it is finished
			t.Fatalf("%s: %s", what, r.stderr)
		}
		whole(what, p)
	}
	if kills < 3 {
		t.Fatalf("only %d of the runs were killed", kills)
	}
}

// The workbook of configs/plugins/excel has every day of its year, on the sheet of its month, as openpyxl reads it.
func TestExcelWorkbook(t *testing.T) {
	t.Parallel()
	fresh := func() *project { return examplePlugin(t, "excel", weatherFile) }
	args := []string{"run", "-c", "plugins/excel/pipeline.yaml", "--var", "year=2012"}
	whole := func(what string, p *project) {
		want := weather(t, p, "2012-", func(v map[string]string) string {
			number := func(name string) string { return strings.TrimSuffix(v[name], ".0") }
			return fmt.Sprintf(`{"sheet": "%s", "day": "%s 00:00:00", "sky": "%s", "rain_mm": "%s", "low_c": "%s", "high_c": "%s"}`, v["date"][:7], v["date"], v["weather"], number("precipitation"), number("temp_min"), number("temp_max"))
		})
		if len(want) != 366 {
			t.Fatalf("2012 has %d days", len(want))
		}
		got := foreign.read(t, map[string]any{"kind": "xlsx", "path": p.path("plugins/excel/lake/weather")})
		for i, line := range got {
			got[i] = strings.ReplaceAll(line, `.0"`, `"`)
		}
		slices.Sort(got)
		same(t, what, got, want)
	}
	p := fresh()
	p.run(args...).must(t, 0)
	whole("written", p)
	p.run(args...).must(t, 1)
	p.run(append(args, "--rerun")...).must(t, 0)
	whole("written again", p)
	killedAtPoints(t, fresh, args, whole)
}

// The statement of configs/plugins/statement adds up.
func TestBankStatement(t *testing.T) {
	t.Parallel()
	fresh := func() *project { return examplePlugin(t, "statement", "plugins/statement/bookings.csv") }
	args := []string{"run", "-c", "plugins/statement/pipeline.yaml", "--var", "month=2026-01"}
	whole := func(what string, p *project) {
		lines := p.lines("plugins/statement/lake/statements")
		if len(lines) != 6 || lines[5] != "T000000004D000000000097517C000000000231055C000000000258538" || !strings.HasSuffix(lines[4], "C000000000258538") ||
			!strings.HasPrefix(lines[0], "HDE02120300000000202051 ") || !strings.HasSuffix(lines[0], "EURC000000000125000") {
			t.Fatalf("%s: %s", what, strings.Join(lines, "\n"))
		}
		sum := big.NewInt(125000) // the lines themselves add up to the trailer
		for _, line := range lines[1:5] {
			amount, _ := new(big.Int).SetString(line[len(line)-31:len(line)-16], 10)
			if line[len(line)-32] == 'D' {
				amount.Neg(amount)
			}
			sum.Add(sum, amount)
			if want := fmt.Sprintf("C%015s", sum); line[len(line)-16:] != want {
				t.Fatalf("%s: %s where the balance is %s", what, line, want)
			}
		}
	}
	p := fresh()
	p.run(args...).must(t, 0)
	whole("written", p)
	killedAtPoints(t, fresh, args, whole)
	p.write("plugins/statement/bookings.csv", "booked,reference,text,amount\n2026-01-02,R,"+strings.Repeat("x", 41)+",1.00\n")
	p.run(append(args, "--rerun")...).must(t, 4).says(t, "plugin statement", `does not fit 40 characters of a line`, "cut it in a step")
	whole("after what failed", p)
}

// inbox is a host that takes rows. It may honour the key of a request, and kill who sends one.
type inbox struct {
	honours bool
	kill    func(n int, taken bool) bool // before the n-th request is taken and before it is answered; true: it was done

	mu     sync.Mutex
	keys   map[string]string
	rows   []string
	asked  int
	tokens []string
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.asked++
	in.tokens = append(in.tokens, r.Header.Get("Authorization"))
	if in.kill(in.asked, false) {
		return // it is not taken
	}
	key := r.Header.Get("Idempotency-Key")
	if before, again := in.keys[key]; in.honours && again {
		if before != string(body) {
			http.Error(w, "another request had this key: "+r.Header.Get("Authorization"), http.StatusUnprocessableEntity)
		}
		return
	}
	in.keys[key] = string(body)
	var rows []json.RawMessage
	if err := json.Unmarshal(body, &rows); err != nil || key == "" {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	for _, row := range rows {
		in.rows = append(in.rows, string(row))
	}
	in.kill(in.asked, true)
}

// deliveryTo is the example of configs/plugins/httpjson, which sends to a host of the test.
func deliveryTo(t *testing.T, in *inbox, honours bool) *project {
	t.Helper()
	in.keys, in.honours = map[string]string{}, honours
	if in.kill == nil {
		in.kill = func(int, bool) bool { return false }
	}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	p := examplePlugin(t, "httpjson", weatherFile)
	text := strings.ReplaceAll(p.text("plugins/httpjson/pipeline.yaml"), "http://localhost:8765", server.URL)
	p.write("plugins/httpjson/pipeline.yaml", strings.Replace(text, "honours_key: true", fmt.Sprintf("honours_key: %t", honours), 1))
	return p
}

var deliveryArgs = []string{"run", "-c", "plugins/httpjson/pipeline.yaml", "--dt", "2012-02"}

// february is what is to arrive.
func february(t *testing.T, p *project) []string {
	return weather(t, p, "2012-02-", func(v map[string]string) string {
		return fmt.Sprintf(`{"day":"%s","sky":"%s","rain_mm":%s}`, v["date"], v["weather"], v["precipitation"])
	})
}

// Rows are delivered to a host that the pipeline lists, once a batch, and the host alone is told the secret.
func TestHTTPDelivery(t *testing.T) {
	t.Parallel()
	in := &inbox{}
	p := deliveryTo(t, in, true)
	if said := p.run("plugin", "inspect", "./plugins/httpjson/httpjson.wasm").must(t, 0).stdout; !strings.Contains(said, "allow: {files: true, table: true, http: [the hosts]}}}") {
		t.Errorf("inspect: %s", said)
	}
	r := p.run(deliveryArgs...).must(t, 0)
	same(t, "rows", in.sorted(), february(t, p))
	in.mu.Lock()
	if len(in.keys) != 2 || !slices.Equal(in.tokens, []string{"Bearer s3cr3t-t0ken", "Bearer s3cr3t-t0ken"}) {
		t.Errorf("keys %v, tokens %v", in.keys, in.tokens)
	}
	in.mu.Unlock()
	p.run(deliveryArgs...).must(t, 1).says(t, "as delivery 1")
	if n := in.requests(); n != 2 {
		t.Errorf("a finished batch was sent: %d requests", n)
	}
	for _, text := range append([]string{r.stdout, r.stderr}, p.contents(".")...) {
		if strings.Contains(text, "s3cr3t-t0ken") {
			t.Errorf("the secret is in %.200s", text)
		}
	}
	p.env = slices.DeleteFunc(p.env, func(e string) bool { return strings.HasPrefix(e, "WEATHER_TOKEN=") })
	p.run(deliveryArgs...).must(t, 2).says(t, "the environment variable WEATHER_TOKEN is not set")
}

// A run that is killed while it delivers is done again. To a host that honours the key every row comes once, wherever it was killed; to
// one that does not, what was sent before comes again.
func TestHTTPDeliveryKilled(t *testing.T) {
	t.Parallel()
	for _, honours := range []bool{true, false} {
		for n := 1; n <= 2; n++ {
			for _, taken := range []bool{false, true} {
				t.Run(fmt.Sprintf("honours=%t request=%d taken=%t", honours, n, taken), func(t *testing.T) {
					t.Parallel()
					in := &inbox{}
					var victim *process
					started := make(chan struct{})
					in.kill = func(at int, was bool) bool {
						if at != n || was != taken {
							return false
						}
						<-started
						victim.signal(os.Kill)
						<-victim.done
						return true
					}
					p := deliveryTo(t, in, honours)
					victim = p.start(nil, deliveryArgs...)
					close(started)
					if r := victim.wait(); r.exit != 137 {
						t.Fatalf("it was not killed: exit %d: %s", r.exit, r.stderr)
					}
					r := p.run(deliveryArgs...).must(t, 0)
					want := february(t, p)
					if honours {
						same(t, "rows", in.sorted(), want)
						return
					}
					before := 20 * (n - 1) // what the killed run has delivered
					if taken {
						before = min(before+20, len(want))
					}
					if got := in.sorted(); len(got) != len(want)+before || !slices.Equal(slices.Compact(got), want) {
						t.Errorf("%d rows arrived, %d of them before the kill", len(got), before)
					}
					r.says(t, "which ended before its commit, may have written to the table", "take them out before")
				})
			}
		}
	}
}

func (in *inbox) requests() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.asked
}

func (in *inbox) sorted() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := slices.Clone(in.rows)
	slices.Sort(all)
	return all
}

// What a plugin may not ask ends the run, and nothing is sent.
func TestHTTPDeliveryThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		exit     int
		says     []string
	}{
		{"url: http://", "url: http://other.", 4, []string{"is not listed", "nothing became visible"}},
		{"http: [", "files: true, x-http: [", 2, nil},
		{`http: ["http`, `http: ["ftp`, 2, []string{"allow.http", "is asked neither by https nor by http"}},
		{"secrets: [WEATHER_TOKEN]", "", 4, []string{"${WEATHER_TOKEN}, which is not listed as a secret"}},
		{"url: http://127.0.0.1", "url: http://localhost", 4, []string{"is not listed"}},
	} {
		in := &inbox{}
		p := deliveryTo(t, in, true)
		text := p.text("plugins/httpjson/pipeline.yaml")
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Fatalf("the pipeline has no %s", c.from)
		}
		p.write("plugins/httpjson/pipeline.yaml", changed)
		p.run(deliveryArgs...).must(t, c.exit).says(t, c.says...)
		if n := in.requests(); n != 0 {
			t.Errorf("%s: %d requests", c.to, n)
		}
	}
}

// A host that refuses is quoted, without the secret, and whether it has something already is told.
func TestAHostThatRefuses(t *testing.T) {
	t.Parallel()
	in := &inbox{}
	p := deliveryTo(t, in, true)
	p.run(deliveryArgs...).must(t, 0)
	in.mu.Lock()
	for key := range in.keys { // as if other rows had been sent with the same keys
		in.keys[key] = "other"
	}
	in.mu.Unlock()
	os.RemoveAll(p.path("plugins/httpjson/lake"))
	os.RemoveAll(p.path("plugins/httpjson/.ubunye"))
	r := p.run(deliveryArgs...).must(t, 4).says(t, "answered 422: another request had this key: Bearer ***", "nothing became visible")
	if strings.Contains(r.stdout+r.stderr, "s3cr3t") {
		t.Error("the secret is printed")
	}
}
