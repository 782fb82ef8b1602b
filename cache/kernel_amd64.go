package cache

import (
	"golang.org/x/sys/cpu"

	"github.com/farhash/farhash/internal/system/memory"
)

// hashFlights computes the hash and the first candidate of keys, and prefetches its lines, and for
// puts the first line of the second candidate.
//
//go:noescape
func hashFlights(w *kernelWork)

// advanceFlights prefetches the second candidate where the first has another key, and has gets
// begin there.
//
//go:noescape
func advanceFlights(w *kernelWork)

// takeFlights reads the values of keys that are in their first group, before an empty bucket.
//
//go:noescape
func takeFlights(w *kernelWork)

// hasKernel says whether there is assembly for this machine: it needs AVX2 and BMI2, and the race
// detector does not examine it.
var hasKernel = cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && !memory.RaceEnabled
