// Package cgroup finds the control groups of Linux that bound this process: its own and those
// above it, in either version.
package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Each calls visit with the folder of every control group above this process that has a
// controller ("memory", "cpu"), from its own to the root, and with the version of control groups,
// 1 or 2. membership is /proc/self/cgroup and root /sys/fs/cgroup. It is no error if there
// are none.
func Each(membership, root, controller string, visit func(dir string, version int)) {
	data, err := os.ReadFile(membership)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		version, base := 2, root
		switch {
		case parts[0] == "0" && parts[1] == "":
		case slices.Contains(strings.Split(parts[1], ","), controller):
			version, base = 1, filepath.Join(root, controller)
		default:
			continue
		}
		// In a name space the path may begin with "/..": only the part below is visible.
		dir := filepath.Join(base, filepath.Join("/", parts[2]))
		for ; strings.HasPrefix(dir, base); dir = filepath.Dir(dir) {
			visit(dir, version)
		}
	}
}
