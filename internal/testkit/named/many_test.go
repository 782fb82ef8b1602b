//go:build linux

package named

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/set"
)

// Many processes work on one table at the same time. Those that come together make it once.
func TestMany(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for kind := range tables {
		t.Run(kind, func(t *testing.T) { together(t, kind, 16) })
	}
}

// together starts so many processes on a table, and ends them, half of them by a kill.
func together(t *testing.T, kind string, many int) {
	path := newPath(t)
	var all []*process
	for n := range many {
		all = append(all, start(t, kind, path, uint64(n+1)))
	}
	for _, p := range all {
		p.await(1)
	}
	if info, err := file.Stat(path); err != nil || info.Members != many {
		t.Errorf("%d processes have it open, %v; want %d", info.Members, err, many)
	}
	for i, p := range all {
		if i%2 == 0 {
			p.finish()
		} else {
			p.kill()
		}
	}
	examine(t, kind, path, all)
}

// A process that is stopped for as long as others work, wherever it is, stops none, and continues.
func TestStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for kind := range tables {
		for _, program := range []string{kind, kind + "-again"} {
			t.Run(program, func(t *testing.T) {
				path := newPath(t)
				var all []*process
				for n := range 4 {
					all = append(all, start(t, program, path, uint64(n+1)))
					all[n].await(50)
					all[n].stop()
				}
				for n := range 2 {
					p := start(t, program, path, uint64(n+5))
					p.await(200)
					p.finish()
					all = append(all, p)
				}
				for _, p := range all[:4] {
					p.resume()
					p.await(p.acknowledged() + 20)
					p.finish()
				}
				examine(t, kind, path, all)
			})
		}
	}
}

// Where the file system is full a call has an error that says so, what was stored stays, and calls
// work again when there is room.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("farhash-test", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skip("mounting a tmpfs, which needs root:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	m, err := kv.Open(filepath.Join(dir, "map"), kv.Config{MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	s, err := set.OpenBytes(filepath.Join(dir, "strings"), set.BytesConfig{
		Config: set.Config{MaxBytes: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := set.OpenBytes(filepath.Join(dir, "elements"), set.BytesConfig{
		ElementBytes: 200, Config: set.Config{MaxBytes: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	full := map[string]filling{
		"map": {mapTable{m}, func(n uint64) error {
			_, err := m.Put(numbers(n, n), make([]byte, 1000))
			return err
		}},
		"strings": {setTable{s, nil}, func(n uint64) error {
			_, err := s.FindOrPut(append(numbers(n, n), make([]byte, 1000)...))
			return err
		}},
		"elements": {setTable{e, nil}, func(n uint64) error {
			_, err := e.FindOrPut(append(numbers(n, n), make([]byte, 184)...))
			return err
		}},
	}
	filler := filepath.Join(dir, "filler")
	if err := fillUp(filler); err != nil {
		t.Fatal(err)
	}
	stored := map[string]uint64{}
	for kind, f := range full {
		if stored[kind], err = f.fill(); err != nil {
			t.Errorf("%s is full: %v", kind, err)
		}
	}
	for n := range stored["map"] {
		if _, _, found, err := m.Get(numbers(n, n), nil); err != nil || !found {
			t.Fatal("key", n, found, err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for kind, f := range full {
		for n := range uint64(1000) {
			if err := f.put(stored[kind] + n); err != nil {
				t.Fatalf("%s, when there is room: %v", kind, err)
			}
		}
		if err := errors.Join(f.Check(t.Context()), f.Close()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// filling is a table in a file system that is full.
type filling struct {
	table
	put func(n uint64) error
}

// fill puts until the table is full, and checks it.
func (f filling) fill() (n uint64, err error) {
	for err = f.put(0); err == nil && n < 1<<20; err = f.put(n) {
		n++
	}
	kvFull, setFull := (*kv.FullError)(nil), (*set.FullError)(nil)
	if !errors.As(err, &kvFull) && !errors.As(err, &setFull) ||
		!strings.Contains(err.Error(), "no memory") && !errors.Is(err, unix.ENOSPC) {
		return n, fmt.Errorf("after %d: %w", n, err)
	}
	return n, f.Check(context.Background())
}

// fillUp makes a file that takes what a file system has left.
func fillUp(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	at := int64(0)
	for size := int64(1 << 20); size >= 4096; {
		if unix.Fallocate(int(f.Fd()), 0, at, size) == nil {
			at += size
		} else {
			size /= 2
		}
	}
	return nil
}

// After a power failure a table on a disk is checked, and one that is damaged is refused. What has
// no checksums is not found damaged everywhere.
func TestPowerFailure(t *testing.T) {
	for kind, open := range tables {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "table")
			table, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			const operations = 200
			for n := uint64(1); n <= operations; n++ {
				if err := table.do(3, n); err != nil {
					t.Fatal(err)
				}
			}
			if err := table.Close(); err != nil {
				t.Fatal(err)
			}
			fail(t, path)
			if table, err = open(path); err != nil {
				t.Fatal("an intact one:", err)
			}
			if err := errors.Join(table.verify(3, operations), table.Close()); err != nil {
				t.Error(err)
			}
			damage(t, path)
			fail(t, path)
			for range 2 {
				if table, err = open(path); err == nil {
					t.Fatal("a damaged one was opened", table.Close())
				}
				if !strings.Contains(err.Error(), "the system stopped while") {
					t.Errorf("a damaged one: %v", err)
				}
			}
			if err := file.Remove(path); err != nil {
				t.Error(err)
			}
		})
	}
}

// fail makes a file one that was open in another boot of the system. The words of that are the last
// ones of its first page.
func fail(t *testing.T, path string) {
	t.Helper()
	change(t, path, func(b []byte) []byte {
		binary.NativeEndian.PutUint64(b[4096-24:], 1)
		binary.NativeEndian.PutUint64(b[4096-8:], 0)
		return b
	})
}

// damage flips a bit in each word that is stored in the windows, except small numbers.
func damage(t *testing.T, path string) {
	t.Helper()
	change(t, path, func(b []byte) []byte {
		for at := 4096 + 8192; at+8 <= len(b); at += 8 {
			if word := binary.NativeEndian.Uint64(b[at:]); word >= 1<<32 {
				binary.NativeEndian.PutUint64(b[at:], word^1<<20)
			}
		}
		return b
	})
}

// change changes the beginning of a file.
func change(t *testing.T, path string, fn func(b []byte) []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4<<20)
	n, _ := f.ReadAt(b, 0)
	if _, err := f.WriteAt(fn(b[:n]), 0); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
}
