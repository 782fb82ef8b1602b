package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"unsafe"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/mapped"
)

// job is the membership of this process.
type job struct {
	file     *mapped.File
	locks    *mapped.File // the same file, opened again: a mapping keeps the locks of its own
	onLocks  func(fd int, open bool)
	attached bool
	opening  bool // the table is being opened: all its windows are in the file
	suspect  bool // the system has stopped since the file was closed

	member   int
	inherits bool
	leaves   bool

	mu      sync.Mutex
	header  header
	named   bool
	windows direct.Registry
	parts   []*mapped.File // of all windows in the file
	closed  bool
}

var _ rma.Shared = (*job)(nil)

// gate is the byte, after those of members, that a process locks while it checks a table after the
// system has stopped. Nobody else waits for it: a process may be suspended at any time.
const gate = rma.MaxMembers

func (j *job) Rank() int { return 0 }
func (j *job) Size() int { return 1 }

// Barrier returns at once: there is no other rank.
func (j *job) Barrier(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return fmt.Errorf("rma/file: the job is %w", rma.ErrClosed)
	}
	return ctx.Err()
}

// NewQueue returns a queue that works on memory.
func (j *job) NewQueue(depth int) (rma.Queue, error) { return direct.NewQueue(depth) }

// Failed lists no rank: members that have ended are no ranks.
func (j *job) Failed() []int { return nil }

// Reserves reports whether memory of windows can be taken in parts.
func (j *job) Reserves() bool { return memory.CanReserve() }

// Room is how many bytes the file system has left.
func (j *job) Room() uint64 { return mapped.Room(j.file.Path) }

func (j *job) Attached() bool        { return j.attached }
func (j *job) Member() int           { return j.member }
func (j *job) Inherits() bool        { return j.inherits }
func (j *job) Leaves(something bool) { j.leaves = something }

// Record is the configuration that was stored when the file was made.
func (j *job) Record() []uint64 { return j.header.Record[:j.header.Words] }

// SetRecord stores the configuration, of rma.MaxRecord words at most.
func (j *job) SetRecord(words []uint64) {
	j.header.Words = uint64(copy(j.header.Record[:len(words)], words))
}

// NewWindow makes a window, in the file as long as that has no name. Later it returns the window of
// the file that has the name, or memory of this process.
func (j *job) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	if err := j.Barrier(ctx); err != nil {
		return nil, err
	}
	if spec.Words < 1 {
		return nil, fmt.Errorf("rma/file: window %q has %d words; it needs one at least",
			spec.Name, spec.Words)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	at, inFile := j.header.find(spec)
	switch {
	case !j.named:
		return j.makeWindow(spec)
	case inFile && at.Words != uint64(spec.Words):
		return nil, fmt.Errorf("rma/file: %s: window %q has %d words, and %d are expected: its "+
			"header is damaged; remove it", j.file.Path, spec.Name, at.Words, spec.Words)
	case inFile:
		return j.open(at)
	case j.opening:
		return nil, fmt.Errorf("rma/file: %s: window %q is missing: its header is damaged; "+
			"remove it", j.file.Path, spec.Name)
	}
	words, release, err := memory.Words(spec.Words)
	if err != nil {
		return nil, fmt.Errorf("rma/file: window %q: %w", spec.Name, err)
	}
	return j.windows.Open(0, 1, words, false, release), nil
}

// makeWindow makes a window in the file.
func (j *job) makeWindow(spec rma.Spec) (rma.Window, error) {
	if !spec.Reserve {
		if err := memory.Check(uint64(spec.Words)*8, "rma/file: "+j.file.Path); err != nil {
			return nil, err
		}
	}
	at, err := j.header.add(spec)
	if err != nil {
		return nil, err
	}
	if err := j.file.FD.Truncate(int64(j.header.Size)); err != nil {
		return nil, fmt.Errorf("rma/file: making %s %s long: %w", j.file.Path,
			memory.Format(j.header.Size), err)
	}
	w, err := j.open(at)
	if err == nil && !spec.Reserve {
		if err = w.Commit(0, 0, spec.Words); err != nil {
			err = errors.Join(err, w.Close())
		}
	}
	return w, err
}

