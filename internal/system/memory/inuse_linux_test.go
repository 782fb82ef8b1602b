package memory

import (
	"strings"
	"testing"
)

func TestHugeBytesReadsTheRightEntry(t *testing.T) {
	const smaps = `7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
ShmemPmdMapped:        0 kB
VmFlags: rd wr mr
7f0000400000-7f0000800000 rw-s 00000000 00:19 5  /dev/shm/x
AnonHugePages:         0 kB
ShmemPmdMapped:     4096 kB
`
	for _, c := range []struct{ from, to, want uint64 }{
		{0x7f0000000000, 0x7f0000000008, 2 << 20}, {0x7f00003ffff8, 0x7f0000400000, 2 << 20},
		{0x7f0000400000, 0x7f0000800000, 4 << 20}, {0x7f0000300000, 0x7f0000500000, 6 << 20},
		{0x7f0000800000, 0x7f0000900000, 0},
	} {
		got, err := hugeBytes(strings.NewReader(smaps), c.from, c.to)
		if err != nil || got != c.want {
			t.Errorf("%#x to %#x: %d bytes, %v; want %d", c.from, c.to, got, err, c.want)
		}
	}
	bad := strings.Replace(smaps, "2048 kB", "many kB", 1)
	if got, err := hugeBytes(strings.NewReader(bad), 0x7f0000000000, 0x7f0000000008); err == nil {
		t.Errorf("many kB are %d bytes", got)
	}
}
