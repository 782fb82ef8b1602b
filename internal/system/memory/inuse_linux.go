package memory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"
)

// HugeBytes returns how many bytes of the mappings that hold the words are in huge pages.
// Advice about a part of a mapping splits it into several.
func HugeBytes(words []uint64) (uint64, error) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	begin := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(words))))
	return hugeBytes(f, begin, begin+uint64(len(words))*8)
}

// hugeBytes adds up the entries of /proc/self/smaps that overlap [from, to).
func hugeBytes(smaps io.Reader, from, to uint64) (uint64, error) {
	lines := bufio.NewScanner(smaps)
	inside, total := false, uint64(0)
	for lines.Scan() {
		line := lines.Text()
		var begin, end uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &begin, &end); n == 2 {
			inside = begin < to && from < end
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !inside || !ok {
			continue
		}
		switch name {
		case "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped":
			var kib uint64
			if _, err := fmt.Sscanf(value, "%d kB", &kib); err != nil {
				return 0, fmt.Errorf("memory: /proc/self/smaps: %s: %w", line, err)
			}
			total += kib * 1024
		}
	}
	return total, lines.Err()
}
