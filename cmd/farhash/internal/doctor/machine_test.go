package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/findings.txt")

// gib is a GiB.
const gib = 1 << 30

// well is a machine on which all is well.
var well = map[string]string{
	"sys/devices/system/cpu/online": "0-7\n",
	"proc/self/status": "Name:\tfarhash\nCapEff:\t0000000000000000\n" +
		"Cpus_allowed:\tff\nCpus_allowed_list:\t0-7\n",
	"proc/self/limits": "Limit                     Soft Limit   Hard Limit   Units\n" +
		"Max locked memory         8388608              8388608              bytes     \n" +
		"Max open files            20000                20000                files     \n",
	"proc/self/cgroup": "0::/a/b\n",
	"proc/meminfo": "MemTotal:       16777216 kB\nHugePages_Total:       0\n" +
		"HugePages_Free:        0\nHugepagesize:       2048 kB\n",
	"proc/sys/kernel/osrelease":                        "6.1.0-18-amd64\n",
	"sys/kernel/mm/transparent_hugepage/enabled":       "always [madvise] never\n",
	"sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size [advise] never deny\n",
	"sys/fs/cgroup/cpu.max":                            "max 100000\n",
	"sys/fs/cgroup/memory.max":                         "max\n",
	"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":             "-1\n",
	"sys/fs/cgroup/cpu/x/cpu.cfs_period_us":            "100000\n",
	"sys/fs/cgroup/memory/x/memory.limit_in_bytes":     "9223372036854771712\n",
}

