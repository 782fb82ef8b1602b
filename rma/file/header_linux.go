package file

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/mapped"
)

const (
	magic   = 0x46_41_52_48_41_53_48_02 // "FARHASH", then the kind of file
	version = 1

	pageBytes   = 4096
	headerBytes = pageBytes
	memberBytes = rma.MaxMembers * 8
	firstWindow = headerBytes + memberBytes
	maxWindows  = 48
)

// header is what does not change once the file has a name. It has words only, and no pointers.
type header struct {
	Magic, Version uint64
	Size           uint64 // bytes of the file
	Kind           [16]byte
	Layout         uint64
	Words          uint64 // of Record
	Record         [rma.MaxRecord]uint64
	Count          uint64 // of Windows
	Windows        [maxWindows]place
}

// place is where a window is.
type place struct {
	Name  uint64 // hash of its name and key
	Begin uint64 // bytes from the beginning of the file
	Words uint64
}

// The words of the first page that follow the header.
const (
	sealWord    = pageBytes/8 - 4 // checksum of the header
	bootWord    = pageBytes/8 - 3 // hash of the boot in which it was opened last
	openingWord = pageBytes/8 - 2 // number of the opening that was the last one
	cleanWord   = pageBytes/8 - 1 // opening after which it was closed by all, and is on the disk
)

// bytes is the header as it is in the file.
func (h *header) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(h)), unsafe.Sizeof(*h))
}

// seal is the checksum of a header.
func (h *header) seal() uint64 { return xxh3.Hash(h.bytes()) }

func (h *header) kind() Kind {
	n := 0
	for n < len(h.Kind) && h.Kind[n] != 0 {
		n++
	}
	return Kind{string(h.Kind[:n]), h.Layout}
}

// add makes room for a window.
func (h *header) add(spec rma.Spec) (place, error) {
	if h.Count == maxWindows {
		return place{}, fmt.Errorf("rma/file: no more than %d windows fit into a file", maxWindows)
	}
	align := uint64(pageBytes)
	if spec.Words*8 >= direct.UnitBytes {
		align = direct.UnitBytes
	}
	begin := (h.Size + align - 1) / align * align
	p := place{nameOf(spec), begin, uint64(spec.Words)}
	h.Size = begin + (p.Words*8+align-1)/align*align
	h.Windows[h.Count] = p
	h.Count++
	return p, nil
}

// find is the window of a name, ok false if there is none.
func (h *header) find(spec rma.Spec) (p place, ok bool) {
	for _, p := range h.Windows[:h.Count] {
		if p.Name == nameOf(spec) {
			return p, true
		}
	}
	return place{}, false
}

// remove removes a window that was closed before the file had a name.
func (h *header) remove(p place) {
	for i := range h.Count {
		if h.Windows[i] == p {
			h.Count--
			h.Windows[i] = h.Windows[h.Count]
			h.Windows[h.Count] = place{}
			return
		}
	}
}

func nameOf(spec rma.Spec) uint64 { return xxh3.HashString(spec.Name + "\x00" + spec.Key) }

// sound makes sure that the fields of a header are within their bounds: a forged one has the right
// checksum. Nothing of a header is used before.
func (h *header) sound() error {
	switch {
	case h.Size < firstWindow || h.Size > math.MaxInt64:
		return fmt.Errorf("a size of %d bytes", h.Size)
	case h.Words > rma.MaxRecord:
		return fmt.Errorf("a record of %d words", h.Words)
	case h.Count > maxWindows:
		return fmt.Errorf("%d windows", h.Count)
	case strings.ContainsFunc(h.kind().Name, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("the kind %q", h.kind().Name)
	}
	windows := slices.Clone(h.Windows[:h.Count])
	slices.SortFunc(windows, func(a, b place) int { return cmp.Compare(a.Begin, b.Begin) })
	end := uint64(firstWindow)
	for _, p := range windows {
		if p.Begin < end || p.Begin%pageBytes != 0 || p.Begin > h.Size || p.Words == 0 ||
			p.Words > (h.Size-p.Begin)/8 {
			return fmt.Errorf("a window of %d words at %d", p.Words, p.Begin)
		}
		end = p.Begin + p.Words*8
	}
	return nil
}

// openFile opens the file of a table, to read and write it or only to read it. It refuses any other
// file. It reads without a mapping.
func openFile(path string, mode int, o options) (*mapped.File, header, error) {
	var h header
	// Without O_NONBLOCK a named pipe would wait for somebody to open its other end.
	fd, err := unix.Open(path, mode|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, h, fmt.Errorf("rma/file: %s is a symbolic link; open what it leads to", path)
	}
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENXIO) {
		return nil, h, fmt.Errorf("rma/file: %s: %w", path, ErrNoTable)
	}
	if err != nil {
		return nil, h, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := &mapped.File{Path: path, FD: os.NewFile(uintptr(fd), path)}
	if err = examine(f, &h, o); err != nil {
		return nil, h, errors.Join(fmt.Errorf("rma/file: %s: %w", path, err), f.Close())
	}
	return f, h, nil
}

// examine reads the header of a file, and finds out whether it may be used.
func examine(f *mapped.File, h *header, o options) error {
	st, err := f.FD.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return ErrNoTable
	}
	var page [pageBytes]byte
	if n, _ := f.FD.ReadAt(page[:], 0); n < pageBytes {
		return fmt.Errorf("%w: it has %s", ErrNoTable, plural.Of(int(st.Size()), "byte"))
	}
	copy(h.bytes(), page[:])
	owner := st.Sys().(*syscall.Stat_t).Uid
	switch {
	case h.Magic != magic:
		return ErrNoTable
	case int(owner) != os.Getuid() && !o.anyOwner:
		return fmt.Errorf("it belongs to user %d, and this process to user %d; open it with "+
			"AnyOwner if that user is trusted", owner, os.Getuid())
	case h.Version != version:
		return fmt.Errorf("its version is %d, and this program has version %d: open it with the "+
			"program that made it, or remove it", h.Version, version)
	case h.seal() != binary.NativeEndian.Uint64(page[sealWord*8:]):
		return errors.New("its header is damaged; remove it")
	case uint64(st.Size()) < h.Size:
		return fmt.Errorf("it was cut off: it has %d bytes in place of %d; remove it", st.Size(),
			h.Size)
	case uint64(st.Size()) > h.Size:
		return fmt.Errorf("something else has written at its end: it has %d bytes in place of %d; "+
			"remove it", st.Size(), h.Size)
	}
	if err := h.sound(); err != nil {
		return fmt.Errorf("its header is damaged, or forged: it says %w; remove it", err)
	}
	return nil
}

// expect makes sure that a file has the kind that is to be opened.
func (h *header) expect(path string, want Kind) error {
	switch got := h.kind(); {
	case got.Name != want.Name:
		return fmt.Errorf("rma/file: %s: %w: a %s, not a %s", path, ErrKind, got.Name, want.Name)
	case got.Layout != want.Layout:
		return fmt.Errorf("rma/file: %s: its %s has layout %d, and this program has layout %d: "+
			"open it with the program that made it, or remove it", path, got.Name, got.Layout,
			want.Layout)
	}
	return nil
}
