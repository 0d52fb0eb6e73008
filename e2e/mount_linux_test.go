package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// inNamespace runs the same test again in a mount namespace of its own, where disks can be mounted; true in there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const name = "UBUNYE_TEST_NAMESPACE"
	if os.Getenv(name) != "" {
		return true
	}
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted here: %v: %s", err, out)
	}
	cmd := exec.Command("unshare", "-rm", os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), name+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// mount mounts a file system at a folder of the project, which is made.
func (p *project) mount(folder, kind, options string) {
	p.t.Helper()
	if err := os.MkdirAll(p.path(folder), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Mount("none", p.path(folder), kind, 0, options); err != nil {
		p.t.Skipf("%s cannot be mounted here: %v", kind, err)
	}
	p.t.Cleanup(func() { syscall.Unmount(p.path(folder), syscall.MNT_DETACH) })
}

// R67, R60: the output is a mount point. What is in it is moved, and the log says that it could be seen;
// a reader that passes over names with "_" in front finds the old rows until the first move.
func TestR67AnOverwriteOfAMountPoint(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := newReplacing(t, "overwrite")
	p.mount("lake/orders", "tmpfs", "")
	said := "cannot itself be replaced"
	p.runDay("2026-01-01").must(t, 0).says(t, said, "readers could see")
	same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
	if r := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-02").must(t, 0); !strings.Contains(r.stdout, "would replace 2 files, 2 partitions; a disk is mounted there") {
		t.Fatalf("plan: %s", r.stdout)
	}
	q := p.start([]string{"UBUNYE_FAULT=stop:~/old/"}, dayArgs("2026-01-02")...)
	if !q.waitStopped() {
		t.Fatalf("not stopped: %+v", q.wait())
	}
	same(t, "rows before the first move", p.rows("lake/orders"), p.want("1", "2"))
	q.signal(cont)
	q.wait().must(t, 0).says(t, said)
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	if len(p.dataFiles("lake/orders")) != 2 || len(p.files("lake/orders")) != 7 || len(p.files(".ubunye/runs")) != 0 {
		t.Fatalf("left: %v %v", p.files("lake/orders"), p.files(".ubunye/runs"))
	}

	// Killed when half of the old entries are away: the next start puts them back, whatever it does then.
	for _, mode := range []string{"overwrite_partitions", "overwrite"} {
		p.write("pipeline.yaml", replacingPipeline("overwrite"))
		p.runEnv([]string{"UBUNYE_FAULT=kill:~/old/region=eu"}, dayArgs("2026-01-01")...).must(t, 137)
		same(t, "rows after the kill", p.rows("lake/orders"), p.want("3"))
		p.write("pipeline.yaml", replacingPipeline(mode))
		if mode == "overwrite" {
			p.runDay("2026-01-01").must(t, 0)
			same(t, "rows after the same batch", p.rows("lake/orders"), p.want("1", "2"))
			continue
		}
		p.runDay("2026-01-03").must(t, 0).says(t, "was not touched")
		same(t, "rows after another batch without rows", p.rows("lake/orders"), p.want("3", "4"))
	}
	p.runDay("2026-01-02").must(t, 0)

	p.write("pipeline.yaml", replacingPipeline("overwrite_partitions"))
	if r := p.runDay("2026-01-01").must(t, 0); strings.Contains(r.stderr, said) {
		t.Fatalf("partitions of a mount point are exchanged: %s", r.stderr)
	}
	same(t, "rows after partitions", p.rows("lake/orders"), p.want("1", "2", "4"))
}

// R67: the output lies in a lower layer of an overlay, as the folders of a container's image do: that
// it cannot be renamed is found out when it is tried.
func TestR67AnOverwriteInAnOverlay(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := newReplacing(t, "overwrite")
	p.mount("layers", "tmpfs", "")
	for _, dir := range []string{"layers/lower/orders", "layers/upper", "layers/work"} {
		if err := os.MkdirAll(p.path(dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	p.write("layers/lower/orders/old.parquet", "of the image")
	p.mount("lake", "overlay", "lowerdir="+p.path("layers/lower")+",upperdir="+p.path("layers/upper")+",workdir="+p.path("layers/work")+",userxattr")
	p.runDay("2026-01-01").must(t, 0).says(t, "cannot itself be replaced")
	same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	if left := p.files("lake"); len(left) != 8 { // orders/, its two partitions and files, _SUCCESS, the target file and the marker
		t.Fatalf("left: %v", left)
	}
}
