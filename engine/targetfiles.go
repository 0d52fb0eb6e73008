package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// targetFiles is what the writer of a table may do with the files of its target. A new file is made in the output's staging folder
// and gets its name in one step; so nothing of a run whose staging was dropped can come after that.
type targetFiles struct {
	batch   *batch
	root    string          // of the target
	staging func() string   // where new files are made
	read    map[string]bool // files that were read, and folders that were listed, below the target
	unsure  bool            // nobody can tell of a file whether it was made
}

// open opens what is there below the target. Nothing is opened by way of a link that leads out of it.
func (f *targetFiles) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		// A network disk is asked anew for what is in a folder when that is opened.
		if folder, openErr := root.Open(filepath.FromSlash(path.Dir(name))); openErr == nil {
			folder.Close()
			file, err = root.Open(filepath.FromSlash(name))
		}
	}
	if err == nil {
		f.note(name)
	}
	return file, err
}

func (f *targetFiles) note(name string) {
	if f.read == nil {
		f.read = map[string]bool{}
	}
	f.read[name], f.read[path.Dir(name)] = true, true
}

// notRead is the failure of a reading operation. Only what is certainly not there is not found (I7).
func notRead(name string, err error) error {
	code := abi.CodeNotRead
	if errors.Is(err, fs.ErrNotExist) {
		code = abi.CodeNotFound
	}
	return &abi.Failure{Code: code, Message: fmt.Sprintf("%s: %v", cmp.Or(name, "."), err)}
}

// Get reads a part of a file.
func (f *targetFiles) Get(_ context.Context, req abi.GetRequest) (a abi.GetAnswer, err error) {
	file, err := f.open(req.Path)
	if err != nil {
		return a, notRead(req.Path, err)
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return a, notRead(req.Path, err)
	}
	a.Size, a.Bytes = info.Size(), []byte{}
	if left := a.Size - req.Offset; left > 0 {
		a.Bytes = make([]byte, min(left, req.Length))
		n, err := file.ReadAt(a.Bytes, req.Offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return a, notRead(req.Path, err)
		}
		a.Bytes = a.Bytes[:n]
	}
	return a, nil
}

// List gives the files of a folder that come after a name.
func (f *targetFiles) List(_ context.Context, req abi.ListRequest, most int) (a abi.ListAnswer, err error) {
	folder, err := f.open(cmp.Or(req.Folder, "."))
	if err != nil {
		return a, notRead(req.Folder, err)
	}
	defer folder.Close() // only read
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return a, notRead(req.Folder, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() || e.Name() <= req.After })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	a.Entries = []abi.Entry{}
	for _, e := range entries {
		if len(a.Entries) == most {
			a.More = true
			break
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went meanwhile
		}
		if err != nil {
			return a, notRead(path.Join(req.Folder, e.Name()), err)
		}
		a.Entries = append(a.Entries, abi.Entry{Name: e.Name(), Size: info.Size(), Modified: info.ModTime().UnixMilli()})
	}
	return a, nil
}

// ReadRows has the compute engine read a file.
func (f *targetFiles) ReadRows(ctx context.Context, req abi.ReadRowsRequest) (writer.RowStream, error) {
	file, err := f.open(req.Path)
	if err != nil {
		return nil, notRead(req.Path, err)
	}
	file.Close() // it is there, and below the target
	q := compute.LinesQuery{Path: f.place(req.Path), Format: req.Format, Columns: req.Columns}
	if w := req.Where; w != nil {
		q.Where = &compute.LinesRule{Column: w.Column, Field: w.Field, Equals: w.Equals}
	}
	lines, err := f.batch.session.Lines(ctx, q)
	if err != nil {
		return nil, f.computeFailure(ctx, req.Path, err)
	}
	return &lineStream{lines, f, req.Path}, nil
}

// lineStream says of what it cannot read which file that is.
type lineStream struct {
	compute.LineReader
	files *targetFiles
	path  string
}

