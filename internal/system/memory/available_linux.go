package memory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/system/cgroup"
)

// Now reads what is left: the least of what the machine says, what each control group above this
// process allows, and what the process may still map.
func Now() (Available, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return Available{}, err
	}
	defer f.Close()
	free, err := memAvailable(f)
	if err != nil {
		return Available{}, err
	}
	best := Available{Bytes: free, Source: "the machine"}
	if left, ok := cgroupLeft("/proc/self/cgroup", "/sys/fs/cgroup"); ok && left < best.Bytes {
		best = Available{Bytes: left, Source: "the control group"}
	}
	if left, ok := addressesLeft(); ok && left < best.Bytes {
		best = Available{Bytes: left, Source: "the limit of virtual memory (ulimit -v)"}
	}
	return best, nil
}

// addressesLeft is how much this process may still map; ok is false where it has no limit.
func addressesLeft() (left uint64, ok bool) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	pages, _, _ := strings.Cut(string(text), " ")
	mapped, err := strconv.ParseUint(pages, 10, 64)
	return limit.Cur - min(limit.Cur, mapped*uint64(os.Getpagesize())), err == nil
}

// memAvailable reads the MemAvailable line of /proc/meminfo, in bytes.
func memAvailable(r io.Reader) (uint64, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), "MemAvailable:")
		if !found {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		return kib * 1024, err
	}
	return 0, fmt.Errorf("memory: no MemAvailable line in /proc/meminfo")
}

// cgroupFiles are the names under which the two versions of control groups keep
// limit and use.
var cgroupFiles = map[int]struct{ limit, used, cache string }{
	1: {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
	2: {"memory.max", "memory.current", "inactive_file"},
}

// cgroupLeft is the least that any control group from the process's own up to
// the root leaves; ok is false where none sets a limit.
func cgroupLeft(membership, root string) (left uint64, ok bool) {
	cgroup.Each(membership, root, "memory", func(dir string, version int) {
		if l, has := groupLeft(dir, version); has && (!ok || l < left) {
			left, ok = l, true
		}
	})
	return left, ok
}

// groupLeft is what one control group leaves. File cache that can be dropped
// does not count as used.
func groupLeft(dir string, version int) (uint64, bool) {
	names := cgroupFiles[version]
	limit, err := readNumber(filepath.Join(dir, names.limit))
	if err != nil || limit >= 1<<62 {
		return 0, false
	}
	used, err := readNumber(filepath.Join(dir, names.used))
	if err != nil {
		return 0, false
	}
	used -= min(used, readStat(filepath.Join(dir, "memory.stat"), names.cache))
	return limit - min(limit, used), true
}

func readNumber(path string) (uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64) // "max" is an error: no limit
}

func readStat(path, key string) uint64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, key+" "); found {
			value, _ := strconv.ParseUint(strings.TrimSpace(rest), 10, 64)
			return value
		}
	}
	return 0
}
