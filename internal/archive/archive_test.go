package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/archive"
	"github.com/farhash/farhash/internal/testkit/archivetest"
)

// write makes an archive of blocks, written by several ranks in any order.
func write(t *testing.T, path string, blocks [][]byte) {
	t.Helper()
	first, err := archive.Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for rank := range 3 {
		wg.Go(func() {
			w, err := archive.Join(path, first.Mark())
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			for n := rank; n < len(blocks); n += 3 {
				if err := w.WriteBlock(uint64(n), uint32(n%5), blocks[n]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	records := len(bytes.Join(blocks, nil)) // a byte is a record
	err = first.Finish(uint64(len(blocks)), uint64(records), []byte("about"))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
}

func randomBlocks(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	blocks := make([][]byte, n)
	for i := range blocks {
		blocks[i] = make([]byte, rng.IntN(archive.PayloadBytes+1))
		for j := range blocks[i] {
			blocks[i][j] = byte(rng.Uint32())
		}
	}
	return blocks
}

// readAll opens an archive and reads every block.
func readAll(path string) ([][]byte, error) {
	r, err := archive.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var blocks [][]byte
	buf := make([]byte, archive.PayloadBytes)
	for n := range r.Blocks {
		_, payload, err := r.ReadBlock(n, buf)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, bytes.Clone(payload))
	}
	return blocks, nil
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 7} {
		path := filepath.Join(t.TempDir(), "file")
		blocks := randomBlocks(n)
		if n > 2 { // the longest block, and the shortest
			blocks[1], blocks[2] = bytes.Repeat([]byte("x"), archive.PayloadBytes), nil
		}
		write(t, path, blocks)
		got, err := readAll(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != n {
			t.Fatalf("read %d blocks, wrote %d", len(got), n)
		}
		for i := range got {
			if !bytes.Equal(got[i], blocks[i]) {
				t.Errorf("block %d differs", i)
			}
		}
		r, err := archive.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Description) != "about" {
			t.Errorf("description %q", r.Description)
		}
		_ = r.Close()
	}
}

// Every single damaged byte, wherever it is, must be noticed.
func TestDamageIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	blocks := [][]byte{[]byte("first"), bytes.Repeat([]byte("x"), 1000)}
	write(t, path, blocks)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const stride = 32 + archive.PayloadBytes
	covered := func(at int) bool { // padding holds nothing
		at -= 4096
		if at < 0 {
			return true
		}
		in := at % stride
		return in < 16 || in >= 32 && in < 32+len(blocks[at/stride])
	}
	for at := range good {
		head := at >= 4096 && (at-4096)%stride < 16 // of a block; elsewhere some bytes are enough
		if !covered(at) || at%13 != 0 && !head {
			continue
		}
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(path); err == nil {
			t.Errorf("byte %d was damaged, and nobody noticed", at)
		}
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, randomBlocks(2))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "no checkpoint or saved table"},
		{"foreign", bytes.Repeat([]byte("PK"), 5000), "no checkpoint or saved table"},
		{"truncated", good[:len(good)-1], "truncated"},
		{"longer", append(bytes.Clone(good), 0), "added to"},
		{"half a header", good[:100], "ends within the header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := filepath.Join(dir, "bad")
			if err := os.WriteFile(bad, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := archive.Open(bad)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// Files of earlier builds are refused, with what to do.
func TestEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, [][]byte{[]byte("old")})
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[8] = 2
	binary.LittleEndian.PutUint64(file[4088:], xxh3.Hash(file[:4088]))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Open(path)
	if err == nil || !strings.Contains(err.Error(), "has version 2") ||
		!strings.Contains(err.Error(), "save it anew") {
		t.Errorf("error %v", err)
	}
}

// What was there before stays until the new file is complete.
func TestOldFileStaysUntilFinish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, [][]byte{[]byte("old")})
	w, err := archive.Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBlock(0, 0, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(path)
	if err != nil || string(got[0]) != "old" {
		t.Fatalf("the old file reads %q, %v", got, err)
	}
	if err := w.Abandon(); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(path + "*")
	if len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// Two jobs that wrote one file at once would spoil it, and the old one would be gone.
func TestOneWriterAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, err := archive.Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.WriteBlock(0, 0, []byte("first")); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Create(path, "")
	if err == nil || !strings.Contains(err.Error(), "another job is writing") {
		t.Errorf("a second writer: %v", err)
	}
	if err := errors.Join(first.Finish(1, 5, nil), first.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(path)
	if err != nil || string(got[0]) != "first" {
		t.Errorf("the file reads %q, %v", got, err)
	}
	second, err := archive.Create(path, "")
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	if err := second.Abandon(); err != nil {
		t.Error(err)
	}
}

// What a process that died has left is no hindrance, and nothing of it stays.
func TestLeftOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	died, err := archive.Create(path, "")
	if err == nil {
		err = errors.Join(died.WriteBlock(3, 0, make([]byte, 1<<10)), died.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, [][]byte{[]byte("new")})
	if got, err := readAll(path); err != nil || len(got) != 1 || string(got[0]) != "new" {
		t.Errorf("the file reads %q, %v", got, err)
	}
}

// Blocks of two files, put together in any way, are not read as one of them.
func TestSplices(t *testing.T) {
	one, other := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "other")
	write(t, one, [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d")})
	write(t, other, [][]byte{[]byte("k"), []byte("l"), []byte("m")})
	archivetest.Refused(t, one, other, func(path string) (string, error) {
		blocks, err := readAll(path)
		return string(bytes.Join(blocks, nil)), err
	})
}
