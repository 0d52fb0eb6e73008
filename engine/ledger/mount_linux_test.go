package ledger

import (
	"os"
	"os/exec"
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
