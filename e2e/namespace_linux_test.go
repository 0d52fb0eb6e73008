package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// host is a machine of its own as far as a process can tell: network, host name, process ids and mounts are not those
// of other hosts, as in a container. The ledger's folder is shared.
type host struct {
	name    string
	machine string // what /etc/machine-id says
}

// twoHosts are the ways in which two hosts that share a ledger may look alike. Each has an id, or none, and the processes
// of both have the same few pids.
var twoHosts = map[string][2]host{
	"other ids":           {{"alpha", "11111111111111111111111111111111\n"}, {"beta", "22222222222222222222222222222222\n"}},
	"one id":              {{"alpha", "11111111111111111111111111111111\n"}, {"beta", "11111111111111111111111111111111\n"}},
	"one id and one name": {{"alpha", "11111111111111111111111111111111\n"}, {"alpha", "11111111111111111111111111111111\n"}},
	"no ids":              {{"alpha", ""}, {"beta", ""}},
}

// hosted is the start of a command in namespaces of its own. If that process is killed, all that are in them are.
var hosted = []string{"-rm", "--uts", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"}

// becomeHost gives the namespaces a host's name and its machine id, which a system may have in two places.
const becomeHost = `hostname "$1" && for id in /etc/machine-id /var/lib/dbus/machine-id; do
	test ! -e "$id" || mount --bind "$2" "$id" || exit 111
done; shift 2; `

// needHosts skips the test where the system does not let it make namespaces.
var needHosts = sync.OnceValue(func() string {
	args := append(hosted, "/bin/sh", "-c", becomeHost+`test "$(hostname)" = alpha`, "sh", "alpha", "/dev/null")
	if out, err := exec.Command("unshare", args...).CombinedOutput(); err != nil {
		return fmt.Sprintf("no namespaces can be made here (unshare %s: %v: %s)", strings.Join(hosted, " "), err, out)
	}
	if _, err := os.Stat("/etc/machine-id"); err != nil {
		return "this system has no /etc/machine-id that another one could be mounted on: " + err.Error()
	}
	return ""
})

func skipWithoutHosts(t *testing.T) {
	t.Helper()
	if why := needHosts(); why != "" {
		t.Skip(why)
	}
}

// on starts a script on a host, with the program and its arguments as "$@".
func (p *project) on(h host, script string, env []string, args ...string) *process {
	p.t.Helper()
	id, err := os.CreateTemp(p.t.TempDir(), "machine-id")
	if err == nil {
		_, err = id.WriteString(h.machine)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	id.Close()
	args = append([]string{"/bin/sh", "-c", becomeHost + script, "sh", h.name, id.Name(), program}, args...)
	return p.launch(env, "unshare", append(hosted, args...)...)
}

// asChild runs the program as a child of the namespace's first process, as it is on most machines.
const asChild = `"$@"; exit $?`

// within gives the pid, as these tests see it, of the program that a process runs at some depth below it.
func (q *process) within() int {
	q.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		below := []int{q.cmd.Process.Pid}
		for len(below) > 0 {
			pid := below[0]
			below = below[1:]
			if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); exe == program {
				return pid
			}
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
			for _, child := range strings.Fields(string(children)) {
				n, _ := strconv.Atoi(child)
				below = append(below, n)
			}
		}
		select {
		case <-q.done:
			q.t.Fatalf("it ended before it ran the program: %+v", q.wait())
		case <-tick.C:
		}
	}
}

// unending is a pipeline of the same name and task whose SQL takes for ever: its run holds the batch until it is killed.
func unending(pipeline string) string {
	return strings.Replace(pipeline, "FROM raw WHERE amount IS NOT NULL", "FROM raw WHERE amount < (SELECT sum(hash(i)) FROM range(1000000000000000) r(i))", 1)
}

// holding waits until a batch of 2026-01-01 is held and its holder has given a sign for longer than some time; it gives
// the holder's run.
func (p *project) holding(q *process, longer time.Duration) (run string) {
	p.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var first time.Time
	for {
		select {
		case <-q.done:
			p.t.Fatalf("the run ended: %+v", q.wait())
		case <-tick.C:
		}
		beats, _ := filepath.Glob(p.path(".ubunye/runs/*.beat"))
		if len(beats) != 1 || !held(p.document("clean_orders", "")) {
			continue
		}
		info, err := os.Stat(beats[0])
		if err != nil {
			continue
		}
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().Sub(first) >= longer {
			return strings.TrimSuffix(filepath.Base(beats[0]), ".beat")
		}
	}
}