func (l *lineStream) Next(ctx context.Context) ([]byte, error) {
	data, err := l.LineReader.Next(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		err = l.files.computeFailure(ctx, l.path, err)
	}
	return data, err
}

// computeFailure is that of a file that the compute engine could not read.
func (f *targetFiles) computeFailure(ctx context.Context, name string, err error) error {
	var e *compute.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &e) && e.Kind == compute.BadOption:
		return &abi.Failure{Code: abi.CodeInvalid, Message: e.Error(), Hint: e.Hint}
	}
	return notRead(name, err)
}

func (f *targetFiles) place(name string) string {
	return filepath.Join(f.root, filepath.FromSlash(name))
}

// notPut is the failure of a file that was certainly not made.
func notPut(name string, err error) error {
	return &abi.Failure{Code: abi.CodeNotPut, Message: fmt.Sprintf("%s: %v", name, err), Retryable: true}
}

// temporary is a new name in the output's staging folder.
func (f *targetFiles) temporary() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return filepath.Join(f.staging(), "put-"+id.String()), nil
}

// PutNew makes a file whose name nobody has.
func (f *targetFiles) PutNew(_ context.Context, req abi.PutNewRequest) (abi.PutOutcome, error) {
	tmp, err := f.write(req.Bytes)
	if err != nil {
		return "", notPut(req.Path, err)
	}
	return f.name(tmp, req.Path)
}

// write makes a temporary file, durably.
func (f *targetFiles) write(data []byte) (string, error) {
	tmp, err := f.temporary()
	if err == nil {
		err = f.batch.FS.WriteNew(tmp, data, 0o666)
	}
	return tmp, err
}

// name gives a temporary file its name, if nobody has it, by a link: whatever becomes of that call, whether the file that has the
// name now is this one can be looked up. Where there are no links it is renamed, by a call that refuses a name that is taken.
func (f *targetFiles) name(tmp, name string) (abi.PutOutcome, error) {
	final := f.place(name)
	if err := f.makeFolder(path.Dir(name)); err != nil {
		return "", notPut(name, err)
	}
	err := f.batch.FS.Link(tmp, final)
	if err != nil {
		same, taken, lookErr := sameFile(tmp, final)
		switch {
		case lookErr != nil:
			f.unsure = true
			return abi.PutUnknown, nil
		case taken && !same:
			return abi.PutExists, nil
		case !same:
			if outcome := f.rename(tmp, final); outcome != abi.PutCreated {
				return outcome, notPutIf(outcome == "", name, err)
			}
		}
	}
	f.note(name)
	if err := f.batch.FS.SyncDir(filepath.Dir(final)); err != nil {
		f.unsure = true
		return abi.PutUnknown, nil
	}
	_ = f.batch.FS.Remove(tmp) // else it goes with the staging folder
	return abi.PutCreated, nil
}

// rename does so where a link could not be made; no outcome: it was certainly not renamed.
func (f *targetFiles) rename(tmp, final string) abi.PutOutcome {
	err := f.batch.FS.RenameExclusive(tmp, final)
	if err == nil {
		return abi.PutCreated
	}
	_, staged := os.Lstat(tmp)
	_, taken := os.Lstat(final)
	switch {
	case staged == nil && taken == nil:
		return abi.PutExists
	case staged == nil && errors.Is(taken, fs.ErrNotExist):
		return ""
	}
	f.unsure = true
	return abi.PutUnknown
}

func notPutIf(not bool, name string, err error) error {
	if not {
		return notPut(name, err)
	}
	return nil
}

// sameFile tells whether a name is taken, and by which file.
func sameFile(file, name string) (same, taken bool, err error) {
	want, err := os.Lstat(file)
	if err != nil {
		return false, false, err
	}
	has, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	return err == nil && os.SameFile(want, has), err == nil, err
}

