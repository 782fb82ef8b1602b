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

// affinity reports the CPUs that this process may use. A launcher that binds each rank to one CPU
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
		f.Message = fmt.Sprintf("%d online, and this process may use all", mine)
	case mine == 1:
		f.Level, f.Remedy = Warning, bindRemedy
		f.Message = fmt.Sprintf("bound to CPU %s of %d; the threads that serve other ranks wait "+
			"while the program computes", allowed, len(online))
	default:
		f.Level, f.Remedy = Note, bindRemedy+"; not needed where several ranks share this host"
		f.Message = fmt.Sprintf("bound to %d of %d (%s)", mine, len(online), allowed)
	}
	f.Message += fmt.Sprintf("; GOMAXPROCS is %d", m.GOMAXPROCS)
	if m.GOMAXPROCS > mine && f.Level == OK {
		f.Level = Note
		f.Message += ", which is more, so threads wait for each other"
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

// cpuLimit reports the processor time that the control groups allow.
func (m Machine) cpuLimit() (Finding, bool) {
	limit, where := 0.0, ""
	m.groups("cpu", func(dir string, version int) {
		if cpus, ok := groupCPUs(dir, version); ok && (where == "" || cpus < limit) {
			limit, where = cpus, fmt.Sprintf("a control group (version %d)", version)
		}
	})
	f := Finding{Group: CPUs, Name: "CPU limit", Level: OK, Message: "none"}
	if where == "" {
		return f, true
	}
	f.Values = map[string]any{"cpus": limit}
	f.Message = fmt.Sprintf("%.4g CPUs by %s", limit, where)
	text, _ := m.field("proc/self/status", "Cpus_allowed_list:")
	if limit < float64(len(cpuList(text))) {
		f.Level = Note
		f.Message += "; with more ranks than that, all are stopped for a part of each 100 ms"
		f.Remedy = fmt.Sprintf("start at most %s here, or raise cpu.max (docker run "+
			"--cpus, Kubernetes: limits.cpu)", english.Plural(max(1, int(limit)), "rank", ""))
	}
	return f, true
}

// groupCPUs is the processor time that one control group allows, in processors.
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
