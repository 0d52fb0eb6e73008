package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// C023: the system ends a run that holds its batch because memory is short. Nothing of it is seen, and the next start has the
// batch: at once where it can be told that the process is gone, and from another host when the heartbeat has been
// silent for the timeout. That is never less than six intervals of the heartbeat.
func TestC023_AHolderThatRunsOutOfMemory(t *testing.T) {
	skipWithoutHosts(t)
	t.Parallel()
	short := newSales(t)
	short.write("pipeline.yaml", salesPipeline+"ledger: {heartbeat: 2s, timeout: 11s}\n")
	short.runDay("2026-01-01").must(t, 2).says(t, "less than six heartbeats")
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprintf("next start elsewhere %v", elsewhere), func(t *testing.T) {
			t.Parallel()
			p := newSales(t)
			p.write("pipeline.yaml", salesPipeline+shortLedger)
			p.write("endless.yaml", unending(salesPipeline)+shortLedger+"engine: {threads: 1}\n")
			hosts := twoHosts["one id"]
			args := []string{"run", "-c", "endless.yaml", "--dt", "2026-01-01"}
			var first *process
			if elsewhere {
				first = p.on(hosts[0], asChild, nil, args...)
			} else {
				first = p.start(nil, args...)
			}
			run := p.holding(first, 0)
			// The kernel cannot be made to choose without hurting others; what it sends to its choice is this.
			if err := syscall.Kill(first.within(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			first.wait().must(t, 137)
			same(t, "left in the lake", p.files("lake"), nil)
			args = dayArgs("2026-01-01", "--wait=1m")
			why := "it gives no sign"
			if elsewhere {
				second := p.on(hosts[1], asChild, nil, args...)
				second.wait().must(t, 0).says(t, "took over from run "+run, why)
			} else {
				why = "its process ended"
				p.run(args...).must(t, 0).says(t, "took over from run "+run, why)
			}
			same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
		})
	}
}

// C062: a disk of two megabytes is full when the run writes its output, or its ledger. What was there stays, nothing broken is
// seen under a final name, the exit code is not that of a wrong pipeline, and with more room the next start just works.
func TestC062_AFullDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	big := strings.Replace(bulky, "name: bulky", "name: bulky\ndurability: safe", 1)
	for _, full := range []string{"lake", ".ubunye"} {
		p := newProject(t, big)
		p.write("small.yaml", strings.NewReplacer("range(500000)", "range(5)", "name: bulky", "name: small").Replace(big))
		p.write("in.csv", "id\n0\n")
		p.mount(full, "tmpfs", "size=2m")
		ids := func() int {
			rows := foreign.read(t, map[string]any{"kind": "parquet", "path": p.path("lake"), "columns": []string{"id"}})
			return len(rows)
		}
		p.run("run", "-c", "small.yaml", "--dt", "2026-01-01").must(t, 0)
		before := p.dataFiles("lake")
		exit, untouched := 4, "nothing became visible"
		if full == ".ubunye" { // the output is staged on its own disk: this one is filled by somebody else
			exit, untouched = 1, "nothing was read or written"
			if err := os.WriteFile(p.path(".ubunye/filler"), make([]byte, 4<<20), 0o666); err == nil {
				t.Fatal("four megabytes fit on a disk of two")
			}
		}
		r := p.runDay("2026-01-01").must(t, exit).says(t, "make room")
		same(t, full+" is full: files", p.dataFiles("lake"), before)
		if n := ids(); n != 5 {
			t.Fatalf("%s is full: %d rows, want the 5 old ones", full, n)
		}
		r.says(t, untouched)
		if err := syscall.Mount("none", p.path(full), "tmpfs", syscall.MS_REMOUNT, "size=200m"); err != nil {
			t.Fatal(err)
		}
		p.runDay("2026-01-01").must(t, 0)
		if n := ids(); n != 500005 {
			t.Fatalf("%s has room: %d rows", full, n)
		}
		same(t, full+" has room: staging", p.files(".ubunye/staging"), nil)
	}
}

// C062: no file may be larger than a megabyte: the write fails, and the program does not die of it.
func TestC062_AFileThatMayNotGrow(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		p := newProject(t, strings.Replace(bulky, "format: parquet", "format: "+format, 1))
		p.format = format
		p.write("in.csv", "id\n0\n")
		q := p.launch(nil, "/bin/sh", append([]string{"-c", `ulimit -f 2000; "$0" "$@"`, program}, dayArgs("2026-01-01")...)...)
		q.wait().must(t, 4).says(t, "nothing became visible")
		same(t, format+": files", p.files("lake"), nil)
		same(t, format+": staging", p.dataFiles(".ubunye/staging"), nil)
		if doc := p.document("fill", ""); held(doc) || committed(doc) {
			t.Fatalf("%s: %v", format, doc)
		}
		p.write("pipeline.yaml", strings.NewReplacer("format: parquet", "format: "+format, "range(500000)", "range(5)").Replace(bulky))
		p.runDay("2026-01-01").must(t, 0)
		if n := len(p.rows("lake")); n != 5 {
			t.Fatalf("%s: %d rows with less to write", format, n)
		}
	}
}

// C064: the program is the first process of its pid namespace, as in a container, where only signals that it handles reach
// it. SIGTERM ends it in time, at its query too, a second one does no harm, and its batch is free.
func TestC064_AsTheFirstProcessOfAContainer(t *testing.T) {
	skipWithoutHosts(t)
	t.Parallel()
	for _, twice := range []bool{false, true} {
		p := newSales(t)
		p.write("endless.yaml", unending(salesPipeline)+"engine: {threads: 1}\n")
		q := p.on(twoHosts["other ids"][0], `exec "$@"`, nil, "run", "-c", "endless.yaml", "--dt", "2026-01-01")
		p.holding(q, 0)
		pid := q.within()
		if status := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))); !strings.Contains(status, "NSpid:\t"+strconv.Itoa(pid)+"\t1\n") {
			t.Fatalf("it is not the first process of its namespace: %s", status)
		}
		told := time.Now()
		for range map[bool]int{false: 1, true: 2}[twice] {
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		q.wait().must(t, 143).says(t, "interrupted by SIGTERM")
		if took := time.Since(told); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if doc := p.document("clean_orders", ""); held(doc) || committed(doc) {
			t.Fatalf("%v", doc)
		}
		same(t, "left", append(p.files("lake"), p.files(".ubunye/staging")...), nil)
		p.runDay("2026-01-01").must(t, 0)
		same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	}
}

// C107: the ledger's disk becomes read-only while a run works: no file of it can be replaced. The run fails, every file is as
// it was, and when the disk can be written again the next start takes over.
func TestC107_ALedgerThatBecomesReadOnly(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := newSales(t)
	p.mount(".ubunye", "tmpfs", "")
	p.runDay("2026-01-02").must(t, 0)
	q := p.start([]string{"UBUNYE_FAULT=stop:~.parquet.staged"}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		t.Fatalf("it did not stop: %+v", q.wait())
	}
	before := p.contents(".ubunye")
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("none", p.path(".ubunye"), "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	q.signal(cont)
	if r := q.wait(); r.exit != 4 && r.exit != 5 {
		t.Fatalf("exit %d: %s", r.exit, r.stderr)
	}
	same(t, "the ledger", p.contents(".ubunye"), before)
	p.runDay("2026-01-01").must(t, 1).says(t, "read-only file system")
	same(t, "the ledger after another start", p.contents(".ubunye"), before)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-02"))
	remount(0)
	p.runDay("2026-01-01").must(t, 0)
	same(t, "rows at the end", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
}