// open maps a window of the file.
func (j *job) open(at place) (*direct.Window, error) {
	part, err := j.file.Part(int64(at.Begin), int64(at.Words*8))
	if err != nil {
		return nil, fmt.Errorf("rma/file: %w", err)
	}
	units := direct.NewUnits("rma/file: "+j.file.Path, len(part.Mem), part.Take)
	j.parts = append(j.parts, part)
	w := j.windows.Open(0, 1, part.Words(0, int(at.Words)), false, func() error {
		return j.drop(at, part)
	})
	w.CommitBy(func(begin, end int) error { return units.Commit(begin*8, end*8) })
	return w, nil
}

// drop unmaps a window. One that is closed before the file has a name is not part of it.
func (j *job) drop(at place, part *mapped.File) error {
	if !j.named {
		j.header.remove(at)
	}
	return part.Close()
}

// Fault is the error of an access to an address in a window.
func (j *job) Fault(address uintptr) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, part := range j.parts {
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(part.Mem)))
		if len(part.Mem) > 0 && address >= begin && address-begin < uintptr(len(part.Mem)) {
			return fmt.Errorf("rma/file: %s was cut off while it was open, or cannot be read: "+
				"what it had is lost; delete the file", j.file.Path) // Remove may find no table
		}
	}
	return nil
}

// The words of members, and those at the end of the header, are read and written through the file:
// memory that is mapped could be cut off.

func (j *job) word(at int64) (uint64, error) {
	var b [8]byte
	if _, err := j.file.FD.ReadAt(b[:], at); err != nil {
		return 0, fmt.Errorf("rma/file: reading %s: %w", j.file.Path, err)
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

func (j *job) setWord(at int64, word uint64) error {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], word)
	if _, err := j.file.FD.WriteAt(b[:], at); err != nil {
		return fmt.Errorf("rma/file: writing to %s: %w", j.file.Path, err)
	}
	return nil
}

func memberAt(member int) int64 { return headerBytes + int64(member)*8 }

// openLocks opens the file again, for its locks.
func (j *job) openLocks() error {
	own := fmt.Sprintf("/proc/self/fd/%d", j.file.FD.Fd())
	fd, err := unix.Open(own, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("rma/file: opening %s for its locks: %w", j.file.Path, err)
	}
	j.locks = &mapped.File{Path: j.file.Path, FD: os.NewFile(uintptr(fd), j.file.Path)}
	if j.onLocks != nil {
		j.onLocks(fd, true)
	}
	return nil
}

// closeLocks drops all locks. To close the file would not be enough where a fork of this process
// has it open, too.
func (j *job) closeLocks() error {
	err := j.locks.UnlockAll()
	if j.onLocks != nil {
		j.onLocks(int(j.locks.FD.Fd()), false)
	}
	return errors.Join(err, j.locks.Close())
}

// members reads the words of all members.
func (j *job) members() (words [rma.MaxMembers]uint64, err error) {
	var b [memberBytes]byte
	if _, err := j.file.FD.ReadAt(b[:], headerBytes); err != nil {
		return words, fmt.Errorf("rma/file: reading %s: %w", j.file.Path, err)
	}
	for m := range words {
		words[m] = binary.NativeEndian.Uint64(b[m*8:])
	}
	return words, nil
}

// enter gets this process a number, that of nobody who has left something if there is one.
func (j *job) enter() error {
	for _, inherit := range []bool{false, true} {
		words, err := j.members()
		if err != nil {
			return err
		}
		for m, left := range words {
			if left != 0 != inherit {
				continue
			}
			// mark: the number of a member is about to be taken
			free, err := j.locks.Lock(int64(m))
			if err != nil {
				return fmt.Errorf("rma/file: %w", err)
			}
			if !free {
				continue
			}
			if left, err = j.word(memberAt(m)); err != nil {
				return err
			}
			if left != 0 && !inherit { // a member has come and ended since
				if err := j.locks.Unlock(int64(m)); err != nil {
					return fmt.Errorf("rma/file: %w", err)
				}
				continue
			}
			j.member, j.inherits, j.leaves = m, left != 0, true
			return j.setWord(memberAt(m), 1)
		}
	}
	return fmt.Errorf("rma/file: %d processes have %s open, which is the most; close some",
		rma.MaxMembers, j.file.Path)
}

// empty reports whether no other process is a member.
func (j *job) empty() bool { return !j.locks.AnyLocked(0, rma.MaxMembers) }