// examine makes a machine of files, of which some are replaced, and returns its findings.
func examine(t *testing.T, change map[string]string, m Machine) map[string]Finding {
	t.Helper()
	files := maps.Clone(well)
	maps.Copy(files, change)
	m.Root = t.TempDir()
	for name, text := range files {
		if text == "none" {
			continue
		}
		path := filepath.Join(m.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m.Room == nil {
		m.Room = func(string) (uint64, uint64, error) { return 8 * gib, 8 * gib, nil }
	}
	if m.GOMAXPROCS == 0 {
		m.GOMAXPROCS = 8
	}
	all := make(map[string]Finding)
	for _, f := range m.Findings() {
		if (f.Level == OK) != (f.Remedy == "") || f.Message == "" || f.Group == "" ||
			f.Level != OK && f.Level != Note && f.Level != Warning {
			t.Errorf("%+v", f)
		}
		if _, twice := all[f.Name]; twice {
			t.Errorf("%s twice", f.Name)
		}
		all[f.Name] = f
	}
	return all
}

func TestAllIsWell(t *testing.T) {
	all := examine(t, nil, Machine{})
	if len(all) != 9 {
		t.Errorf("%d findings", len(all))
	}
	for _, f := range all {
		if f.Level != OK {
			t.Errorf("%+v", f)
		}
	}
}

// Files of a machine, and what they may hold.
const (
	status = "proc/self/status"
	limits = "proc/self/limits"
	pages  = "sys/kernel/mm/transparent_hugepage/"
	card   = "sys/class/infiniband/mlx5_0"
	locked = "Max locked memory         8388608  unlimited  bytes\n"
	v1     = "5:cpu,cpuacct:/x\n4:memory:/x\n"
)

// findingCases are changes to a machine on which all is well, and what is found of each.
var findingCases = []struct {
	name    string
	level   Level
	message string
	remedy  string
	files   map[string]string
}{
	{"CPUs", Warning, "bound to CPU 3 of 8", "--bind-to none",
		map[string]string{status: "Cpus_allowed_list:\t3\n"}},
	{"CPUs", Note, "bound to 3 of 8 (0-1,4)", "--bind-to none",
		map[string]string{status: "Cpus_allowed_list:\t0-1,4\n"}},
	{"CPUs", OK, "8 online, and this process may use all", "",
		map[string]string{status: "Cpus_allowed_list:\t0-127\n"}},
	{"CPUs", Note, "GOMAXPROCS is 8, which is more", "unset GOMAXPROCS",
		map[string]string{"sys/devices/system/cpu/online": "0-3\n"}},
	{"CPUs", OK, "8 online, and this process may use all", "",
		map[string]string{status: "Cpus_allowed_list:\t0-x,9-0,0-7\n"}},
	{"CPUs", OK, "8 online", "",
		map[string]string{"sys/devices/system/cpu/online": "0-9999999,0-7\n"}},
	{"CPUs", Note, "bound to 3 of 16 (0-2); GOMAXPROCS is 8", "--bind-to none", map[string]string{
		"sys/devices/system/cpu/online": "0-15\n", status: "Cpus_allowed_list:\t0-2\n"}},
	{"CPU limit", OK, "8 CPUs by", "",
		map[string]string{"sys/fs/cgroup/a/b/cpu.max": "800000 100000\n"}},
	{"CPU limit", Note, "0.5 CPUs by", "at most 1 rank here", map[string]string{
		"sys/fs/cgroup/a/cpu.max": "50000 100000\n", "sys/fs/cgroup/cpu.max": "7 1\n"}},
	{"CPU limit", OK, "none", "", map[string]string{"proc/self/cgroup": v1,
		"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "200000\n",
		"sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "none"}},
	{"CPU limit", Note, "1.5 CPUs by a control group (version 2)", "at most 1 rank here",
		map[string]string{"sys/fs/cgroup/a/cpu.max": "150000 100000\n"}},
	{"CPU limit", OK, "64 CPUs by a control group (version 2)", "",
		map[string]string{"sys/fs/cgroup/a/b/cpu.max": "6400000 100000\n"}},
	{"CPU limit", Note, "2 CPUs by a control group (version 1)", "at most 2 ranks",
		map[string]string{"proc/self/cgroup": v1,
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "200000\n"}},
	{"CPU limit", OK, "none", "", map[string]string{"proc/self/cgroup": v1}},
	{"CPU limit", OK, "none", "", map[string]string{"sys/fs/cgroup/cpu.max": "0 0\n"}},
	{"memory limit", OK, "2.0 GiB by a control group (version 2)", "", map[string]string{
		"sys/fs/cgroup/a/memory.max": "2147483648\n",
		"sys/fs/cgroup/memory.max":   "4294967296\n"}},
	{"memory limit", OK, "1.0 GiB by a control group (version 1)", "", map[string]string{
		"proc/self/cgroup": v1,
		"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n"}},
	{"memory limit", OK, "none", "", map[string]string{"proc/self/cgroup": v1}},
	{"huge pages", Warning, `set to "never"`, "echo madvise",
		map[string]string{pages + "enabled": "always madvise [never]\n"}},
	{"huge pages", Note, "no transparent huge pages", "CONFIG_",
		map[string]string{pages + "enabled": "none"}},
	{"huge pages", Note, "no transparent huge pages", "CONFIG_",
		map[string]string{pages + "enabled": "nonsense"}},
	{"shared pages", OK, "MADV_COLLAPSE", "",
		map[string]string{pages + "shmem_enabled": "always [never] deny\n"}},
	{"shared pages", Note, "Linux 5.15.0 makes none", "echo advise", map[string]string{
		pages + "shmem_enabled": "always [never]\n", "proc/sys/kernel/osrelease": "5.15.0\n"}},
	{"shared pages", Note, "Linux 6.0.9 makes none", "echo advise", map[string]string{
		pages + "shmem_enabled": "always [never]\n", "proc/sys/kernel/osrelease": "6.0.9\n"}},
	{"shared pages", OK, "Linux 7.0-rc1 makes huge pages on demand", "", map[string]string{
		pages + "shmem_enabled": "always [never]\n", "proc/sys/kernel/osrelease": "7.0-rc1\n"}},
	{"shared pages", Note, "Linux 6 makes none", "echo advise", map[string]string{
		pages + "shmem_enabled": "always [never]\n", "proc/sys/kernel/osrelease": "6\n"}},
	{"shared pages", "", "", "", map[string]string{pages + "shmem_enabled": "always [never\n"}},
	{"shared pages", Note, `"deny"`, "echo advise",
		map[string]string{pages + "shmem_enabled": "always never [deny] force\n"}},
	{"reserved pages", Note, "512 huge pages are reserved (hugetlb) and 256 free: 512.0 MiB",
		"nr_hugepages=0", map[string]string{"proc/meminfo": "HugePages_Total: 512\n" +
			"HugePages_Free: 256\nHugepagesize: 2048 kB\n"}},
	{"reserved pages", OK, "all in use", "", map[string]string{"proc/meminfo": "HugePages_" +
		"Total: 512\nHugePages_Free: 0\nHugepagesize: 2048 kB\n"}},
	{"reserved pages", "", "", "", map[string]string{"proc/meminfo": "HugePages_Total: 512\n" +
		"HugePages_Free: 0\nHugepagesize: huge kB\n"}},
	{"shared memory", OK, "8.0 GiB free of 8.0 GiB in /dev/shm", "",
		map[string]string{"proc/meminfo": "MemTotal: 33554432 kB\n"}},
	{"shared memory", Note, "little compared with the 64.0 GiB", "--shm-size",
		map[string]string{"proc/meminfo": "MemTotal: 67108864 kB\n"}},
	{"locked memory", Warning, "8.0 MiB (memlock): mlx5_0", "ulimit -l unlimited",
		map[string]string{card: ""}},
	{"locked memory", OK, "CAP_IPC_LOCK", "",
		map[string]string{card: "", status: "CapEff:\t0000000000004000\n"}},
	{"locked memory", OK, "8.0 MiB (memlock), enough", "", map[string]string{limits: locked}},
	{"locked memory", OK, "unlimited", "",
		map[string]string{limits: strings.ReplaceAll(locked, "8388608", "unlimited"), card: ""}},
	{"locked memory", "", "", "", map[string]string{limits: "Max open files  1 1 files\n"}},
	{"open files", "", "", "", map[string]string{limits: locked}},
	{"open files", "", "", "", map[string]string{limits: "Max open files   many  1 files\n"}},
	{"open files", OK, "1024", "",
		map[string]string{limits: "Max open files   1024   4096   files\n"}},
	{"open files", Note, "256", "ulimit -n",
		map[string]string{limits: "Max open files   256   4096   files\n"}},
	{"open files", OK, "unlimited", "",
		map[string]string{limits: "Max open files   unlimited   unlimited   files\n"}},
}

// TestFindings compares each finding also as a whole, with testdata/findings.txt.
func TestFindings(t *testing.T) {
	var all bytes.Buffer
	for _, c := range findingCases {
		f := examine(t, c.files, Machine{})[c.name]
		for _, file := range slices.Sorted(maps.Keys(c.files)) {
			fmt.Fprintf(&all, "%s: %q\n", file, c.files[file])
		}
		text, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n\n", text)
		if f.Level != c.level || !strings.Contains(f.Message, c.message) ||
			!strings.Contains(f.Remedy, c.remedy) {
			t.Errorf("%v: found %+v, want %s, %q, %q", c.files, f, c.level, c.message, c.remedy)
		}
	}
	const golden = "testdata/findings.txt"
	if *update {
		if err := os.WriteFile(golden, all.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(all.Bytes(), want) {
		t.Errorf("other findings than %s, %v; if they should be, run go test -update:\n%s",
			golden, err, &all)
	}
}

func TestSharedMemory(t *testing.T) {
	for _, c := range []struct {
		size, free uint64
		err        error
		level      Level
		message    string
	}{
		{8 * gib, 7 * gib, nil, OK, "7.0 GiB free of 8.0 GiB"},
		{64 << 20, 64 << 20, nil, Warning, "64.0 MiB free of 64.0 MiB in /dev/shm: tables"},
		{8 * gib, 1 << 20, nil, Warning, "do not fit"},
		{0, 0, errors.New("no such file"), Warning, "no such file"},
	} {
		f := examine(t, nil, Machine{Room: func(path string) (uint64, uint64, error) {
			if !strings.HasSuffix(path, "/dev/shm") {
				t.Errorf("the room of %s", path)
			}
			return c.size, c.free, c.err
		}})["shared memory"]
		if f.Level != c.level || !strings.Contains(f.Message, c.message) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// A machine without these files, as one that is not Linux, has no findings.
func TestNothing(t *testing.T) {
	m := Machine{Root: t.TempDir(), GOMAXPROCS: 1, Room: room}
	if all := m.Findings(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if cards := m.Cards(); len(cards) != 0 {
		t.Errorf("cards %q", cards)
	}
}

func TestHere(t *testing.T) {
	var r Report
	r.Add(Here().Findings()...)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
}
