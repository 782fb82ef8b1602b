package rma

import "unsafe"

// Flat returns the segments of all ranks as one slice, rank 0 first, when the
// engine has laid them out next to each other in directly addressable memory
// whose words CPU atomics may swap; nil otherwise.
func Flat(w Window) []uint64 {
	if !w.Caps().CPUAtomicsCoherent {
		return nil
	}
	first := w.Words(0)
	if len(first) == 0 {
		return nil
	}
	end := uintptr(unsafe.Pointer(unsafe.SliceData(first))) // a number: it may point nowhere
	for rank := range w.Size() {
		segment := w.Words(rank)
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(segment)))
		if len(segment) != w.Len() || begin != end {
			return nil
		}
		end += uintptr(len(segment)) * 8
	}
	return unsafe.Slice(unsafe.SliceData(first), w.Len()*w.Size())
}
