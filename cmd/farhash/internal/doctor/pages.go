package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/farhash/farhash/internal/system/memory"
)

// Remedies for missing huge pages in memory of a process, and in memory that processes share.
const (
	HugeRemedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root, where " +
		"it is \"never\""
	SharedHugeRemedy = "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled, as root"
)

// setting is what is chosen in a file such as "always [madvise] never".
func (m Machine) setting(file string) (chosen string, found bool) {
	text, found := m.read("sys/kernel/mm/transparent_hugepage/" + file)
	_, text, begun := strings.Cut(text, "[")
	chosen, _, ended := strings.Cut(text, "]")
	return chosen, found && begun && ended
}

func (m Machine) hugePages() (Finding, bool) {
	f := Finding{Group: Memory, Name: "huge pages", Level: OK}
	chosen, found := m.setting("enabled")
	f.Values = map[string]any{"enabled": chosen}
	switch {
	case !found:
		f.Level, f.Message = Note, "this kernel has no transparent huge pages"
		f.Remedy = "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE; large tables are slower " +
			"without it"
	case chosen == "never":
		f.Level, f.Remedy = Warning, HugeRemedy
		f.Message = "transparent huge pages are set to \"never\", which makes large tables slower"
	default:
		f.Message = fmt.Sprintf("transparent huge pages are set to %q", chosen)
	}
	return f, true
}

// collapses is the first Linux that makes huge pages of shared memory on demand, whatever the
// value of shmem_enabled is.
var collapses = [2]int{6, 1}

func (m Machine) sharedPages() (Finding, bool) {
	chosen, found := m.setting("shmem_enabled")
	if !found {
		return Finding{}, false // hugePages reports that there are none at all
	}
	release, _ := m.read("proc/sys/kernel/osrelease")
	can := atLeast(release, collapses)
	f := Finding{Group: Memory, Name: "shared pages", Level: OK, Values: map[string]any{
		"shmemEnabled": chosen, "collapse": can, "kernel": release}}
	switch {
	case chosen == "deny":
		f.Level, f.Remedy = Note, SharedHugeRemedy
		f.Message = "shmem_enabled is \"deny\": memory that processes share gets no huge pages"
	case chosen != "never":
		f.Message = fmt.Sprintf("shmem_enabled is %q", chosen)
	case can:
		f.Message = fmt.Sprintf("shmem_enabled is \"never\", but Linux %s makes huge pages on "+
			"demand (MADV_COLLAPSE)", release)
	default:
		f.Level, f.Remedy = Note, SharedHugeRemedy+"; from Linux 6.1 on it is not needed"
		f.Message = fmt.Sprintf("shmem_enabled is \"never\", and Linux %s makes none on demand: "+
			"ranks that are processes get no huge pages", release)
	}
	return f, true
}

// atLeast compares a release such as "6.1.0-18-amd64".
func atLeast(release string, least [2]int) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > least[0] || major == least[0] && minor >= least[1]
}

// reservedPages reports huge pages that are reserved for programs which ask for them; farhash does
// not.
func (m Machine) reservedPages() (Finding, bool) {
	var n [3]uint64
	for i, key := range []string{"HugePages_Total:", "HugePages_Free:", "Hugepagesize:"} {
		text, found := m.field("proc/meminfo", key)
		value, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
		if !found || err != nil {
			return Finding{}, false
		}
		n[i] = value
	}
	total, free, sizeBytes := n[0], n[1], n[2]<<10
	f := Finding{Group: Memory, Name: "reserved pages", Level: OK, Values: map[string]any{
		"total": total, "free": free, "pageBytes": sizeBytes}}
	switch {
	case total == 0:
		f.Message = "no huge pages are reserved (hugetlb), and none are needed"
	case free == 0:
		f.Message = fmt.Sprintf("%d huge pages are reserved (hugetlb), all in use", total)
	default:
		f.Level, f.Remedy = Note, "sysctl vm.nr_hugepages=0, unless another program needs them"
		f.Message = fmt.Sprintf("%d huge pages are reserved (hugetlb) and %d free: %s that tables "+
			"cannot use", total, free, memory.Format(free*sizeBytes))
	}
	return f, true
}
