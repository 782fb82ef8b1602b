//go:build linux

package torture

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stretch is how long a limit lasts on this machine now: as many times longer as processes share a
// core. A command that gets little of a busy machine does not hang.
func stretch(limit time.Duration) time.Duration {
	text, _ := os.ReadFile("/proc/loadavg")
	return time.Duration(float64(limit) * share(string(text), runtime.NumCPU()))
}

// share is how many processes share a core, by the text of /proc/loadavg; at least 1.
func share(text string, cores int) float64 {
	first, _, _ := strings.Cut(text, " ")
	load, _ := strconv.ParseFloat(first, 64) // 0 where it is not known
	return max(1, load/float64(cores))
}

func TestShare(t *testing.T) {
	for text, want := range map[string]float64{"20.00 9.1 8.0 3/99 7": 10, "1.5 9 9 1/9 7": 1,
		"": 1} {
		if got := share(text, 2); got != want {
			t.Errorf("%q: %v processes share a core, want %v", text, got, want)
		}
	}
}
