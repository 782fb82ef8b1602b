//go:build !linux && !darwin

package bench

import "runtime"

// cpuModel is the kind of the processor: its name is not known here.
func cpuModel() string { return runtime.GOARCH }

// hugeBytes is not known here.
func hugeBytes() (bytes uint64, known bool) { return 0, false }
