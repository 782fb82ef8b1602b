//go:build unix

package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"unsafe"
)

// Reserved memory begins on a unit, has the words that were asked for, and is taken in parts. All
// of it can be written.
func TestReserve(t *testing.T) {
	const pages = UnitBytes / 4096
	// Sizes that are no whole units: the system would place the next block off a unit.
	for _, n := range []int{1, 512 * 5, 512*(pages+1) - 1, 512*(2*pages+3) + 7} {
		r, err := Reserve(n)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Release(); err != nil {
				t.Error(err)
			}
		}()
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(r.Words))); at%UnitBytes != 0 {
			t.Errorf("%d words begin at %#x", n, at)
		}
		if len(r.Words) != n || cap(r.Words) != n {
			t.Errorf("%d words with room for %d, want %d", len(r.Words), cap(r.Words), n)
		}
		if r.Touched() && runtime.GOOS == "linux" {
			t.Errorf("%d words are there before they are taken", n)
		}
		if err := r.Take(0, min(8*n, UnitBytes)); err != nil {
			t.Error(err)
		}
		if !r.Touched() {
			t.Errorf("%d words are not there", n)
		}
		for _, i := range []int{0, n - 1} {
			if r.Words[i]++; r.Words[i] != 1 && n > 1 {
				t.Errorf("word %d of %d was not zero", i, n)
			}
		}
	}
}

// What is released is there to be used again: blocks of more addresses than a process has are
// reserved one after the other.
func TestReserveAgain(t *testing.T) {
	if strconv.IntSize < 64 || !CanReserve() {
		t.Skip("addresses are few here")
	}
	shift := 37 // 1 TiB, and a process has 128 TiB
	for range 300 {
		r, err := Reserve(1 << shift)
		if err == nil {
			err = r.Release()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Mapped words are given back once.
func TestWordsAreGivenBack(t *testing.T) {
	if RaceEnabled {
		t.Skip("under the race detector words are in the heap")
	}
	for _, n := range []int{mappedMinBytes / 8, mappedMinBytes/8 - 1} {
		_, release, err := Words(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if mapped := n*8 >= mappedMinBytes; (release() != nil) != mapped {
			t.Errorf("%d words: mapped must be %v", n, mapped)
		}
	}
}

// A mapped file shows what others write to it.
func TestMapFile(t *testing.T) {
	text := bytes.Repeat([]byte("text"), 2000)
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	mapped, err := MapFile(f, int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mapped, text) {
		t.Errorf("%d bytes are mapped, want %d", len(mapped), len(text))
	}
	_, err = f.WriteAt([]byte("next"), 4096)
	if at := string(mapped[4096:4100]); err != nil || at != "next" {
		t.Errorf("after a write: %q, %v", at, err)
	}
	if err := UnmapFile(mapped); err != nil {
		t.Error(err)
	}
	if err := UnmapFile(mapped); err == nil {
		t.Error("the file was still mapped")
	}
	if err := UnmapFile(nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	if _, err := MapFile(f, math.MaxInt64); err == nil {
		t.Error("8 EiB are mapped")
	}
}
