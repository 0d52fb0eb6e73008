package writer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// cache is a folder that only this user can change: what lies there is executed. Everything in it can be
// made again. A thing is made under a temporary name and renamed, so any number of processes may do so at
// once; what is found is checked against a digest before it is used.
type cache struct {
	dir string
	fs  *fsops.FS
	now func() time.Time
}

// keep is how long things stay that nobody has made anew: those of other versions of this program.
const keep = 30 * 24 * time.Hour

// folder makes a folder of the cache and checks that no other user can change what is in it.
func (c cache) folder(name string) (string, error) {
	dir := filepath.Join(c.dir, name)
	for _, d := range []string{c.dir, dir} {
		if err := c.fs.MkdirAll(d, 0o700); err != nil {
			return "", err
		}
		if err := private(d); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// temporary is a name that nobody has used.
func temporary(path string) string { return path + "." + rand.Text()[:10] + ".tmp" }

// program returns the path of an executable file with these contents, whose SHA-256 is digest.
func (c cache) program(name, digest string, contents func() ([]byte, error)) (string, error) {
	dir, err := c.folder("bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+"-"+digest[:16])
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm() == 0o700 && private(path) == nil {
		if got, err := fileDigest(path); err == nil && got == digest {
			return path, nil
		}
	}
	data, err := contents()
	if err != nil {
		return "", err
	}
	c.prune(dir)
	return path, c.writeProgram(path, data)
}

// writeProgram puts a program in place. While it is open for writing no process may be started:
// a child would hold it open too, and the system refuses to execute a file that is open for writing.
func (c cache) writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	tmp := temporary(path)
	file, err := c.fs.Create(tmp, 0o700)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(0o700) // whatever the umask
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = c.fs.Rename(tmp, path)
	}
	if err != nil {
		_ = c.fs.Remove(tmp) // the first error is the one to tell
	}
	return err
}

// prune removes what is older than keep. It is housekeeping: what cannot be removed stays.
func (c cache) prune(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && c.now().Sub(info.ModTime()) > keep {
			_ = c.fs.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// compiled is a folder for one compiled module: one that holds it, or a new one to be kept or dropped.
type compiled struct {
	cache cache
	dir   string // where it is now
	final string // where it is to be; empty: it is there
}

// sums is the file that lists the checksums of the others. The compiler's own covers the code only, not the
// table of where functions begin. They are there against damage: who could change the files could change the list.
const sums = "CRC32C"

// compiled opens the folder of the module with this digest.
func (c cache) compiled(digest string) (*compiled, error) {
	dir, err := c.folder("compiled")
	if err != nil {
		return nil, err
	}
	final := filepath.Join(dir, digest)
	if _, err := os.Lstat(final); err == nil {
		if private(final) == nil && verifySums(final) == nil {
			return &compiled{cache: c, dir: final}, nil
		}
		old := temporary(final)
		if err := c.fs.Rename(final, old); err == nil {
			_ = c.fs.RemoveAll(old) // prune takes what is left
		}
	}
	c.prune(dir)
	tmp := temporary(final)
	if err := c.fs.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	return &compiled{cache: c, dir: tmp, final: final}, nil
}

// keep puts a new folder in its place. Another process may have been first; then its folder is as good.
func (m *compiled) keep() error {
	if m.final == "" {
		return nil
	}
	lines, err := listSums(m.dir)
	if err == nil && len(lines) == 0 {
		err = errors.New("nothing was compiled into the cache")
	}
	if err == nil {
		err = m.cache.fs.WriteNew(filepath.Join(m.dir, sums), []byte(strings.Join(lines, "")), 0o600)
	}
	if err == nil {
		err = m.cache.fs.RenameNoReplace(m.dir, m.final)
		if errors.Is(err, fs.ErrExist) {
			m.drop()
			return nil
		}
	}
	if err != nil {
		m.drop()
		return err
	}
	m.final = ""
	return nil
}

// drop removes a folder that was not kept.
func (m *compiled) drop() {
	if m.final != "" {
		_ = m.cache.fs.RemoveAll(m.dir) // prune takes what is left
		m.final = ""
	}
}

// castagnoli is the polynomial that processors have an instruction for: it costs a tenth of SHA-256.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// listSums gives a line for every file below dir: checksum, size, name.
func listSums(dir string) (lines []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(dir, sums) {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no plain file", path)
		}
		sum := crc32.New(castagnoli)
		size, err := copyFile(sum, path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		lines = append(lines, fmt.Sprintf("%08x  %d  %s\n", sum.Sum32(), size, filepath.ToSlash(name)))
		return err
	})
	slices.Sort(lines)
	return lines, err
}

func verifySums(dir string) error {
	want, err := os.ReadFile(filepath.Join(dir, sums))
	if err != nil {
		return err
	}
	lines, err := listSums(dir)
	if err != nil {
		return err
	}
	if strings.Join(lines, "") != string(want) {
		return fmt.Errorf("%s: the files are not those of %s", dir, sums)
	}
	return nil
}

func fileDigest(path string) (string, error) {
	sum := sha256.New()
	if _, err := copyFile(sum, path); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// copyFile writes what is in a file, and gives its size.
func copyFile(to io.Writer, path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return io.CopyBuffer(to, struct{ io.Reader }{file}, make([]byte, 256<<10))
}
