package memory

import (
	"strings"
	"testing"
)

func TestResident(t *testing.T) {
	for _, c := range []struct {
		text      string
		now, peak uint64
		ok        bool
	}{
		{"Name:\tx\nVmHWM:\t    9 kB\nVmRSS:\t    7 kB\nRssAnon:\t 1 kB\n", 7 << 10, 9 << 10, true},
		{"VmHWM:\t 5 kB\nVmRSS:\t 7 kB\n", 7 << 10, 7 << 10, true}, // they are not read at once
		{"VmHWM:\t 5 kB\n", 0, 0, false},
		{"VmRSS:\t 5 kB\n", 0, 0, false},
		{"VmRSS:\t many kB\n", 0, 0, false},
		{"", 0, 0, false},
	} {
		now, peak, err := resident(strings.NewReader(c.text))
		if (err == nil) != c.ok || c.ok && (now != c.now || peak != c.peak) {
			t.Errorf("%q: %d, %d, %v", c.text, now, peak, err)
		}
	}
	now, peak, err := Resident()
	if err != nil || now < 1<<20 || peak < now {
		t.Errorf("this process: %d, %d, %v", now, peak, err)
	}
}
