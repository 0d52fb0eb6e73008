package ledger

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// mount mounts a disk at the output folder, for as long as the test runs. It needs a mount namespace of its own.
func (w *world) mount() {
	w.t.Helper()
	w.must(os.MkdirAll(w.lake, 0o777))
	w.must(syscall.Mount("none", w.lake, "tmpfs", 0, ""))
	w.t.Cleanup(func() { syscall.Unmount(w.lake, syscall.MNT_DETACH) })
	w.passesOver = true
}

// inNamespace runs the same test again in a mount namespace of its own, where disks can be mounted; true in there.
func inNamespace(t *testing.T) bool {
	const name = "UBUNYE_TEST_NAMESPACE"
	if os.Getenv(name) != "" {
		return true
	}
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted here: %v: %s", err, out)
	}
	args := []string{"-rm", os.Args[0], "-test.run=^" + t.Name() + "$"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), name+"=1")
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
	return false
}

// R67: the output is a mount point, so that the folder itself can be neither exchanged nor renamed.
func TestR67_MountPointStoppedAtEveryOperation(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, sc := range replacings() {
		switch sc.name {
		case "overwrite by moves", "overwrite by moves of plain files", "overwrite by nothing", "overwrite, then the task fails", "partitions":
			sc.mount, sc.every, sc.moved = (*world).mount, false, sc.run.mode == wholeMode
			t.Run(sc.name, sc.stoppedEverywhere)
		}
	}
}

// R31: half of the entries are moved when the disk is taken away: what is below its mount point proves nothing.
// When the disk is back the entries are put back.
func TestR31_ADiskTakenAwayWhileItsEntriesAreMoved(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := newWorld(t)
	disk := filepath.Join(w.dir, "disk")
	w.must(os.Mkdir(disk, 0o777))
	w.must(os.MkdirAll(w.lake, 0o777))
	attach := func() { w.must(syscall.Mount(disk, w.lake, "", syscall.MS_BIND, "")) }
	attach()
	t.Cleanup(func() { syscall.Unmount(w.lake, syscall.MNT_DETACH) })
	w.must(w.once(w.open(nil), old))
	if err := w.once(w.mortal(&dies{kind: "rename", part: partMarker}), whole); err == nil {
		t.Fatal("not killed")
	}
	w.abandon(batch("d1"))
	w.must(syscall.Unmount(w.lake, 0))
	if _, left := w.finish(); len(left) != 1 || !strings.Contains(left[0].String(), "right disk") {
		t.Fatalf("left: %v", left)
	}
	attach()
	if _, left := w.finish(); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	w.wantRows("back", old.rows...)
	if names := namesIn(t, w.lake); slices.ContainsFunc(names, func(name string) bool { return stagingName.MatchString(stagingOf(name)) }) {
		t.Fatalf("%q", names)
	}
}
