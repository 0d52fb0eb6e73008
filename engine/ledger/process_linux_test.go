package ledger

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// procDir makes what certainlyGone reads of a proc(5) file system.
func procDir(t *testing.T, mounts string, stats map[string]string) string {
	dir := t.TempDir()
	if err := os.Symlink("7", filepath.Join(dir, "self")); err != nil {
		t.Fatal(err)
	}
	write := func(pid, name, text string) {
		if err := os.MkdirAll(filepath.Join(dir, pid), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, pid, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("7", "mounts", mounts)
	for pid, text := range stats {
		write(pid, "stat", text)
	}
	return dir
}

// table is the process table that a proc(5) file system shows to the process me.
func table(proc string, me int) func(int) process {
	return func(pid int) process { return readProcess(proc, me, pid) }
}

func stat(state, started string) string {
	return "1 (a) b) c) " + state + " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + started + " 1000 200 18446744073709551615\n"
}

// R08 and R09: a process is certainly gone only where this one can look, and looking is reading.
func TestR09_JudgingReadsAndNeverSignals(t *testing.T) {
	const mounts = "proc /proc proc rw,relatime 0 0\n"
	me := Identity{Machine: "m", Boot: "b", PIDNamespace: 1, PID: 7, Started: "50"}
	other := Identity{Machine: "m", Boot: "b", PIDNamespace: 1, PID: 8, Started: "99"}
	with := func(edit func(*Identity)) Identity { o := other; edit(&o); return o }
	for _, c := range []struct {
		what   string
		other  Identity
		mounts string
		stats  map[string]string
		want   bool
	}{
		{"its pid is free", other, mounts, nil, true},
		{"running", other, mounts, map[string]string{"8": stat("R", "99")}, false},
		{"stopped", other, mounts, map[string]string{"8": stat("T", "99")}, false},
		{"zombie", other, mounts, map[string]string{"8": stat("Z", "99")}, true},
		{"ended", other, mounts, map[string]string{"8": stat("X", "99")}, true},
		{"its pid was used again", other, mounts, map[string]string{"8": stat("S", "100")}, true},
		{"another machine", with(func(o *Identity) { o.Machine = "n" }), mounts, nil, false},
		{"no machine id", with(func(o *Identity) { o.Machine = "" }), mounts, nil, false},
		{"another boot", with(func(o *Identity) { o.Boot = "c" }), mounts, nil, false},
		{"no boot id", with(func(o *Identity) { o.Boot = "" }), mounts, nil, false},
		{"another pid namespace", with(func(o *Identity) { o.PIDNamespace = 2 }), mounts, nil, false},
		{"no pid", with(func(o *Identity) { o.PID = 0 }), mounts, nil, false},
		{"no start time", with(func(o *Identity) { o.Started = "" }), mounts, nil, false},
		{"others' processes are hidden", other, "proc /proc proc rw,hidepid=2 0 0\n", nil, false},
		{"others' processes are hidden by name", other, "proc /proc proc rw,hidepid=invisible 0 0\n", nil, false},
		{"hidepid off", other, "proc /proc proc rw,hidepid=0 0 0\n", nil, true},
		{"stat of another form", other, mounts, map[string]string{"8": "8 (x) R\n"}, false},
	} {
		if got := certainlyGone(table(procDir(t, c.mounts, c.stats), me.PID), me, c.other); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	elsewhere := me
	elsewhere.PID = 70 // proc is of another pid namespace
	if certainlyGone(table(procDir(t, mounts, nil), elsewhere.PID), elsewhere, other) {
		t.Error("a proc of another namespace was believed")
	}
	empty := other
	empty.Machine, me.Machine = "", ""
	if certainlyGone(table(procDir(t, mounts, nil), me.PID), me, empty) {
		t.Error("two unknown machines were taken for one")
	}
}

func TestThisProcess(t *testing.T) {
	me := ThisProcess()
	if me.PID != os.Getpid() || me.Host == "" {
		t.Fatalf("%+v", me)
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	state, started, err := processStat(procRoot, strconv.Itoa(os.Getpid()))
	if err != nil || started != me.Started || state == "" || me.Boot == "" || me.PIDNamespace == 0 {
		t.Fatalf("%+v, %s, %v", me, started, err)
	}
	if certainlyGone(lookUpProcess, me, me) {
		t.Fatal("this process is taken for gone")
	}
}
