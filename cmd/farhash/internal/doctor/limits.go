package doctor

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farhash/farhash/internal/system/memory"
)

// unlimited, or more, is the value by which a control group of version 1 has no limit.
const unlimited = 1 << 62

// memoryLimit reports the smallest limit of a control group. What is left of it is in memory.Now.
func (m Machine) memoryLimit() (Finding, bool) {
	minLimit, where := uint64(unlimited), 0
	m.groups("memory", func(dir string, version int) {
		name := "memory.max"
		if version == 1 {
			name = "memory.limit_in_bytes"
		}
		if limit, ok := number(filepath.Join(dir, name)); ok && limit < minLimit {
			minLimit, where = limit, version
		}
	})
	f := Finding{Group: Memory, Name: "memory limit", Level: OK, Message: "none"}
	if where > 0 {
		f.Values = map[string]any{"limitBytes": minLimit}
		f.Message = fmt.Sprintf("%s by a control group (version %d)", memory.Format(minLimit),
			where)
	}
	return f, true
}

const (
	// minSharedBytes is the default size of /dev/shm in a container.
	minSharedBytes = 64 << 20
	sharedRemedy   = "mount -o remount,size=80% /dev/shm, as root; docker run " +
		"--shm-size=8g; in Kubernetes an emptyDir of medium Memory at /dev/shm"
)

func (m Machine) sharedMemory() (Finding, bool) {
	f := Finding{Group: Limits, Name: "shared memory", Level: OK}
	size, free, err := m.Room(m.path("dev/shm"))
	if err != nil {
		f.Level, f.Remedy = Warning, "mount -t tmpfs tmpfs /dev/shm, as root"
		f.Message = fmt.Sprintf("there is no /dev/shm, so ranks cannot be processes: %v", err)
		return f, true
	}
	f.Values = map[string]any{"sizeBytes": size, "freeBytes": free}
	f.Message = fmt.Sprintf("%s free of %s in /dev/shm", memory.Format(free), memory.Format(size))
	text, _ := m.field("proc/meminfo", "MemTotal:")
	kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
	switch {
	case free <= minSharedBytes:
		f.Level, f.Remedy = Warning, sharedRemedy
		f.Message += ": tables of ranks that are processes do not fit"
	case size < kib<<10/4:
		f.Level, f.Remedy = Note, sharedRemedy
		f.Message += fmt.Sprintf(": little compared with the %s of the machine",
			memory.Format(kib<<10))
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
	f := Finding{Group: Limits, Name: "locked memory", Level: OK, Message: "unlimited (memlock)",
		Values: map[string]any{"unlimited": free, "cards": append([]string{}, cards...)}}
	if free {
		return f, true
	}
	f.Values["limitBytes"] = bytes
	f.Message = memory.Format(bytes) + " (memlock)"
	if len(cards) == 0 {
		f.Message += ", enough: there is no card that locks memory"
		return f, true
	}
	if m.mayLock() {
		f.Message += ", which does not apply to this process (CAP_IPC_LOCK)"
		return f, true
	}
	f.Level = Warning
	f.Message += fmt.Sprintf(": %s can access only memory that is locked, so windows fail or UCX "+
		"falls back to TCP", strings.Join(cards, ", "))
	f.Remedy = "ulimit -l unlimited; permanently \"* - memlock unlimited\" in " +
		"/etc/security/limits.conf; docker run --ulimit memlock=-1; LimitMEMLOCK=infinity " +
		"for services such as slurmd"
	return f, true
}

// mayLock reports whether this process may lock any memory.
func (m Machine) mayLock() bool {
	const ipcLock = 14 // CAP_IPC_LOCK
	text, _ := m.field("proc/self/status", "CapEff:")
	capabilities, err := strconv.ParseUint(text, 16, 64)
	return err == nil && capabilities>>ipcLock&1 == 1
}

// minFiles is enough for some hundred ranks on other hosts.
const minFiles = 1024

func (m Machine) openFiles() (Finding, bool) {
	n, free, found := m.limit("Max open files")
	if !found {
		return Finding{}, false
	}
	f := Finding{Group: Limits, Name: "open files", Level: OK, Message: "unlimited",
		Values: map[string]any{"unlimited": free}}
	if free {
		return f, true
	}
	f.Values["limit"] = n
	f.Message = fmt.Sprint(n)
	if n < minFiles {
		f.Level, f.Remedy = Note, "ulimit -n 4096; permanently \"* - nofile 4096\" in "+
			"/etc/security/limits.conf"
		f.Message += ": over TCP, each rank on another host needs some"
	}
	return f, true
}
