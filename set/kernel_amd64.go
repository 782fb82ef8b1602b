package set

import (
	"golang.org/x/sys/cpu"

	"github.com/farhash/farhash/internal/memory"
)

//go:noescape
func searchAVX512(w *kernelWork)

//go:noescape
func searchAVX2(w *kernelWork)

// vectorKernels lists the kernels in assembly that run here, the fastest first.
func vectorKernels() []Kernel {
	var kernels []Kernel
	if memory.RaceEnabled || !cpu.X86.HasBMI1 {
		return nil
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		kernels = append(kernels, KernelAVX512)
	}
	if cpu.X86.HasAVX2 {
		kernels = append(kernels, KernelAVX2)
	}
	return kernels
}

func kernelLoop(k Kernel) func(w *kernelWork) {
	if k == KernelAVX512 {
		return searchAVX512
	}
	return searchAVX2
}
