package set

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/cpu"

	"github.com/farhash/farhash/internal/system/memory"
)

//go:noescape
func searchAVX512(w *kernelWork)

//go:noescape
func searchAVX2(w *kernelWork)

// searchAVX512Write prefetches lines by PREFETCHW, as searchAVX2Write does.
//
//go:noescape
func searchAVX512Write(w *kernelWork)

//go:noescape
func searchAVX2Write(w *kernelWork)

// vectorKernels lists the kernels in assembly that run here, the preferred one first.
func vectorKernels() []kernel {
	var all []kernel
	if memory.RaceEnabled || !cpu.X86.HasBMI1 || !cpu.X86.HasBMI2 {
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

// thisProcessor is a table and no trial, so that it is the same each time.
//
// PREFETCHW asks for a line that no other core has, as the compare-and-swap after it needs it. On
// an AMD Zen 5 two goroutines insert 300 million words a second up to load 0.25 with it, and 155 or
// 300 without it, for minutes. On a Zen 4 two threads swap 190 to 200 million prefetched words a
// second with PREFETCHW, whether 12 or 96 are in flight; with PREFETCHT0 it is 80 from 48 on. A Zen
// 5 needs 64 in flight: with 32 it inserts a quarter less. On an Intel Sapphire Rapids 64 insert 1
// to 5 % more than 32 by PREFETCHT0.
func thisProcessor() tuning {
	const zen3and4 = 0x19
	switch {
	case cpuid.CPU.VendorID != cpuid.AMD:
		return tuning{flights: maxFlights}
	case cpuid.CPU.Family == zen3and4:
		return tuning{flights: 32, write: true}
	}
	return tuning{flights: maxFlights, write: true}
}

// search runs a kernel. The calls are direct, so that w need not be on the heap.
func search(k kernel, w *kernelWork, write bool) {
	switch {
	case k == kernelAVX512 && write:
		searchAVX512Write(w)
	case k == kernelAVX512:
		searchAVX512(w)
	case write:
		searchAVX2Write(w)
	default:
		searchAVX2(w)
	}
}

//go:noescape
func insertFirst(f *firstLine, word uint64) end

// insert inserts a word if its first line is enough for that. It is inlined, as it is one call.
func (f *firstLine) insert(word uint64) end { return insertFirst(f, word) }

// compareAVX2 is compareLine for n flights whose home is the start of a line.
//
//go:noescape
func compareAVX2(flat *uint64, flights *elementFlight, n int)

func compareFlights(flat []uint64, flights []elementFlight) {
	compareAVX2(unsafe.SliceData(flat), unsafe.SliceData(flights), len(flights))
}

// searchShort is the kernel for elements of few words.
//
//go:noescape
func searchShort(w *elementWork)
