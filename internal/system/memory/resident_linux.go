package memory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Resident is how much memory this process takes, shared memory that it has touched included, and
// the most that it has taken so far.
func Resident() (now, peak uint64, err error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return resident(f)
}

// resident reads the lines VmRSS and VmHWM of /proc/self/status, in bytes.
func resident(r io.Reader) (now, peak uint64, err error) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		to := map[string]*uint64{"VmRSS": &now, "VmHWM": &peak}[name]
		if to == nil {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil {
			return 0, 0, err
		}
		*to = kib * 1024
	}
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("memory: no VmRSS or VmHWM line in /proc/self/status")
	}
	return now, max(now, peak), nil
}
