package set

import (
	"golang.org/x/sys/cpu"

	"github.com/farhash/farhash/internal/memory"
)

//go:noescape
func searchAVX512(w *kernelWork)

//go:noescape
func searchAVX2(w *kernelWork)

// vectorKernels lists the kernels in assembly that run here, the preferred one first.
func vectorKernels() []Kernel {
	var kernels []Kernel
	if memory.RaceEnabled || !cpu.X86.HasBMI1 {
		return nil
	}
	// AVX2 comes first: on an Intel Sapphire Rapids it inserts 71 million words a second
	// where AVX-512 inserts 59 (farhash-eval op set). It is never much slower.
	if cpu.X86.HasAVX2 {
		kernels = append(kernels, KernelAVX2)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		kernels = append(kernels, KernelAVX512)
	}
	return kernels
}

// search runs a kernel. The calls are direct, so that w need not be on the heap.
func search(k Kernel, w *kernelWork) {
	if k == KernelAVX512 {
		searchAVX512(w)
	} else {
		searchAVX2(w)
	}
}
