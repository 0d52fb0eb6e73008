package duckdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// unfinished ends the names of files that somebody is still writing: those that a writer has staged but not landed, and what
// browsers, copying programs and editors call a file until it is whole.
var unfinished = []string{".staged", ".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".filepart", ".swp", "~"}

// hidden tells names that readers of data folders leave out: DuckDB's and Spark's rule, and unfinished files. A folder that
// ends so is one of data: a partition's value may.
func hidden(e fs.DirEntry) bool {
	name := e.Name()
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || !e.IsDir() && unfinishedEnd(name) != ""
}

// unfinishedEnd gives what of a name says that the file is unfinished; empty: nothing does.
func unfinishedEnd(name string) string {
	lower := strings.ToLower(name)
	for _, end := range unfinished {
		if strings.HasSuffix(lower, end) {
			return end
		}
	}
	return ""
}

func hasMeta(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// found is the result of expanding a path.
type found struct {
	files []compute.File
	root  string // the folder above the first part that was a pattern; for one file, its folder
}

// filesOf gives the files of an input.
func filesOf(in compute.Input) (found, error) {
	switch {
	case in.Pinned != nil:
		return pinned(in)
	case in.Files == nil:
		return expand(in.Path)
	}
	f := found{root: filepath.Clean(in.Path)}
	for _, name := range in.Files {
		file, err := pin(filepath.Join(f.root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return f, &compute.Error{Kind: compute.InputMissing, File: filepath.Join(f.root, filepath.FromSlash(name)), Err: err,
				Message: "the file is gone: somebody moved or removed it since it was written"}
		}
		if err != nil {
			return f, err
		}
		f.files = append(f.files, file)
	}
	return f, nil
}

// pinned gives the files of an input that are to be read, if they are what they were.
func pinned(in compute.Input) (found, error) {
	f := found{root: rootOf(filepath.Clean(in.Path))}
	for _, was := range in.Pinned {
		is, err := pin(was.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return f, &compute.Error{Kind: compute.InputMissing, File: was.Path, Message: "the file is gone: somebody moved or removed it since it was chosen to be read", Err: err}
		}
		if err != nil {
			return f, err
		}
		if is.Size != was.Size || !is.ModTime.Equal(was.ModTime) {
			return f, &compute.Error{Kind: compute.InputInvalid, File: was.Path, Message: "it was written again since it was chosen to be read", Hint: "run again when it is complete"}
		}
		f.files = append(f.files, is)
	}
	return f, nil
}

// rootOf is the folder above the first part of a path that is a pattern; of a file its folder, of a folder itself.
func rootOf(pathname string) string {
	if info, err := os.Stat(pathname); err == nil {
		if info.IsDir() {
			return pathname
		}
		return filepath.Dir(pathname)
	}
	root, _ := patternRoot(pathname)
	return root
}

// patternRoot splits a path before its first part that is a pattern.
func patternRoot(pathname string) (root string, parts []string) {
	parts = strings.Split(filepath.ToSlash(pathname), "/")
	first := slices.IndexFunc(parts, hasMeta)
	if first < 0 {
		return filepath.Dir(pathname), parts[len(parts)-1:]
	}
	root = filepath.FromSlash(strings.Join(parts[:first], "/"))
	if root == "" && first > 0 {
		root = string(filepath.Separator)
	}
	return root, parts[first:]
}

// expand gives the files of a path, sorted by name. A path that exists as it is written is taken as it is; a folder
// stands for all files below it. In patterns, `**` stands for any number of folders, and hidden names match only
// where the pattern spells them out.
func expand(pathname string) (found, error) {
	if strings.ContainsRune(pathname, 0) {
		return found{}, &compute.Error{Kind: compute.InputMissing, File: strings.ReplaceAll(pathname, "\x00", "�"), Message: "the path holds a NUL byte"}
	}
	pathname = filepath.Clean(pathname)
	info, err := os.Stat(pathname)
	switch {
	case err == nil && info.IsDir():
		f, err := expandPattern(pathname, pathname, []string{"**", "*"})
		var e *compute.Error
		if errors.As(err, &e) && e.Kind == compute.InputMissing {
			e.Message, e.Hint = "the folder holds no file", "names that begin with . or _, or end as those of unfinished files do (.part, .tmp, …), are not read"
		}
		return f, err
	case err == nil:
		f, err := pin(pathname)
		return found{files: []compute.File{f}, root: filepath.Dir(pathname)}, err
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return found{}, unreadable(pathname, err)
	case !hasMeta(pathname):
		return found{}, missing(pathname)
	}
	root, parts := patternRoot(pathname)
	return expandPattern(pathname, root, parts)
}

func expandPattern(pathname, root string, parts []string) (found, error) {
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, "[!", "[^") // the shell's spelling
		if _, err := path.Match(parts[i], ""); err != nil {
			return found{}, &compute.Error{Kind: compute.BadOption, File: pathname, Message: fmt.Sprintf("%q is not a pattern", p), Hint: "close the bracket, or write [[] for a bracket of the name"}
		}
	}
	seen := map[string]bool{}
	if err := walk(root, parts, seen); err != nil {
		return found{}, err
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	f := found{root: root}
	for _, name := range names {
		file, err := pin(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went while the folder was listed: a moment later it would not have been met
		}
		if err != nil {
			return found{}, err
		}
		f.files = append(f.files, file)
	}
	if len(f.files) == 0 {
		return found{}, missing(pathname)
	}
	return f, nil
}

// walk collects the files below dir that match parts.
func walk(dir string, parts []string, seen map[string]bool) error {
	part, last := parts[0], len(parts) == 1
	if part == "**" && last {
		return walk(dir, []string{"**", "*"}, seen)
	}
	if part == "**" {
		if err := walk(dir, parts[1:], seen); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return unreadable(dir, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if part == "**" {
			// Links to folders are not followed here: they may lead back up.
			if e.IsDir() && !hidden(e) {
				if err := walk(name, parts, seen); err != nil {
					return err
				}
			}
			continue
		}
		if ok, _ := path.Match(part, e.Name()); !ok || hidden(e) && !spelled(part, e.Name()) {
			continue
		}
		if err := visit(name, parts[1:], seen); err != nil {
			return err
		}
	}
	return nil
}

// visit takes a file if nothing is left of the pattern, and goes into a folder otherwise.
func visit(name string, rest []string, seen map[string]bool) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := os.Lstat(name); errors.Is(gone, fs.ErrNotExist) {
			return nil // see expandPattern
		}
		return &compute.Error{Kind: compute.InputInvalid, File: name, Message: "it is a link to nothing that is there", Hint: "mend or remove the link", Err: err}
	}
	if err != nil {
		return unreadable(name, err)
	}
	switch {
	case info.IsDir() && len(rest) > 0:
		return walk(name, rest, seen)
	case !info.IsDir() && len(rest) == 0:
		seen[name] = true
	}
	return nil
}

// spelled tells that the pattern itself begins and ends with what makes a name hidden.
func spelled(pattern, name string) bool {
	if first := name[:1]; (first == "." || first == "_") && !strings.HasPrefix(pattern, first) {
		return false
	}
	return strings.HasSuffix(strings.ToLower(pattern), unfinishedEnd(name))
}

func pin(name string) (compute.File, error) {
	if !utf8.ValidString(name) { // DuckDB could not be told it
		return compute.File{}, &compute.Error{Kind: compute.InputInvalid, File: strings.ToValidUTF8(name, "�"), Message: fmt.Sprintf("its name is not UTF-8: %q", filepath.Base(name)), Hint: "rename it"}
	}
	info, err := os.Stat(name)
	if err != nil {
		return compute.File{}, unreadable(name, err)
	}
	if !info.Mode().IsRegular() { // opening a pipe that nobody writes to would never end
		return compute.File{}, &compute.Error{Kind: compute.InputInvalid, File: name, Message: "it is a pipe, a device or a folder, not a file",
			Hint: "a file is read more than once, so write what comes out of it to one"}
	}
	return compute.File{Path: name, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// missing says what of a path exists.
func missing(pathname string) error {
	what := "there is no such file"
	if hasMeta(pathname) {
		what = "no file matches"
	}
	folder := filepath.Dir(pathname)
	for hasMeta(folder) {
		folder = filepath.Dir(folder)
	}
	exists := folder
	for exists != filepath.Dir(exists) {
		if _, err := os.Stat(exists); err == nil {
			break
		}
		exists = filepath.Dir(exists)
	}
	if exists != folder {
		what += fmt.Sprintf("; the folder %s does not exist, %s does", folder, exists)
	} else {
		what += fmt.Sprintf("; the folder %s exists", folder)
	}
	return &compute.Error{Kind: compute.InputMissing, File: pathname, Message: what, Hint: "check the path and the variables in it"}
}

// unreadable is about something that exists, or may exist, and cannot be read: it is never taken for absent.
func unreadable(name string, err error) error {
	var known *compute.Error
	if errors.As(err, &known) {
		return known
	}
	var undecodable *encodingError
	if errors.As(err, &undecodable) {
		return undecodable.in(name)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	e := &compute.Error{Kind: compute.InputInvalid, File: name, Message: "it cannot be read: " + err.Error(), Hint: "check its permissions", Err: err}
	if errors.Is(err, fs.ErrNotExist) { // it was there when it was chosen
		e.Message, e.Hint = "the file is gone: somebody moved or removed it while it was read", "bring it back, and run again when nobody moves its files"
	}
	return e
}
