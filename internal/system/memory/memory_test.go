package memory

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func TestFormat(t *testing.T) {
	for size, want := range map[uint64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		1<<20 - 1: "1.0 MiB", 1<<20 - 100: "1023.9 KiB", 1<<30 - 1: "1.0 GiB",
		1 << 20: "1.0 MiB", 1 << 30: "1.0 GiB", 5 << 40: "5.0 TiB", 1 << 50: "1.0 PiB",
		1 << 60: "1.0 EiB", math.MaxUint64: "16.0 EiB",
	} {
		if got := Format(size); got != want {
			t.Errorf("Format(%d) = %q, want %q", size, got, want)
		}
	}
}

// Memory that is enough is never rounded down.
func TestFormatUp(t *testing.T) {
	for size, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1025: "1.1 KiB", 1536: "1.5 KiB",
		1537: "1.6 KiB", 1<<20 - 1: "1.0 MiB", 1<<20 - 100: "1.0 MiB", 1<<20 + 1: "1.1 MiB",
		5 << 19: "2.5 MiB", 5<<19 + 1: "2.6 MiB",
	} {
		if got := FormatUp(size); got != want {
			t.Errorf("FormatUp(%d) = %q, want %q", size, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := Check(0, "nothing"); err != nil {
		t.Error(err)
	}
	if _, err := Now(); err != nil {
		t.Skip(err)
	}
	err := Check(math.MaxUint64, "everything")
	if err == nil {
		t.Fatal("16 EiB are said to be there")
	}
	for _, part := range []string{"everything needs 16.0 EiB", "left", "missing"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
	if !errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EINVAL) {
		t.Errorf("%v is of another kind than ENOMEM", err)
	}
}

// The error says what is needed, what is left, and the difference.
func TestShortError(t *testing.T) {
	err := &ShortError{"a table", 7 << 30, Available{5 << 30, "the machine"}}
	const want = "a table needs 7.0 GiB, and the machine has 5.0 GiB left: 2.0 GiB are missing"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// Words are copied to shared memory, and from it.
func TestStoreLoadWords(t *testing.T) {
	shared, own, read := make([]uint64, 3), []uint64{1, 2}, make([]uint64, 2)
	StoreWords(shared, own)
	if want := []uint64{1, 2, 0}; !slices.Equal(shared, want) {
		t.Errorf("stored %d, want %d", shared, want)
	}
	LoadWords(read, shared)
	if !slices.Equal(read, own) || !slices.Equal(shared, []uint64{1, 2, 0}) {
		t.Errorf("loaded %d of %d", read, shared)
	}
}

// Blocks are zeroed though dirty ones were given back, begin on a cache line, and
// have neither more nor less than was asked for.
func TestWords(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 1000, mappedMinWords - 1, mappedMinWords,
		mappedMinWords + 1, 1 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for range 5 {
				words, release, err := Words(n)
				if err != nil {
					t.Fatal(err)
				}
				if len(words) != n || cap(words) != n {
					t.Fatalf("%d words with room for %d", len(words), cap(words))
				}
				if at := uintptr(unsafe.Pointer(unsafe.SliceData(words))); n > 0 && at%64 != 0 {
					t.Errorf("the words begin at %#x", at)
				}
				for i := range words {
					if words[i] != 0 {
						t.Fatalf("word %d is %#x", i, words[i])
					}
					words[i] = math.MaxUint64
				}
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// mappedMinWords is where some systems begin to map blocks.
const mappedMinWords = 1 << 17

func TestAlignedHeap(t *testing.T) {
	for n := range 40 {
		words := alignedHeap(n)
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(words))); n > 0 && at%64 != 0 {
			t.Errorf("%d words begin at %#x", n, at)
		}
		if len(words) != n || cap(words) != n {
			t.Errorf("%d words with room for %d, want %d", len(words), cap(words), n)
		}
	}
}

// TestPrefetchWrite: a line that is asked for is as before.
func TestPrefetchWrite(t *testing.T) {
	words := []uint64{1, 2}
	PrefetchWrite(&words[1])
	if !slices.Equal(words, []uint64{1, 2}) {
		t.Errorf("words are %d after a prefetch", words)
	}
}
