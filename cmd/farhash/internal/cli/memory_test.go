package cli

import "testing"

// TestParseBytes: a size is a number of bytes that there may be.
func TestParseBytes(t *testing.T) {
	for text, want := range map[string]uint64{"2GiB": 2 << 30, "1": 1, "500MB": 5e8,
		"9223372036854775807": 1<<63 - 1, "0": 0, "9223372036854775808": 0, "-5": 0, "much": 0} {
		if got, err := ParseBytes("--mem", text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d bytes, %v, want %d", text, got, err, want)
		}
	}
}

// TestMemory: memory that is given counts, whatever there is.
func TestMemory(t *testing.T) {
	if mem, err := Memory(7); mem != 7 || err != nil {
		t.Errorf("%d of 7 bytes, %v", mem, err)
	}
}