// Adopt calls adopt for each member that has ended and left something.
func (j *job) Adopt(adopt func(member int) error) error {
	words, err := j.members()
	if err != nil {
		return err
	}
	for m, left := range words {
		if m == j.member || left == 0 {
			continue
		}
		ended, err := j.locks.Lock(int64(m))
		if err != nil {
			return fmt.Errorf("rma/file: %w", err)
		}
		if !ended {
			continue
		}
		if left, err = j.word(memberAt(m)); err == nil && left != 0 {
			if err = adopt(m); err == nil {
				err = j.setWord(memberAt(m), 0)
			}
		}
		if err = errors.Join(err, j.locks.Unlock(int64(m))); err != nil {
			return err
		}
	}
	return nil
}

// recover finds out whether the system has stopped while the file was open, and nobody has checked
// it since. Then this process does, and has locked the gate.
func (j *job) recover() error {
	broken, err := j.broken()
	if !broken || err != nil {
		return err
	}
	// mark: a table is to be checked after the system has stopped
	if err := j.locks.Await(gate); err != nil {
		return fmt.Errorf("rma/file: %w", err)
	}
	if j.suspect, err = j.broken(); j.suspect || err != nil {
		return err
	}
	return j.locks.Unlock(gate)
}

// broken reports whether the file was not closed before the system was started.
func (j *job) broken() (bool, error) {
	boot, err := j.word(bootWord * 8)
	if err != nil || boot == bootHash() {
		return false, err
	}
	opening, err := j.word(openingWord * 8)
	if err != nil {
		return false, err
	}
	clean, err := j.word(cleanWord * 8)
	return clean != opening, err
}

// opened notes that the file is in use since this boot. That is on the disk before anything that
// this process changes. This process is a member: what is written of cleanWord from now on is of
// earlier openings.
func (j *job) opened() error {
	err := j.setWord(bootWord*8, bootHash())
	if err == nil {
		err = j.setWord(openingWord*8, newOpening())
	}
	if err != nil {
		return err
	}
	if clean, err := j.word(cleanWord * 8); clean == 0 || err != nil {
		return err
	}
	return errors.Join(j.file.FD.Sync(), j.setWord(cleanWord*8, 0))
}

// newOpening is the number of an opening, which no other has.
func newOpening() uint64 { return rand.Uint64() | 1 }

// bootHash is a hash of the boot of the system.
func bootHash() uint64 {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return xxh3.Hash(boot)
}

// Close leaves the job and unmaps its windows. The last member has the file written to the disk.
func (j *job) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	err := j.windows.CloseAll()
	if j.named {
		err = errors.Join(err, j.leave())
	}
	return errors.Join(err, j.closeLocks(), j.file.Close())
}

// leave gives this member's number back. A file that was cut off is left as it is. Who comes after
// it was found empty has another opening: then it is not clean.
func (j *job) leave() error {
	if st, err := j.file.FD.Stat(); err != nil || uint64(st.Size()) != j.header.Size {
		return err
	}
	opening, err := j.word(openingWord * 8)
	if err == nil && !j.leaves {
		err = j.setWord(memberAt(j.member), 0)
	}
	if err = errors.Join(err, j.locks.Unlock(int64(j.member))); err != nil {
		return err
	}
	if j.suspect || !j.empty() {
		return nil
	}
	// mark: the last member has ended and is about to have the file written to the disk
	return errors.Join(j.file.FD.Sync(), j.setWord(cleanWord*8, opening))
}

// publish gives the file its name. fs.ErrExist: another process was faster.
func (j *job) publish(path, temporary string) error {
	h := &j.header
	h.Magic, h.Version = magic, version
	var page [pageBytes]byte
	copy(page[:], h.bytes())
	binary.NativeEndian.PutUint64(page[sealWord*8:], h.seal())
	binary.NativeEndian.PutUint64(page[bootWord*8:], bootHash())
	binary.NativeEndian.PutUint64(page[openingWord*8:], newOpening())
	_, err := j.file.FD.WriteAt(page[:], 0)
	if err == nil {
		err = j.file.FD.Sync() // a file that has a name has a header, also after a power failure
	}
	if err != nil {
		return fmt.Errorf("rma/file: writing to %s: %w", path, err)
	}
	from := fmt.Sprintf("/proc/self/fd/%d", j.file.FD.Fd())
	if temporary != "" {
		from = temporary
	}
	err = unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("rma/file: naming %s: %w", path, err)
	}
	j.named = err == nil
	return err
}