// R07, R08, R12, C022, C025: a run lives on another host, where its pid cannot be looked at, for longer than the timeout: it
// is never taken for dead, and nothing unlocks its batch. Then its host is gone. The next start is refused and says
// who holds the batch and for how long that counts; one that waits takes over when the time has passed.
func TestC022C025R08AHolderOnAnotherHost(t *testing.T) {
	skipWithoutHosts(t)
	t.Parallel()
	for name, hosts := range twoHosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSales(t)
			p.write("pipeline.yaml", salesPipeline+shortLedger)
			p.write("endless.yaml", unending(salesPipeline)+shortLedger+"engine: {threads: 1}\n")
			first := p.on(hosts[0], asChild, nil, "run", "-c", "endless.yaml", "--dt", "2026-01-01")
			run := p.holding(first, 7*time.Second) // the timeout is 6s
			before := p.files(".ubunye/batches")
			r := p.on(hosts[1], asChild, nil, dayArgs("2026-01-01")...).wait().must(t, 1).oneLine(t)
			r.says(t, "held by run "+run, "host alpha", "since ", "whose last heartbeat was ", "after 6s without one it is taken for dead")
			p.on(hosts[1], asChild, nil, "recover", "-c", "pipeline.yaml").wait().must(t, 0)
			same(t, "documents after a refusal and recover", p.files(".ubunye/batches"), before)
			select {
			case <-first.done:
				t.Fatalf("the first run ended: %+v", first.wait())
			default:
			}

			first.signal(syscall.SIGKILL)
			first.wait()
			sign, err := os.Stat(p.path(".ubunye/runs/" + run + ".beat"))
			if err != nil {
				t.Fatal(err)
			}
			r = p.on(hosts[1], asChild, nil, dayArgs("2026-01-01", "--wait=1m")...).wait().must(t, 0)
			r.says(t, "took over from run "+run, "host alpha", "it gives no sign", "what it had staged is dropped")
			if n := strings.Count(r.stderr, "took over"); n != 1 {
				t.Fatalf("the takeover is told %d times: %s", n, r.stderr)
			}
			if since, err := time.Parse(time.RFC3339, finishedAt(p.document("clean_orders", ""))); err != nil || since.Sub(sign.ModTime().Truncate(time.Second)) < 6*time.Second { // it is kept in seconds
				t.Fatalf("committed %v after the last sign, before anybody may take over (%v)", since.Sub(sign.ModTime()), err)
			}
			same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
			if rec := p.record(run); rec.Status != "interrupted" || rec.By != finishedRun(p.document("clean_orders", "")) {
				t.Fatalf("the record of the dead run: %+v", rec)
			}
			same(t, "staging", p.dataFiles(".ubunye/staging"), nil)
		})
	}
}

func finishedAt(doc map[string]any) string {
	finished, _ := doc["finished"].(map[string]any)
	at, _ := finished["at"].(string)
	return at
}

// atOnce starts the program four times and tells of each how it ended.
const atOnce = `pids=; for i in 1 2 3 4; do "$@" & pids="$pids $!"; done
for p in $pids; do wait $p; echo "exit $?"; done`

// R02, R04, C032: four starts on each of two hosts at the same time. Of one batch one wins, and all others are
// refused cleanly; of two batches one each.
func TestC032R04CrowdsOnTwoHosts(t *testing.T) {
	skipWithoutHosts(t)
	t.Parallel()
	for name, hosts := range twoHosts {
		for _, days := range [][2]string{{"2026-01-01", "2026-01-01"}, {"2026-01-01", "2026-01-02"}} {
			t.Run(name+", "+strings.Join(days[:], " and "), func(t *testing.T) {
				t.Parallel()
				p := newSales(t)
				var both [2]*process
				for i, h := range hosts {
					both[i] = p.on(h, atOnce, nil, dayArgs(days[i])...)
				}
				won := [2]int{}
				for i, q := range both {
					r := q.wait().must(t, 0)
					won[i] = strings.Count(r.stdout, "exit 0\n")
					if refused := strings.Count(r.stdout, "exit 1\n"); won[i]+refused != 4 || strings.Count(r.stderr, "refused: ") != refused {
						t.Fatalf("%s: %d ran and %d were refused of 4:\n%s%s", hosts[i].name, won[i], refused, r.stdout, r.stderr)
					}
				}
				want := p.salesRows(days[0])
				if days[0] != days[1] {
					want = p.salesRows(days[:]...)
					if won != [2]int{1, 1} {
						t.Fatalf("%v starts of two batches ran, want one each", won)
					}
				} else if won[0]+won[1] != 1 {
					t.Fatalf("%v starts of one batch ran, want one", won)
				}
				same(t, "rows", p.rows("lake/orders"), want)
				same(t, "runs that are left", p.files(".ubunye/runs"), nil)
			})
		}
	}
}
