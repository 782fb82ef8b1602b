package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma/internal/mapped"
)

const (
	magic       = 0x46_41_52_48_41_53_48_01 // "FARHASH", then the kind of file
	version     = 1
	headerBytes = 4096
)

// The words of a file's header.
const (
	headMagic = iota
	headVersion
	headKind
	headRanks
	headWords // of one rank's segment
	headNonce // of the job, so that files of another job are recognized
)

const (
	kindControl = 1
	kindWindow  = 2
)

// header describes a file of a job.
type header struct {
	kind, ranks, words, nonce uint64
}

// bytes is the size of the file.
func (h header) bytes() uint64 { return headerBytes + h.ranks*h.words*8 }

// file is a mapped file: its header and the segments of all ranks.
type file struct{ mapped.File }

func filePath(dir, job, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("farhash.%d.%s.%s", os.Getuid(), job, suffix))
}

// createFile makes a file with its header, holds the lock of byte 0, and only then
// gives it its name, so that no rank opens an unfinished file.
func createFile(path string, h header) (*file, error) {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("rma/shm: making a file in %s: %w", dir, err)
	}
	f := &file{mapped.File{Path: path, FD: os.NewFile(uintptr(fd), path)}}
	if err := f.fill(h); err != nil {
		f.Close()
		return nil, err
	}
	self := fmt.Sprintf("/proc/self/fd/%d", fd)
	err = unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("rma/shm: naming %s: %w", path, err)
	}
	return f, nil
}

// fill gives a new file its size, lock, mapping and header. Of a control file, which
// others use as soon as it has a name, everything is reserved.
func (f *file) fill(h header) error {
	size := int64(h.bytes())
	if err := f.FD.Truncate(size); err != nil {
		return fmt.Errorf("rma/shm: sizing %s to %s: %w", f.Path, memory.Format(uint64(size)), err)
	}
	reserved := size
	if h.kind == kindWindow {
		reserved = headerBytes
	}
	if err := f.Reserve(0, reserved); err != nil {
		return err
	}
	if _, err := f.Lock(0); err != nil {
		return err
	}
	if err := f.Map(size); err != nil {
		return err
	}
	head := f.Words(0, headNonce+1)
	copy(head, []uint64{magic, version, h.kind, h.ranks, h.words, h.nonce})
	return nil
}

// openFile opens and maps a file that another rank made, and refuses a foreign one.
func openFile(path string) (*file, header, error) {
	f, h, err := examine(path)
	if err != nil {
		return nil, h, err
	}
	if err := f.Map(int64(h.bytes())); err != nil {
		return nil, h, errors.Join(err, f.Close())
	}
	return f, h, nil
}

// examine is openFile without a mapping.
func examine(path string) (*file, header, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, header{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := &file{mapped.File{Path: path, FD: os.NewFile(uintptr(fd), path)}}
	h, err := f.read()
	if err != nil {
		f.Close()
		return nil, header{}, err
	}
	return f, h, nil
}

// read checks an opened file. It reads without a mapping: touching a hole of a
// foreign file on a full file system would be a SIGBUS.
func (f *file) read() (header, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.FD.Fd()), &st); err != nil {
		return header{}, fmt.Errorf("rma/shm: examining %s: %w", f.Path, err)
	}
	if int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return header{}, fmt.Errorf("rma/shm: %s belongs to user %d with mode %o; "+
			"it must be our own with mode 600", f.Path, st.Uid, st.Mode&0o777)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size < headerBytes {
		return header{}, f.foreign(fmt.Sprintf("it has %d bytes", st.Size))
	}
	var data [(headNonce + 1) * 8]byte
	if _, err := f.FD.ReadAt(data[:], 0); err != nil {
		return header{}, fmt.Errorf("rma/shm: reading %s: %w", f.Path, err)
	}
	var head [headNonce + 1]uint64
	for i := range head {
		head[i] = binary.NativeEndian.Uint64(data[i*8:])
	}
	if head[headMagic] != magic {
		return header{}, f.foreign(fmt.Sprintf("it begins with %#x", head[headMagic]))
	}
	if head[headVersion] != version {
		return header{}, fmt.Errorf("rma/shm: %s has layout version %d, this program has %d; "+
			"run the same program on every rank, or remove the file if no job runs",
			f.Path, head[headVersion], version)
	}
	h := header{head[headKind], head[headRanks], head[headWords], head[headNonce]}
	if uint64(st.Size) != h.bytes() {
		return header{}, f.foreign(fmt.Sprintf("it has %d bytes instead of %d",
			st.Size, h.bytes()))
	}
	return h, nil
}

// foreign is the error of a file that is not of farhash.
func (f *file) foreign(why string) error {
	return fmt.Errorf("rma/shm: %s is not a file of farhash (%s); remove it", f.Path, why)
}

// segments are the words after the header.
func (f *file) segments() []uint64 {
	return f.Words(headerBytes/8, (len(f.Mem)-headerBytes)/8)
}
