package memory

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// Large blocks ask for huge pages: Linux notes that for their mappings.
func TestHugePagesAreAskedFor(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil || RaceEnabled {
		t.Skip("this kernel has no transparent huge pages, or words are in the heap")
	}
	words, release, err := Words(mappedMinWords)
	if err != nil {
		t.Fatal(err)
	}
	reserved, err := Reserve(mappedMinWords)
	if err != nil {
		t.Fatal(err)
	}
	for what, words := range map[string][]uint64{"Words": words, "Reserve": reserved.Words} {
		if flags := mappingFlags(t, words); !slices.Contains(flags, "hg") {
			t.Errorf("%s: the mapping has the flags %q", what, flags)
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := reserved.Release(); err != nil {
		t.Error(err)
	}
}

// mappingFlags are the VmFlags of the mapping that words begin in.
func mappingFlags(t *testing.T, words []uint64) []string {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(words)))
	inside := false
	for line := range strings.Lines(string(smaps)) {
		var begin, end uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &begin, &end); n == 2 {
			inside = begin <= at && at < end
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping has %#x", at)
	return nil
}
