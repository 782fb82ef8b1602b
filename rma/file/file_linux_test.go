package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/rma"
)

var kind = Kind{Name: "test", Layout: 3}

// plain is a table of words that are all equal. It is damaged when they are not.
type plain struct {
	job    rma.Shared
	words  rma.Window
	checks *int
}

const plainWords = 1 << 13

func makePlain(checks *int) func(job rma.Job) (*plain, error) {
	return func(job rma.Job) (*plain, error) {
		w, err := job.NewWindow(context.Background(), rma.Spec{Name: "plain", Words: plainWords})
		if err != nil {
			return nil, err
		}
		shared := job.(rma.Shared)
		if !shared.Attached() {
			shared.SetRecord([]uint64{1, 2, 3})
		}
		return &plain{shared, w, checks}, nil
	}
}

func (p *plain) Check(context.Context) error {
	*p.checks++
	words := p.words.Words(0)
	for i, word := range words {
		if word != words[0] {
			return fmt.Errorf("word %d is %d, and word 0 is %d", i, word, words[0])
		}
	}
	return nil
}

func (p *plain) Close() error {
	p.job.Leaves(false)
	return errors.Join(p.words.Close(), p.job.Close())
}

func (p *plain) fill(word uint64) {
	words := p.words.Words(0)
	for i := range words {
		words[i] = word
	}
}

// openPlain opens a table.
func openPlain(path string, options ...Option) (*plain, error) {
	return Open(path, kind, options, makePlain(new(int)))
}

func mustOpen(t *testing.T, path string, options ...Option) *plain {
	t.Helper()
	p, err := openPlain(path, options...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// patch writes bytes into a file.
func patch(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(b, at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func word(w uint64) []byte { return binary.NativeEndian.AppendUint64(nil, w) }

// sealed makes a header in a file, changed, fit its checksum.
func sealed(t *testing.T, path string, change func(h *header)) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h header
	copy(h.bytes(), page)
	change(&h)
	patch(t, path, 0, h.bytes())
	patch(t, path, sealWord*8, word(h.seal()))
}

// refusal is a file that is refused.
type refusal struct {
	name, reason string
	noTable      bool
	make         func(t *testing.T, path string) // of a table
}

// forged is a table whose header fits its checksum, and has a field that is out of its bounds.
func forged(reason string, change func(h *header)) refusal {
	return refusal{"forged so that " + reason, reason, false,
		func(t *testing.T, path string) { sealed(t, path, change) }}
}

// refused are files that are refused, with the reason. Those that are no tables are not removed.
var refused = []refusal{
	{"another kind", "a test, not a other", false, nil},
	{"another layout", "has layout 4, and this program has layout 3", false,
		func(t *testing.T, path string) { sealed(t, path, func(h *header) { h.Layout++ }) }},
	{"another version", "its version is 2, and this program has version 1", false,
		func(t *testing.T, path string) { sealed(t, path, func(h *header) { h.Version++ }) }},
	{"damaged header", "its header is damaged", false,
		func(t *testing.T, path string) { patch(t, path, 100, []byte{77}) }},
	forged("it says 49 windows", func(h *header) { h.Count = maxWindows + 1 }),
	forged("it says a record of ", func(h *header) { h.Words = rma.MaxRecord + 1 }),
	forged(`the kind "te\x1b"`, func(h *header) { h.Kind = [16]byte{'t', 'e', 0x1b} }),
	forged("it says a window of ", func(h *header) { h.Windows[0].Words = 1 << 61 }),
	forged("it says a window of 0", func(h *header) { h.Windows[0].Words = 0 }),
	forged("it says a window of ", func(h *header) { h.Windows[0].Words = h.Size / 8 }),
	forged("it says a window of ", func(h *header) { h.Windows[0].Begin = headerBytes }),
	forged("it says a window of ", func(h *header) { h.Windows[0].Begin += 8 }),
	forged("it says a window of ", func(h *header) { h.Windows[0].Begin = 1 << 63 }),
	forged("it says a window of ", func(h *header) { h.Windows[1], h.Count = h.Windows[0], 2 }),
	{"truncated", "was cut off: it has 12288 bytes in ", false, func(t *testing.T, path string) {
		if err := os.Truncate(path, 3*pageBytes); err != nil {
			t.Fatal(err)
		}
	}},
	{"longer", "something else has written at its end: it has 4194305 bytes in place of ", false,
		func(t *testing.T, path string) { patch(t, path, 1<<22, []byte{1}) }},
	{"foreign", "is not a table", true, func(t *testing.T, path string) {
		replace(t, path, func() error { return os.WriteFile(path, make([]byte, 1<<14), 0o600) })
	}},
	{"short", "is not a table of farhash: it has 5 bytes", true, func(t *testing.T, path string) {
		replace(t, path, func() error { return os.WriteFile(path, []byte("short"), 0o600) })
	}},
	{"empty", "is not a table of farhash: it has 0 bytes", true, func(t *testing.T, path string) {
		replace(t, path, func() error { return os.WriteFile(path, nil, 0o600) })
	}},
	{"directory", "is not a table", true, func(t *testing.T, path string) {
		replace(t, path, func() error { return os.Mkdir(path, 0o700) })
	}},
	{"pipe", "is not a table", true, func(t *testing.T, path string) {
		replace(t, path, func() error { return unix.Mkfifo(path, 0o600) })
	}},
	{"symbolic link", "is a symbolic link", true, func(t *testing.T, path string) {
		if err := os.Rename(path, path+".there"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path+".there", path); err != nil {
			t.Fatal(err)
		}
	}},
}

// replace removes a file and makes another one.
func replace(t *testing.T, path string, with func() error) {
	t.Helper()
	if err := errors.Join(os.Remove(path), with()); err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be opened is refused with a reason, and stays as it is. Remove removes what is
// a table.
func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "table")
			if err := mustOpen(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			as := kind
			if c.make != nil {
				c.make(t, path)
			} else {
				as.Name = "other"
			}
			before, content := status(t, path)
			p, err := Open(path, as, nil, makePlain(new(int)))
			if err == nil {
				t.Fatal(p.Close(), "it was opened")
			}
			if !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v; want %q", err, c.reason)
			}
			after, contentAfter := status(t, path)
			if before != after || !bytes.Equal(content, contentAfter) {
				t.Errorf("it has changed: %s, now %s", before, after)
			}
			if strings.HasPrefix(c.reason, "it says") {
				if _, err := Stat(path); err == nil || !strings.Contains(err.Error(), c.reason) {
					t.Errorf("Stat: %v; want %q", err, c.reason)
				}
			}
			err = Remove(path)
			if _, statErr := os.Lstat(path); (err == nil) == c.noTable ||
				(statErr == nil) != c.noTable {
				t.Errorf("Remove: %v; then %v", err, statErr)
			}
		})
	}
}

