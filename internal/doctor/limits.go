package doctor

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farhash/farhash/internal/memory"
)

// unlimited is how a control group of version 1 says that there is no limit, or more.
const unlimited = 1 << 62

// memoryLimit tells the least limit of a control group. What is left of it is in memory.Now.
func (m Machine) memoryLimit() (Finding, bool) {
	least, where := uint64(unlimited), 0
	m.groups("memory", func(dir string, version int) {
		name := "memory.max"
		if version == 1 {
			name = "memory.limit_in_bytes"
		}
		if limit, ok := number(filepath.Join(dir, name)); ok && limit < least {
			least, where = limit, version
		}
	})
	f := Finding{Group: Memory, Name: "memory limit", Level: OK, Says: "none"}
	if where > 0 {
		f.Values = map[string]any{"limitBytes": least}
		f.Says = fmt.Sprintf("%s by a control group (version %d)", memory.Format(least), where)
	}
	return f, true
}

const (
	// sharedLeastBytes is what containers have in /dev/shm if nobody asks for more.
	sharedLeastBytes = 64 << 20
	sharedRemedy     = "mount -o remount,size=80% /dev/shm, as root; docker run " +
		"--shm-size=8g; in Kubernetes an emptyDir of medium Memory at /dev/shm"
)

func (m Machine) sharedMemory() (Finding, bool) {
	f := Finding{Group: Limits, Name: "shared memory", Level: OK}
	size, free, err := m.Room(m.path("dev/shm"))
	if err != nil {
		f.Level, f.Remedy = Warning, "mount -t tmpfs tmpfs /dev/shm, as root"
		f.Says = fmt.Sprintf("there is no /dev/shm, so ranks cannot be processes: %v", err)
		return f, true
	}
	f.Values = map[string]any{"sizeBytes": size, "freeBytes": free}
	f.Says = fmt.Sprintf("%s free of %s in /dev/shm", memory.Format(free), memory.Format(size))
	text, _ := m.field("proc/meminfo", "MemTotal:")
	kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
	switch {
	case free <= sharedLeastBytes:
		f.Level, f.Remedy = Warning, sharedRemedy
		f.Says += ": tables of ranks that are processes have no room"
	case size < kib<<10/4:
		f.Level, f.Remedy = Note, sharedRemedy
		f.Says += fmt.Sprintf(": little beside the machine's %s", memory.Format(kib<<10))
	}
	return f, true
}

// limit is the soft limit of a line of /proc/self/limits.
func (m Machine) limit(name string) (value uint64, isUnlimited, found bool) {
	text, found := m.field("proc/self/limits", name)
	if !found {
		return 0, false, false
	}
	soft, _, _ := strings.Cut(text, " ")
	if soft == "unlimited" {
		return 0, true, true
	}
	value, err := strconv.ParseUint(soft, 10, 64)
	return value, false, err == nil
}

func (m Machine) lockedMemory() (Finding, bool) {
	bytes, free, found := m.limit("Max locked memory")
	if !found {
		return Finding{}, false
	}
	cards := m.Cards()
	f := Finding{Group: Limits, Name: "locked memory", Level: OK, Says: "unlimited (memlock)",
		Values: map[string]any{"unlimited": free, "cards": append([]string{}, cards...)}}
	if free {
		return f, true
	}
	f.Values["limitBytes"] = bytes
	f.Says = memory.Format(bytes) + " (memlock)"
	if len(cards) == 0 {
		f.Says += ", enough: no card that would lock memory is here"
		return f, true
	}
	if m.mayLock() {
		f.Says += ", which does not bind this process (CAP_IPC_LOCK)"
		return f, true
	}
	f.Level = Warning
	f.Says += fmt.Sprintf(": %s can only reach memory that is locked, so windows fail or UCX "+
		"falls back to TCP", strings.Join(cards, ", "))
	f.Remedy = "ulimit -l unlimited; for good \"* - memlock unlimited\" in " +
		"/etc/security/limits.conf; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity " +
		"for services such as slurmd"
	return f, true
}

// mayLock tells whether this process may lock any memory.
func (m Machine) mayLock() bool {
	const ipcLock = 14 // CAP_IPC_LOCK
	text, _ := m.field("proc/self/status", "CapEff:")
	capabilities, err := strconv.ParseUint(text, 16, 64)
	return err == nil && capabilities>>ipcLock&1 == 1
}

// filesLeast is enough for what some hundred ranks on other hosts need.
const filesLeast = 1024

func (m Machine) openFiles() (Finding, bool) {
	n, free, found := m.limit("Max open files")
	if !found {
		return Finding{}, false
	}
	f := Finding{Group: Limits, Name: "open files", Level: OK, Says: "unlimited",
		Values: map[string]any{"unlimited": free}}
	if free {
		return f, true
	}
	f.Values["limit"] = n
	f.Says = fmt.Sprint(n)
	if n < filesLeast {
		f.Level, f.Remedy = Note, "ulimit -n 4096; for good \"* - nofile 4096\" in "+
			"/etc/security/limits.conf"
		f.Says += ": each rank on another host takes some, over TCP"
	}
	return f, true
}
