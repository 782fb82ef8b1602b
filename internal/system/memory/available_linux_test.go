package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMemAvailable(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
		ok   bool
	}{
		{"MemTotal: 10 kB\nMemFree: 5 kB\nMemAvailable:    7 kB\nCached: 1 kB\n", 7 << 10, true},
		{"MemAvailable:       23456789 kB", 23456789 << 10, true},
		{"MemTotal: 10 kB\n", 0, false},
		{"MemAvailable: many kB\n", 0, false},
		{"", 0, false},
	} {
		got, err := memAvailable(strings.NewReader(c.text))
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("memAvailable(%q) = %d, %v, want %d", c.text, got, err, c.want)
		}
	}
}

func TestNow(t *testing.T) {
	avail, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	if avail.Bytes == 0 || avail.Source == "" {
		t.Errorf("there is %+v", avail)
	}
}

// What the process may still map is all that is left.
func TestNowWithinALimitOfAddresses(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &was); err != nil {
		t.Fatal(err)
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		t.Fatal(err)
	}
	const more = 200 << 20
	limit := unix.Rlimit{Cur: pages*uint64(os.Getpagesize()) + more, Max: was.Max}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Skip(err)
	}
	avail, err := Now()
	reserve := CanReserve()
	if restored := unix.Setrlimit(unix.RLIMIT_AS, &was); restored != nil {
		t.Fatal(restored)
	}
	if err != nil || avail.Bytes > more || !strings.Contains(avail.Source, "ulimit -v") {
		t.Errorf("of %d bytes there is %+v left, %v", more, avail, err)
	}
	if reserve {
		t.Error("addresses cost nothing though they are limited")
	}
}

// tree makes a directory with files in it, by their paths.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "cgroup")
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// v1None is how version 1 says that there is no limit.
const v1None = "9223372036854771712\n"

// cgroupCases are memberships and trees, and what is left in them.
var cgroupCases = []struct {
	name       string
	membership string
	files      map[string]string
	want       uint64
	ok         bool
}{
	{"v2", "0::/a/b\n", map[string]string{
		"a/b/memory.max": "1000\n", "a/b/memory.current": "300\n",
	}, 700, true},
	{"v2, none", "0::/a\n", map[string]string{
		"a/memory.max": "max\n", "a/memory.current": "300\n",
	}, 0, false},
	{"v2, a parent is narrower", "0::/a/b\n", map[string]string{
		"a/b/memory.max": "1000\n", "a/b/memory.current": "300\n",
		"a/memory.max": "900\n", "a/memory.current": "500\n",
		"memory.max": "5000\n", "memory.current": "500\n",
	}, 400, true},
	{"v2, own is max", "0::/a/b\n", map[string]string{
		"a/b/memory.max": "max\n", "a/b/memory.current": "300\n",
		"a/memory.max": "900\n", "a/memory.current": "500\n",
	}, 400, true},
	{"v2, cache", "0::/\n", map[string]string{
		"memory.max": "1000\n", "memory.current": "300\n",
		"memory.stat": "anon 1\nfile 250\ninactive_file 200\nactive_file 50\n",
	}, 900, true},
	{"v2, more cache than used", "0::/\n", map[string]string{
		"memory.max": "1000\n", "memory.current": "300\n", "memory.stat": "inactive_file 400\n",
	}, 1000, true},
	{"v2, over the limit", "0::/\n", map[string]string{
		"memory.max": "1000\n", "memory.current": "1300\n",
	}, 0, true},
	{"v2, in a name space", "0::/../../other\n", map[string]string{
		"memory.max": "1000\n", "memory.current": "300\n",
	}, 700, true},
	{"v2, seen from outside", "0::/docker/x\n", map[string]string{
		"memory.max": "1000\n", "memory.current": "300\n",
	}, 700, true},
	{"v1", "5:cpu,cpuacct:/x\n4:memory:/a\n0::/none\n", map[string]string{
		"memory/a/memory.limit_in_bytes": "1000\n", "memory/a/memory.usage_in_bytes": "600\n",
		"memory/a/memory.stat":         "inactive_file 1\ntotal_inactive_file 100\n",
		"memory/memory.limit_in_bytes": v1None, "memory/memory.usage_in_bytes": "600\n",
	}, 500, true},
	{"v1, together", "4:cpuset,memory:/a\n", map[string]string{
		"memory/a/memory.limit_in_bytes": "1000\n", "memory/a/memory.usage_in_bytes": "600\n",
	}, 400, true},
	{"v1, none", "4:memory:/a\n", map[string]string{
		"memory/a/memory.limit_in_bytes": v1None, "memory/a/memory.usage_in_bytes": "600\n",
	}, 0, false},
	{"both", "4:memory:/a\n0::/b\n", map[string]string{
		"memory/a/memory.limit_in_bytes": "1000\n", "memory/a/memory.usage_in_bytes": "600\n",
		"b/memory.max": "1000\n", "b/memory.current": "700\n",
	}, 300, true},
	{"a name that begins alike", "0::/a\n", map[string]string{
		"../cgroup2/memory.max": "1\n", "../memory.max": "1\n", "../memory.current": "1\n",
	}, 0, false},
	{"no use", "0::/\n", map[string]string{"memory.max": "1000\n"}, 0, false},
	{"no files", "0::/a\n", nil, 0, false},
	{"nonsense", "what\n\n:\n::\n1:2\n", map[string]string{"memory.max": "1\n"}, 0, false},
}

func TestCgroupLeft(t *testing.T) {
	for _, c := range cgroupCases {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.files)
			membership := filepath.Join(t.TempDir(), "membership")
			if err := os.WriteFile(membership, []byte(c.membership), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, ok := cgroupLeft(membership, root); got != c.want || ok != c.ok {
				t.Errorf("%d, %v are left, want %d, %v", got, ok, c.want, c.ok)
			}
		})
	}
	if _, ok := cgroupLeft(filepath.Join(t.TempDir(), "none"), t.TempDir()); ok {
		t.Error("a limit without a membership")
	}
}
