package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/farhash/farhash/internal/system/cgroup"
)

// The groups of findings.
const (
	CPUs   = "CPUs"
	Memory = "memory"
	Limits = "limits"
)

// Machine is the machine that is examined.
type Machine struct {
	Root       string // "/", or the folder of a machine that a test has made
	GOMAXPROCS int
	// Room returns size and free bytes of the file system that holds a folder.
	Room func(path string) (sizeBytes, freeBytes uint64, err error)
}

// Here is the machine that this process runs on.
func Here() Machine {
	return Machine{Root: "/", GOMAXPROCS: runtime.GOMAXPROCS(0), Room: room}
}

// Findings are for Linux; other systems, without /proc, have none. Findings of files that are
// missing are left out.
func (m Machine) Findings() []Finding {
	if _, linux := m.read("proc/self/status"); !linux {
		return nil
	}
	var all []Finding
	for _, find := range []func() (Finding, bool){m.affinity, m.cpuLimit, m.memoryLimit,
		m.hugePages, m.sharedPages, m.reservedPages, m.sharedMemory, m.lockedMemory, m.openFiles} {
		if f, found := find(); found {
			all = append(all, f)
		}
	}
	return all
}

// path is where a file of the machine is.
func (m Machine) path(name string) string { return filepath.Join(m.Root, name) }

// read returns a file without leading and trailing space.
func (m Machine) read(name string) (text string, found bool) {
	data, err := os.ReadFile(m.path(name))
	return strings.TrimSpace(string(data)), err == nil
}

// field is what follows a key in a file of lines such as "HugePages_Free:  0".
func (m Machine) field(file, key string) (text string, found bool) {
	all, _ := m.read(file)
	for line := range strings.Lines(all) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// groups calls visit with the folder of each control group that has a controller.
func (m Machine) groups(controller string, visit func(dir string, version int)) {
	cgroup.Each(m.path("proc/self/cgroup"), m.path("sys/fs/cgroup"), controller, visit)
}

// number reads a file that holds one.
func number(path string) (uint64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// Cards are the names of network cards that access memory without its processor: InfiniBand, RoCE.
func (m Machine) Cards() []string {
	entries, _ := os.ReadDir(m.path("sys/class/infiniband"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