// status describes a file, and what it has.
func status(t *testing.T, path string) (string, []byte) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	var content []byte
	if info.Mode().IsRegular() {
		if content, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime()), content
}

// A file of another user is refused, unless AnyOwner is given.
func TestAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	if err := mustOpen(t, path, Mode(0o666)).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Skip("needs root:", err)
	}
	_, err := openPlain(path)
	if err == nil || !strings.Contains(err.Error(), "it belongs to user 12345") {
		t.Error(err)
	}
	if err := mustOpen(t, path, AnyOwner()).Close(); err != nil {
		t.Error(err)
	}
}

// No more than rma.MaxMembers have a table open. Another one may come when one has gone.
func TestMembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	var all []*plain
	defer func() {
		for _, p := range all {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	seen := map[int]bool{}
	for range rma.MaxMembers {
		p, err := openPlain(path)
		if errors.Is(err, unix.EMFILE) {
			t.Skip("needs two files for each opening (ulimit -n):", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		seen[p.job.Member()] = true
	}
	if len(seen) != rma.MaxMembers {
		t.Errorf("%d openings have %d numbers", rma.MaxMembers, len(seen))
	}
	_, err := openPlain(path)
	if err == nil || !strings.Contains(err.Error(), "1024 processes have") {
		t.Errorf("one more: %v", err)
	}
	number := all[700].job.Member()
	if err := all[700].Close(); err != nil {
		t.Fatal(err)
	}
	all[700] = mustOpen(t, path)
	if got := all[700].job.Member(); got != number || all[700].job.Inherits() {
		t.Errorf("the next one is member %d, not %d; inherits %v", got, number,
			all[700].job.Inherits())
	}
	if info, err := Stat(path); err != nil || info.Members != rma.MaxMembers {
		t.Errorf("Stat: %+v, %v", info, err)
	}
}

// Many that open a table at the same time get one table.
func TestCreateTogether(t *testing.T) {
	dir := t.TempDir()
	for round := range 20 {
		path := filepath.Join(dir, fmt.Sprint("table", round))
		const openings = 20
		var all [openings]*plain
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				var err error
				if all[i], err = openPlain(path); err != nil {
					t.Error(err)
					return
				}
				atomic.AddUint64(&all[i].words.Words(0)[0], 1)
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		if got := all[0].words.Words(0)[0]; got != openings {
			t.Errorf("%d openings have counted to %d", openings, got)
		}
		for _, p := range all {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := Remove(path); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}

// Who cannot make a table, as another one has made it and taken the room, opens that one.
func TestCreateTooLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	full := errors.New("there is no room")
	p, err := Open(path, kind, nil, func(job rma.Job) (*plain, error) {
		if job.(rma.Shared).Attached() {
			return makePlain(new(int))(job)
		}
		if err := mustOpen(t, path).Close(); err != nil {
			t.Error(err)
		}
		return nil, full
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), Remove(path)); err != nil {
		t.Error(err)
	}
	_, err = Open(path, kind, nil, func(rma.Job) (*plain, error) { return nil, full })
	if !errors.Is(err, full) {
		t.Errorf("a table that nobody can make: %v", err)
	}
}

// Who has a table that is removed keeps it, and the next one gets a new one.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	old := mustOpen(t, path)
	old.fill(5)
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := openPlain(path, Existing()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Existing: %v", err)
	}
	if err := Remove(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove again: %v", err)
	}
	young := mustOpen(t, path)
	young.fill(7)
	if got := old.words.Words(0)[9]; got != 5 {
		t.Errorf("the removed one has %d", got)
	}
	if err := errors.Join(old.Close(), young.Close()); err != nil {
		t.Error(err)
	}
	again := mustOpen(t, path)
	if got := again.words.Words(0)[9]; got != 7 {
		t.Errorf("the new one has %d", got)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// After a power failure the first one that opens a file that was open has it checked, and nobody
// else. A damaged one is refused from then on.
func TestPowerFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	p := mustOpen(t, path)
	p.fill(1)
	if isClean(t, path) {
		t.Error("it is clean while it is open")
	}
	other := mustOpen(t, path)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if isClean(t, path) {
		t.Error("it is clean while another one has it open")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if !isClean(t, path) {
		t.Error("it is not clean after it was closed")
	}
	reopen := func(fails, clean uint64, want int) error {
		t.Helper()
		patch(t, path, bootWord*8, word(bootHash()+fails))
		patch(t, path, cleanWord*8, word(clean*atWord(t, path, openingWord)))
		checks := 0
		first, err := Open(path, kind, nil, makePlain(&checks))
		if err == nil {
			err = mustOpen(t, path).Close()
			err = errors.Join(err, first.Close())
		}
		if checks != want {
			t.Errorf("failed %d, clean %d: %d checks, want %d", fails, clean, checks, want)
		}
		return err
	}
	for clean := range uint64(2) {
		for fails := range uint64(2) {
			if err := reopen(fails, clean, int(fails&^clean)); err != nil {
				t.Error(err)
			}
		}
	}
	patch(t, path, firstWindow+80, word(2))
	for range 2 {
		err := reopen(1, 0, 1)
		if err == nil || !strings.Contains(err.Error(), "word 10 is 2") ||
			!strings.Contains(err.Error(), "the system stopped while "+path) {
			t.Errorf("a damaged file: %v", err)
		}
		if isClean(t, path) {
			t.Error("a damaged file is clean")
		}
	}
	if err := Remove(path); err != nil {
		t.Error(err)
	}
}

// isClean reports whether a file was closed by all, and is on the disk.
func isClean(t *testing.T, path string) bool {
	t.Helper()
	return atWord(t, path, openingWord) == atWord(t, path, cleanWord)
}

// atWord is a word of the first page of a file.
func atWord(t *testing.T, path string, at int) uint64 {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return binary.NativeEndian.Uint64(page[at*8:])
}

// Where there is no room for a table none is made, and nothing is left.
func TestNoRoom(t *testing.T) {
	dir := mountTmpfs(t, "size=40k")
	_, err := openPlain(filepath.Join(dir, "table"))
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), dir) {
		t.Errorf("without room: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	_, err = openPlain(filepath.Join(dir, "missing", "table"))
	if err == nil || !strings.Contains(err.Error(), "there is no such directory") {
		t.Errorf("without a directory: %v", err)
	}
}

// mountTmpfs mounts a file system in memory for one test, or skips the test.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("farhash-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting a tmpfs with %s, which needs root: %v", options, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A window that a forged file does not have is no memory of who opens it, however long it is.
func TestMissingWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	if err := mustOpen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	sealed(t, path, func(h *header) { h.Windows[0].Name++ })
	if _, err := openPlain(path); err == nil ||
		!strings.Contains(err.Error(), `window "plain" is missing`) {
		t.Error(err)
	}
}
