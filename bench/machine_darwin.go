package bench

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// cpuModel is the name of the processor.
func cpuModel() string {
	if name, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil && name != "" {
		return name
	}
	return runtime.GOARCH
}

// hugeBytes is not known here.
func hugeBytes() (bytes uint64, known bool) { return 0, false }
