package kv

import (
	"golang.org/x/sys/cpu"

	"github.com/farhash/farhash/internal/system/memory"
)

// hasKernel says whether there is assembly for this machine: it needs AVX2, and the race detector
// does not examine it.
var hasKernel = cpu.X86.HasAVX2 && !memory.RaceEnabled

// kernelOthersIn is othersIn.
//
//go:noescape
func kernelOthersIn(line *[lineSlots]uint64, want uint64) int
