package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// A window that is made after the file has its name is memory of its process alone. Other windows
// that the file does not fit are refused.
func TestOwnWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	made := mustOpen(t, path)
	attached := mustOpen(t, path)
	ctx, spec := context.Background(), rma.Spec{Name: "own", Words: 8}
	for i, p := range []*plain{made, attached} {
		w, err := p.job.NewWindow(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		words := w.Words(0)
		if len(words) != spec.Words || words[7] != 0 {
			t.Errorf("%d: the window has the words %d", i, words)
		}
		words[7] = 1
		for _, bad := range []rma.Spec{{Name: "none"}, {Name: "plain", Words: plainWords + 1}} {
			if _, err := p.job.NewWindow(ctx, bad); err == nil ||
				!strings.Contains(err.Error(), bad.Name) {
				t.Errorf("%d: %+v: %v", i, bad, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, p := range []*plain{made, attached} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := p.job.NewWindow(ctx, spec); !errors.Is(err, rma.ErrClosed) {
			t.Errorf("%d: of a closed job: %v", i, err)
		}
	}
}

// A window that is closed before the file has its name is not in the file.
func TestClosedWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	p, err := Open(path, kind, nil, func(job rma.Job) (*plain, error) {
		w, err := job.NewWindow(context.Background(), rma.Spec{Name: "closed", Words: 700})
		if err != nil {
			return nil, err
		}
		p, err := makePlain(new(int))(job)
		return p, errors.Join(err, w.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	h := p.job.(*job).header
	if h.Count != 1 || h.Windows[0].Words != plainWords || h.Windows[1] != (place{}) {
		t.Errorf("%d windows: %+v", h.Count, h.Windows[:2])
	}
	p.fill(3)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	again := mustOpen(t, path)
	if words := again.words.Words(0); words[0] != 3 || words[plainWords-1] != 3 {
		t.Errorf("the words are %d and %d", words[0], words[plainWords-1])
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// windowless is a table without windows.
type windowless struct{ rma.Shared }

func (windowless) Check(context.Context) error { return nil }

// A table without windows is opened again, and has its record.
func TestNoWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	for round := range 2 {
		b, err := Open(path, kind, nil, func(job rma.Job) (windowless, error) {
			b := windowless{job.(rma.Shared)}
			if !b.Attached() {
				b.SetRecord([]uint64{7, 8})
			}
			return b, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if b.Attached() != (round > 0) || !slices.Equal(b.Record(), []uint64{7, 8}) {
			t.Errorf("round %d: attached %v, record %d", round, b.Attached(), b.Record())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An access to a window says that the file was cut off, and one to other memory says nothing.
func TestFault(t *testing.T) {
	p := mustOpen(t, filepath.Join(t.TempDir(), "table"))
	defer p.Close()
	own := make([]uint64, 1)
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(p.words.Words(0))))
	for address, want := range map[uintptr]bool{begin: true, begin + 8*plainWords - 1: true,
		begin - 1: false, begin + 8*plainWords: false,
		uintptr(unsafe.Pointer(unsafe.SliceData(own))): false} {
		if err := p.job.(*job).Fault(address); (err != nil) != want ||
			err != nil && !strings.Contains(err.Error(), "was cut off") {
			t.Errorf("%d bytes after the begin: %v", int64(address-begin), err)
		}
	}
}

// A new member has the number of one that has left nothing. If there is none it inherits.
func TestInherits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	for m := range rma.MaxMembers {
		patch(t, path, memberAt(m), word(1))
	}
	const free = 900
	patch(t, path, memberAt(free), word(0))
	var all []*plain
	for i, want := range []int{free, 0, 1} {
		p := mustOpen(t, path)
		all = append(all, p)
		if got := p.job.Member(); got != want || p.job.Inherits() != (i > 0) {
			t.Errorf("opening %d is member %d, want %d; inherits %v", i, got, want,
				p.job.Inherits())
		}
	}
	for _, p := range all {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What members have left is adopted once, unless they are there or it fails.
func TestAdopt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	p, other := mustOpen(t, path), mustOpen(t, path)
	defer p.Close()
	defer other.Close()
	for _, m := range []int{3, 7, 1023} {
		patch(t, path, memberAt(m), word(1))
	}
	failed := errors.New("failed")
	for i, want := range [][]int{{3, 7}, {7, 1023}, nil} {
		var got []int
		err := p.job.Adopt(func(member int) error {
			if got = append(got, member); member == 7 && i == 0 {
				return failed
			}
			return nil
		})
		if !slices.Equal(got, want) || errors.Is(err, failed) != (i == 0) || i > 0 && err != nil {
			t.Errorf("round %d: members %d, want %d; %v", i, got, want, err)
		}
	}
	if p.job.(*job).file.AnyLocked(2, rma.MaxMembers-2) {
		t.Error("numbers of members that have ended are still locked")
	}
}

// Whatever is opened is closed again.
func TestDescriptors(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it closes what nobody refers to
	dir := t.TempDir()
	path := filepath.Join(dir, "table")
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if err := mustOpen(t, path).Close(); err != nil { // the runtime opens some for the first file
		t.Fatal(err)
	}
	before := count()
	p := mustOpen(t, path)
	if got := count(); got != before+2 { // one more for locks
		t.Errorf("%d descriptors while it is open, %d before", got, before)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for what, use := range map[string]func() error{
		"Stat": func() error { _, err := Stat(path); return err },
		"List": func() error { _, err := List(dir); return err },
		"another kind": func() error {
			if _, err := Open(path, Kind{Name: "x"}, nil, makePlain(new(int))); err == nil {
				return errors.New("it was opened")
			}
			return nil
		},
		"a table that fails": func() error {
			failed := errors.New("failed")
			_, err := Open(path, kind, nil, func(rma.Job) (*plain, error) { return nil, failed })
			if errors.Is(err, failed) {
				return nil
			}
			return err
		},
	} {
		if err := use(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := count(); got != before {
			t.Errorf("%s: %d descriptors, %d before", what, got, before)
		}
	}
	if err := Remove(path); err != nil {
		t.Error(err)
	}
	if got := count(); got != before {
		t.Errorf("Remove: %d descriptors, %d before", got, before)
	}
}
