package set

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/farhash/farhash/internal/memory"
)

//go:noescape
func searchAVX512(w *kernelWork)

//go:noescape
func searchAVX2(w *kernelWork)

// vectorKernels lists the kernels in assembly that run here, the preferred one first.
func vectorKernels() []kernel {
	var all []kernel
	if memory.RaceEnabled || !cpu.X86.HasBMI1 {
		return nil
	}
	// AVX-512 comes first. It compares a line with fewer instructions, which shows in tables that
	// are nearly full: to load 0.9 it inserts 56 million words a second on an Intel Sapphire
	// Rapids and AVX2 55 (farhash-eval op set --to .9), and 80 and 70 on an AMD Zen 5.
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		all = append(all, kernelAVX512)
	}
	if cpu.X86.HasAVX2 {
		all = append(all, kernelAVX2)
	}
	return all
}

// search runs a kernel. The calls are direct, so that w need not be on the heap.
func search(k kernel, w *kernelWork) {
	if k == kernelAVX512 {
		searchAVX512(w)
	} else {
		searchAVX2(w)
	}
}

//go:noescape
func insertFirst(f *firstLine, word uint64) Result

// insert inserts a word if its first line is enough for that. It is inlined, as it is one call.
func (f *firstLine) insert(word uint64) Result { return insertFirst(f, word) }

// compareAVX2 is compareLine for n flights whose home is the start of a line.
//
//go:noescape
func compareAVX2(flat *uint64, flights *elementFlight, n int)

func compareFlights(flat []uint64, flights []elementFlight) {
	compareAVX2(unsafe.SliceData(flat), unsafe.SliceData(flights), len(flights))
}
