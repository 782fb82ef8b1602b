package mapped

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma/internal/direct"
)

// RoomRemedy is what to do about a full file system of shared memory.
const RoomRemedy = "free some, enlarge it (mount -o remount,size=...), or ask for fewer buckets"

// File is a file and its mapping, or a part of it.
type File struct {
	Path string
	FD   *os.File
	Mem  []byte // the mapping, nil at first
	base []byte // Mem with the slack that aligned it

	off  int64 // of a part
	part bool
}

// Part maps a part of the file from a page on. Its methods count from there; Close unmaps it, and
// leaves the file open.
func (f *File) Part(off, size int64) (*File, error) {
	p := &File{Path: f.Path, FD: f.FD, off: off, part: true}
	return p, p.Map(size)
}

// Map maps the whole file, aligned so that huge pages fit.
func (f *File) Map(size int64) error {
	slack := int64(0)
	if size >= 2*direct.UnitBytes {
		slack = direct.UnitBytes
	}
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size+slack), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("no addresses to map %s (see ulimit -v): %w",
			memory.Format(uint64(size)), err)
	}
	f.base = unsafe.Slice((*byte)(base), size+slack)
	at := base
	if slack > 0 {
		at = unsafe.Add(base, -uintptr(base)%direct.UnitBytes)
	}
	_, err = unix.MmapPtr(int(f.FD.Fd()), f.off, at, uintptr(size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("mapping %s: %w", f.Path, err)
	}
	f.Mem = unsafe.Slice((*byte)(at), size)
	return nil
}

// Words is a part of the mapping as words; off and n count words.
func (f *File) Words(off, n int) []uint64 {
	all := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(f.Mem))), len(f.Mem)/8)
	return all[off : off+n : off+n]
}

// Take reserves a part of the mapping, in huge pages where they fit.
func (f *File) Take(begin, end int) error {
	f.huge(begin, end)
	return f.Reserve(int64(begin), int64(end-begin))
}

// huge makes huge pages of a part of the mapping, and reports nothing: where the system has none,
// small ones do. To collapse one page and a hole takes a fifth of the time of 512 pages.
func (f *File) huge(begin, end int) {
	if len(f.Mem) < 2*direct.UnitBytes {
		return // not aligned
	}
	begin = (begin + direct.UnitBytes - 1) / direct.UnitBytes * direct.UnitBytes
	for at := begin; at+direct.UnitBytes <= end; at += direct.UnitBytes {
		if f.Reserve(int64(at), int64(os.Getpagesize())) != nil {
			return
		}
		err := unix.Madvise(f.Mem[at:at+direct.UnitBytes], unix.MADV_COLLAPSE)
		if errors.Is(err, unix.EINVAL) {
			return
		}
	}
}

// Reserve makes the file system set memory aside, so that touching it cannot fail.
func (f *File) Reserve(off, size int64) error {
	const stepBytes = 256 << 20 // so that signals get a turn
	for end := off + size; off < end; {
		n := min(end-off, stepBytes)
		err := unix.Fallocate(int(f.FD.Fd()), 0, f.off+off, n)
		switch {
		case err == nil:
			off += n
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSPC):
			dir := filepath.Dir(f.Path)
			return fmt.Errorf("%s is full: %s of %s could not be reserved: %w; %s", dir,
				memory.Format(uint64(end-off)), memory.Format(uint64(size)), err, RoomRemedy)
		default:
			return fmt.Errorf("reserving memory in %s: %w", filepath.Dir(f.Path), err)
		}
	}
	return nil
}

// Lock takes the lock of a byte and reports whether it was free.
func (f *File) Lock(at int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	err := unix.FcntlFlock(f.FD.Fd(), unix.F_OFD_SETLK, &l)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("locking in %s: %w", f.Path, err)
	}
	return true, nil
}

// Unlock drops the lock of a byte.
func (f *File) Unlock(at int64) error {
	l := unix.Flock_t{Type: unix.F_UNLCK, Start: at, Len: 1}
	return unix.FcntlFlock(f.FD.Fd(), unix.F_OFD_SETLK, &l)
}

// UnlockAll drops the locks of all bytes.
func (f *File) UnlockAll() error {
	l := unix.Flock_t{Type: unix.F_UNLCK}
	return unix.FcntlFlock(f.FD.Fd(), unix.F_OFD_SETLK, &l)
}

// Await is Lock that waits until the lock is free.
func (f *File) Await(at int64) error {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	for {
		err := unix.FcntlFlock(f.FD.Fd(), unix.F_OFD_SETLKW, &l)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Locked reports whether another process holds the lock of a byte. Where the
// system does not say, it is taken to be held.
func (f *File) Locked(at int64) bool { return f.AnyLocked(at, 1) }

// AnyLocked reports whether another process holds the lock of one of n bytes.
func (f *File) AnyLocked(at, n int64) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: n}
	err := unix.FcntlFlock(f.FD.Fd(), unix.F_OFD_GETLK, &l)
	return err != nil || l.Type != unix.F_UNLCK
}

// Close unmaps the file and drops its locks.
func (f *File) Close() error {
	var errs []error
	if f.base != nil {
		errs = append(errs, unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(f.base)),
			uintptr(len(f.base))))
	}
	f.base, f.Mem = nil, nil
	if f.part {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, f.FD.Close())...)
}

// Unname removes the file's name, if it still is the file's; the memory stays with
// those that map it.
func (f *File) Unname() {
	if f.Named() {
		_ = os.Remove(f.Path)
	}
}

// Named reports whether the file's path still leads to it.
func (f *File) Named() bool {
	mine, err := f.FD.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Path)
	return err == nil && os.SameFile(mine, there)
}

// Room is how many bytes the file system of a path has left; math.MaxUint64: it has no limit.
func Room(path string) uint64 {
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	if errors.Is(err, unix.ENOENT) { // a file without a name
		err = unix.Statfs(filepath.Dir(path), &st)
	}
	switch {
	case err != nil:
		return 0
	case st.Blocks == 0:
		return math.MaxUint64
	}
	return st.Bavail * uint64(st.Bsize)
}
