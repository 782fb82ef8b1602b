package rma

import "unsafe"

// Flat returns the segments of all ranks as one slice, rank 0 first, when the
// engine has laid them out next to each other in directly addressable memory
// whose words CPU atomics may swap; nil otherwise.
func Flat(w Window) []uint64 {
	if all := Regions(w); len(all) == 1 && all[0].Ranks == w.Size() {
		return all[0].Words
	}
	return nil
}

// A Region is the segments of some ranks that follow each other, in rank and in memory.
type Region struct {
	First, Ranks int
	Words        []uint64
}

// Regions returns the segments in directly addressable memory whose words CPU atomics may
// swap, such as those of the ranks of this host, as few regions in the order of ranks.
func Regions(w Window) []Region {
	if !w.CPUAtomicsCoherent() {
		return nil
	}
	var all []Region
	end := uintptr(0) // of the last region; a number: it may point nowhere
	for rank := range w.Size() {
		segment := w.Words(rank)
		if len(segment) == 0 || len(segment) != w.Len() {
			continue
		}
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(segment)))
		last := len(all) - 1
		if last >= 0 && begin == end && rank == all[last].First+all[last].Ranks {
			all[last].Ranks++
			all[last].Words = unsafe.Slice(unsafe.SliceData(all[last].Words),
				len(all[last].Words)+len(segment))
		} else {
			all = append(all, Region{First: rank, Ranks: 1, Words: segment})
		}
		end = begin + uintptr(len(segment))*8
	}
	return all
}
