package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/mapped"
)

// Table is what a file holds: it closes the job that it was made with, and finds out whether it is
// damaged.
type Table interface {
	io.Closer
	Check(ctx context.Context) error
}

// Open opens the table with a name, or makes it if there is none. makeTable makes it over the
// windows of a [rma.Shared] job; the table closes the job.
func Open[T Table](name string, kind Kind, list []Option,
	makeTable func(job rma.Job) (T, error)) (table T, err error) {
	o, err := newOptions(list)
	if err != nil {
		return table, err
	}
	path := Path(name)
	for range maxTries {
		table, err = attach(path, kind, o, makeTable)
		if o.existing || !errors.Is(err, fs.ErrNotExist) {
			return table, err
		}
		table, err = create(path, kind, o, makeTable)
		if err == nil {
			return table, nil
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		// Another process may have made it, so that there was no room for a second one.
		if there, attachErr := attach(path, kind, o, makeTable); attachErr == nil {
			return there, nil
		}
		return table, err
	}
	return table, fmt.Errorf("rma/file: %s is made and removed all the time: %w", path, err)
}

// maxTries is how often Open tries to open or make a file that others make and remove.
const maxTries = 100

// attach opens a file that exists. fs.ErrNotExist: there is none, or it was just removed.
func attach[T Table](path string, kind Kind, o options,
	makeTable func(job rma.Job) (T, error)) (table T, err error) {
	f, h, err := openFile(path, unix.O_RDWR, o)
	if err != nil {
		return table, err
	}
	j := &job{file: f, header: h, attached: true, named: true, onLocks: o.onLocks}
	if err = h.expect(path, kind); err == nil {
		err = j.openLocks()
	}
	if err != nil {
		return table, errors.Join(err, f.Close())
	}
	if err = j.enter(); err == nil && !f.Named() {
		err = fmt.Errorf("rma/file: %s was removed: %w", path, fs.ErrNotExist)
	}
	if err == nil {
		err = j.recover()
	}
	if err != nil {
		return table, errors.Join(err, j.closeLocks(), f.Close())
	}
	if !j.suspect {
		err = j.opened()
	}
	if err == nil {
		j.opening = true
		table, err = makeTable(j)
		j.opening = false
	}
	if err != nil {
		return table, errors.Join(err, j.Close())
	}
	if j.suspect {
		return table, j.examine(table)
	}
	return table, nil
}

// examine checks a table after the system has stopped. It closes a table that is damaged. The gate
// is locked until then, so nobody else uses it.
func (j *job) examine(table Table) error {
	if err := table.Check(context.Background()); err != nil {
		return errors.Join(fmt.Errorf("rma/file: the system stopped while %s was open, and it is "+
			"damaged: %w; remove it", j.file.Path, err), table.Close())
	}
	j.suspect = false
	return errors.Join(j.opened(), j.locks.Unlock(gate))
}

// create makes a file. fs.ErrExist: another process has made one.
func create[T Table](path string, kind Kind, o options,
	makeTable func(job rma.Job) (T, error)) (table T, err error) {
	f, temporary, err := makeFile(path, o)
	if err != nil {
		return table, err
	}
	if temporary != "" {
		defer os.Remove(temporary)
	}
	j := &job{file: f, leaves: true, onLocks: o.onLocks}
	j.header.Size = firstWindow
	copy(j.header.Kind[:], kind.Name)
	j.header.Layout = kind.Layout
	if err = j.openLocks(); err != nil {
		return table, errors.Join(err, f.Close())
	}
	if err = f.FD.Truncate(firstWindow); err == nil {
		err = f.Reserve(0, firstWindow)
	}
	if err != nil {
		err = fmt.Errorf("rma/file: making %s: %w", path, err)
	} else {
		err = j.enter()
	}
	if err == nil {
		table, err = makeTable(j)
	}
	if err != nil {
		return table, errors.Join(err, j.Close())
	}
	if err = j.publish(path, temporary); err != nil {
		return table, errors.Join(err, table.Close())
	}
	return table, nil
}

// makeFile makes a file that has no name, or only a temporary one where the file system cannot do
// without.
func makeFile(path string, o options) (f *mapped.File, temporary string, err error) {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	f = &mapped.File{Path: path}
	if err == nil {
		f.FD = os.NewFile(uintptr(fd), path)
	} else if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		if f.FD, err = os.CreateTemp(dir, "."+filepath.Base(path)+".*"); err == nil {
			temporary = f.FD.Name()
		}
	}
	if errors.Is(err, fs.ErrNotExist) { // the same error means that there is no file to attach to
		return nil, "", &os.PathError{Op: "make a file in", Path: dir,
			Err: errors.New("there is no such directory")}
	}
	if err != nil {
		return nil, "", fmt.Errorf("rma/file: making a file in %s: %w", dir, err)
	}
	if err = f.FD.Chmod(o.mode); err != nil {
		err = errors.Join(err, f.Close())
		if temporary != "" {
			err = errors.Join(err, os.Remove(temporary))
		}
		return nil, "", fmt.Errorf("rma/file: mode of %s: %w", path, err)
	}
	return f, temporary, nil
}

// Remove removes the table with a name, also a damaged one. Processes that have it open keep it to
// the end; the next Open makes a new one. A file that is no table, or cannot be read, stays.
func Remove(name string) error {
	path := Path(name)
	f, h, err := openFile(path, unix.O_RDONLY, options{anyOwner: true})
	if f != nil {
		defer f.Close()
	}
	if h.Magic != magic { // err says why it was not read, or that it is no table
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("rma/file: removing %s: %w", path, err)
	}
	return nil
}

// Stat describes the table with a name. It only reads, and uses nothing that the header says before
// that is within its bounds: the file may be of any user.
func Stat(name string) (Info, error) {
	path := Path(name)
	f, h, err := openFile(path, unix.O_RDONLY, options{anyOwner: true})
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.FD.Fd()), &st); err != nil {
		return Info{}, fmt.Errorf("rma/file: %s: %w", path, err)
	}
	info := Info{Path: path, Kind: h.kind(), Bytes: uint64(st.Blocks) * 512, Size: h.Size,
		Owner: int(st.Uid)}
	for m := range rma.MaxMembers {
		if f.Locked(int64(m)) {
			info.Members++
		}
	}
	return info, nil
}

// List describes the tables in a directory, empty for DefaultDir. Files that are none, or that this
// process may not read, are left out.
func List(dir string) (tables []Info, err error) {
	if dir == "" {
		dir = DefaultDir
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("rma/file: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if info, err := Stat(filepath.Join(dir, e.Name())); err == nil {
			tables = append(tables, info)
		}
	}
	return tables, nil
}