// makeFolder makes the folders below the target that are missing, one by one and durably, and refuses one that lies elsewhere.
func (f *targetFiles) makeFolder(folder string) error {
	made := f.root
	for element := range strings.SplitSeq(folder, "/") {
		above := made
		made = filepath.Join(made, element)
		info, err := os.Lstat(made)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err = f.batch.FS.Mkdir(made, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
				err = f.batch.FS.SyncDir(above)
			}
		case err == nil && !info.IsDir():
			err = fmt.Errorf("%s is no folder", made)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Put replaces a file.
func (f *targetFiles) Put(_ context.Context, req abi.PutRequest) (abi.PutOutcome, error) {
	tmp, err := f.write(req.Bytes)
	if err == nil {
		err = f.makeFolder(path.Dir(req.Path))
	}
	if err == nil {
		if err = f.batch.FS.Rename(tmp, f.place(req.Path)); err == nil {
			if err := f.batch.FS.SyncDir(filepath.Dir(f.place(req.Path))); err != nil {
				return abi.PutUnknown, nil
			}
			return abi.PutCreated, nil
		}
		if _, look := os.Lstat(tmp); look != nil {
			return abi.PutUnknown, nil
		}
	}
	return "", notPut(req.Path, err)
}

// CreateRows gathers the lines in the staging folder.
func (f *targetFiles) CreateRows(_ context.Context, req abi.RowsCreateRequest) (writer.RowsFile, error) {
	tmp, err := f.temporary()
	if err != nil {
		return nil, notPut(req.Path, err)
	}
	lines, err := f.batch.FS.Create(tmp, 0o666)
	if err != nil {
		return nil, notPut(req.Path, err)
	}
	return &rowsFile{files: f, request: req, lines: lines}, nil
}

// rowsFile is a file of the target that is made of lines.
type rowsFile struct {
	files   *targetFiles
	request abi.RowsCreateRequest
	lines   *fsops.File
	err     error // of writing lines
}

// Write takes lines. What goes wrong is told by Close, because the module is to learn that the file was not made.
func (r *rowsFile) Write(p []byte) (int, error) {
	if r.err == nil {
		_, r.err = r.lines.Write(p)
	}
	return len(p), nil
}

// Close has the compute engine make the file, and gives it its name.
func (r *rowsFile) Close(ctx context.Context) (abi.PutOutcome, error) {
	defer r.remove()
	err := errors.Join(r.err, r.lines.Close())
	tmp, nameErr := r.files.temporary()
	if err = errors.Join(err, nameErr); err != nil {
		return "", notPut(r.request.Path, err)
	}
	w := compute.LinesFile{From: r.lines.Name(), To: tmp, Format: r.request.Format}
	for _, c := range r.request.Columns {
		w.Columns = append(w.Columns, compute.Column{Name: c.Name, Type: c.Type})
	}
	err = r.files.batch.session.WriteLines(ctx, w)
	var e *compute.Error
	if errors.As(err, &e) && e.Kind == compute.BadOption {
		return "", &abi.Failure{Code: abi.CodeInvalid, Message: e.Error(), Hint: e.Hint}
	}
	if err == nil {
		err = r.files.batch.FS.SyncFile(tmp)
	}
	if err != nil {
		return "", notPut(r.request.Path, err)
	}
	return r.files.name(tmp, r.request.Path)
}

// Abandon forgets the lines.
func (r *rowsFile) Abandon() {
	_ = r.lines.Close() // nobody reads it
	r.remove()
}

func (r *rowsFile) remove() {
	_ = r.files.batch.FS.Remove(r.lines.Name()) // else it goes with the staging folder
}

// durable makes what was read so: what is said of a log must survive a power cut, and who wrote it may have died before that.
func (f *targetFiles) durable() error {
	for _, name := range slices.Sorted(maps.Keys(f.read)) {
		info, err := os.Stat(f.place(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // logs are cleaned up
		case err == nil && info.IsDir():
			err = f.batch.FS.SyncDir(f.place(name))
		case err == nil:
			err = f.batch.FS.SyncFile(f.place(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
