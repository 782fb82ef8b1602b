package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma/internal/direct"
)

const (
	magic       = 0x46_41_52_48_41_53_48_01 // "FARHASH", then the kind of file
	version     = 1
	headerBytes = 4096
	hugeBytes   = direct.UnitBytes
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

// roomRemedy is what to do about a full file system of shared memory.
const roomRemedy = "free some, enlarge it (mount -o remount,size=...), or ask for fewer buckets"

// header describes a file of a job.
type header struct {
	kind, ranks, words, nonce uint64
}

// bytes is the size of the file.
func (h header) bytes() uint64 { return headerBytes + h.ranks*h.words*8 }

// file is a mapped file: its header and the segments of all ranks.
type file struct {
	path string
	fd   *os.File
	mem  []byte
	base []byte // mem with the slack that aligned it
}

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
	f := &file{path: path, fd: os.NewFile(uintptr(fd), path)}
	if err := f.fill(h); err != nil {
		f.close()
		return nil, err
	}
	self := fmt.Sprintf("/proc/self/fd/%d", fd)
	err = unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		f.close()
		return nil, fmt.Errorf("rma/shm: naming %s: %w", path, err)
	}
	return f, nil
}

// fill gives a new file its size, lock, mapping and header. Of a control file, which
// others use as soon as it has a name, everything is reserved.
func (f *file) fill(h header) error {
	size := int64(h.bytes())
	if err := f.fd.Truncate(size); err != nil {
		return fmt.Errorf("rma/shm: sizing %s to %s: %w", f.path, memory.Format(uint64(size)), err)
	}
	reserved := size
	if h.kind == kindWindow {
		reserved = headerBytes
	}
	if err := f.reserve(0, reserved); err != nil {
		return err
	}
	if _, err := f.lock(0); err != nil {
		return err
	}
	if err := f.mapAll(size); err != nil {
		return err
	}
	head := f.words(0, headNonce+1)
	copy(head, []uint64{magic, version, h.kind, h.ranks, h.words, h.nonce})
	return nil
}

// openFile opens and maps a file that another rank made, and refuses a foreign one.
func openFile(path string) (*file, header, error) {
	f, h, err := examine(path)
	if err != nil {
		return nil, h, err
	}
	if err := f.mapAll(int64(h.bytes())); err != nil {
		return nil, h, errors.Join(err, f.close())
	}
	return f, h, nil
}

// examine is openFile without a mapping.
func examine(path string) (*file, header, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, header{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := &file{path: path, fd: os.NewFile(uintptr(fd), path)}
	h, err := f.read()
	if err != nil {
		f.close()
		return nil, header{}, err
	}
	return f, h, nil
}

// read checks an opened file. It reads without a mapping: touching a hole of a
// foreign file on a full file system would be a SIGBUS.
func (f *file) read() (header, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.fd.Fd()), &st); err != nil {
		return header{}, fmt.Errorf("rma/shm: examining %s: %w", f.path, err)
	}
	if int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return header{}, fmt.Errorf("rma/shm: %s belongs to user %d with mode %o; "+
			"it must be our own with mode 600", f.path, st.Uid, st.Mode&0o777)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size < headerBytes {
		return header{}, f.foreign(fmt.Sprintf("it has %d bytes", st.Size))
	}
	var data [(headNonce + 1) * 8]byte
	if _, err := f.fd.ReadAt(data[:], 0); err != nil {
		return header{}, fmt.Errorf("rma/shm: reading %s: %w", f.path, err)
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
			f.path, head[headVersion], version)
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
	return fmt.Errorf("rma/shm: %s is not a file of farhash (%s); remove it", f.path, why)
}

// mapAll maps the whole file, aligned so that huge pages fit.
func (f *file) mapAll(size int64) error {
	slack := int64(0)
	if size >= 2*hugeBytes {
		slack = hugeBytes
	}
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size+slack), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("rma/shm: no addresses to map %s (see ulimit -v): %w",
			memory.Format(uint64(size)), err)
	}
	f.base = unsafe.Slice((*byte)(base), size+slack)
	at := base
	if slack > 0 {
		at = unsafe.Add(base, -uintptr(base)%hugeBytes)
	}
	_, err = unix.MmapPtr(int(f.fd.Fd()), 0, at, uintptr(size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("rma/shm: mapping %s: %w", f.path, err)
	}
	f.mem = unsafe.Slice((*byte)(at), size)
	return nil
}

// words is a part of the mapping as words; off and n count words.
func (f *file) words(off, n int) []uint64 {
	all := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(f.mem))), len(f.mem)/8)
	return all[off : off+n : off+n]
}

// segments are the words after the header.
func (f *file) segments() []uint64 {
	return f.words(headerBytes/8, (len(f.mem)-headerBytes)/8)
}

// take reserves a part of the mapping, in huge pages where they fit.
func (f *file) take(begin, end int) error {
	f.huge(begin, end)
	return f.reserve(int64(begin), int64(end-begin))
}

// huge makes huge pages of a part of the mapping, and reports nothing: where the system has none,
// small ones do. To collapse one page and a hole takes a fifth of the time of 512 pages.
func (f *file) huge(begin, end int) {
	if len(f.mem) < 2*hugeBytes {
		return // not aligned
	}
	begin = (begin + hugeBytes - 1) / hugeBytes * hugeBytes
	for at := begin; at+hugeBytes <= end; at += hugeBytes {
		if f.reserve(int64(at), int64(os.Getpagesize())) != nil {
			return
		}
		err := unix.Madvise(f.mem[at:at+hugeBytes], unix.MADV_COLLAPSE)
		if errors.Is(err, unix.EINVAL) {
			return
		}
	}
}

// reserve makes the file system set memory aside, so that touching it cannot fail.
func (f *file) reserve(off, size int64) error {
	const stepBytes = 256 << 20 // so that signals get a turn
	for end := off + size; off < end; {
		n := min(end-off, stepBytes)
		err := unix.Fallocate(int(f.fd.Fd()), 0, off, n)
		switch {
		case err == nil:
			off += n
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSPC):
			dir := filepath.Dir(f.path)
			return fmt.Errorf("rma/shm: %s is full: %s of %s could not be reserved: %w; %s", dir,
				memory.Format(uint64(end-off)), memory.Format(uint64(size)), err, roomRemedy)
		default:
			return fmt.Errorf("rma/shm: reserving memory in %s: %w", filepath.Dir(f.path), err)
		}
	}
	return nil
}

// lock takes the lock of a byte and reports whether it was free.
func (f *file) lock(at int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	err := unix.FcntlFlock(f.fd.Fd(), unix.F_OFD_SETLK, &l)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("rma/shm: locking in %s: %w", f.path, err)
	}
	return true, nil
}

// locked reports whether another process holds the lock of a byte. Where the
// system does not say, it is taken to be held.
func (f *file) locked(at int64) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	err := unix.FcntlFlock(f.fd.Fd(), unix.F_OFD_GETLK, &l)
	return err != nil || l.Type != unix.F_UNLCK
}

// close unmaps the file and drops its locks.
func (f *file) close() error {
	var errs []error
	if f.base != nil {
		errs = append(errs, unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(f.base)),
			uintptr(len(f.base))))
	}
	f.base, f.mem = nil, nil
	return errors.Join(append(errs, f.fd.Close())...)
}

// unname removes the file's name, if it still is the file's; the memory stays with
// those that map it.
func (f *file) unname() {
	if f.named() {
		_ = os.Remove(f.path)
	}
}

// named reports whether the file's path still leads to it.
func (f *file) named() bool {
	mine, err := f.fd.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.path)
	return err == nil && os.SameFile(mine, there)
}
