package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
)

const bindRemedy = "start with mpirun --bind-to none (Open MPI), mpiexec -bind-to none " +
	"(MPICH), srun --cpu-bind=none, or without taskset or cpuset"

// affinity tells of the CPUs that this process may use. A launcher that binds each rank to one
// leaves none for the threads that serve other ranks.
func (m Machine) affinity() (Finding, bool) {
	text, found := m.read("sys/devices/system/cpu/online")
	allowed, seen := m.field("proc/self/status", "Cpus_allowed_list:")
	if !found || !seen {
		return Finding{}, false
	}
	online, mine := cpuList(text), 0
	for cpu := range cpuList(allowed) {
		if online[cpu] {
			mine++
		}
	}
	f := Finding{Group: CPUs, Name: "CPUs", Level: OK,
		Values: map[string]any{"online": len(online), "allowed": mine, "allowedList": allowed,
			"gomaxprocs": m.GOMAXPROCS}}
	switch {
	case mine == len(online):
		f.Says = fmt.Sprintf("%d online, and this process may use all", mine)
	case mine == 1:
		f.Level, f.Remedy = Warning, bindRemedy
		f.Says = fmt.Sprintf("bound to CPU %s of %d; what serves other ranks waits while the "+
			"program computes", allowed, len(online))
	default:
		f.Level, f.Remedy = Note, bindRemedy+"; nothing where several ranks share this host"
		f.Says = fmt.Sprintf("bound to %d of %d (%s)", mine, len(online), allowed)
	}
	f.Says += fmt.Sprintf("; GOMAXPROCS is %d", m.GOMAXPROCS)
	if m.GOMAXPROCS > mine && f.Level == OK {
		f.Level = Note
		f.Says += ", which is more, and makes threads wait for each other"
		f.Remedy = "unset GOMAXPROCS"
	}
	return f, true
}

// cpuList is the numbers of a list such as "0-3,8".
func cpuList(text string) map[int]bool {
	all := make(map[int]bool)
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		a, err := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || b-a > 1<<20 {
			continue
		}
		for cpu := a; cpu <= b; cpu++ {
			all[cpu] = true
		}
	}
	return all
}

// cpuLimit tells what share of processors the control groups allow.
func (m Machine) cpuLimit() (Finding, bool) {
	least, where := 0.0, ""
	m.groups("cpu", func(dir string, version int) {
		if cpus, ok := groupCPUs(dir, version); ok && (where == "" || cpus < least) {
			least, where = cpus, fmt.Sprintf("a control group (version %d)", version)
		}
	})
	f := Finding{Group: CPUs, Name: "CPU limit", Level: OK, Says: "none"}
	if where == "" {
		return f, true
	}
	f.Values = map[string]any{"cpus": least}
	f.Says = fmt.Sprintf("%.4g CPUs by %s", least, where)
	text, _ := m.field("proc/self/status", "Cpus_allowed_list:")
	if least < float64(len(cpuList(text))) {
		f.Level = Note
		f.Says += "; ranks beyond that are stopped for parts of each tenth of a second"
		f.Remedy = fmt.Sprintf("start at most %s here, or raise cpu.max (docker run "+
			"--cpus, Kubernetes: limits.cpu)", english.Plural(max(1, int(least)), "rank", ""))
	}
	return f, true
}

// groupCPUs is how many processors' time one control group gives.
func groupCPUs(dir string, version int) (cpus float64, ok bool) {
	var quota, period uint64
	if version == 2 {
		text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
		if err != nil {
			return 0, false
		}
		if n, _ := fmt.Sscan(string(text), &quota, &period); n != 2 { // "max 100000"
			return 0, false
		}
	} else {
		var limited, known bool
		quota, limited = number(filepath.Join(dir, "cpu.cfs_quota_us")) // -1 is no number
		period, known = number(filepath.Join(dir, "cpu.cfs_period_us"))
		if !limited || !known {
			return 0, false
		}
	}
	return float64(quota) / float64(period), period > 0
}
