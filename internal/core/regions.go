package core

import (
	"unsafe"

	"github.com/farhash/farhash/rma"
)

// A Region is the segments of some ranks that follow each other, in rank and in memory.
type Region struct {
	First, Ranks int
	Words        []uint64
}

// Regions is all memory of a window that this process can address. The zero Regions is none.
// It does not change while it is in use.
type Regions struct {
	Segments [][]uint64 // by rank; nil where only queues reach it
	Any, All bool       // some segment, or every one, can be addressed
	Whole    *Region    // of all ranks; nil where their segments are not in one piece

	by []*Region // by rank; nil where only queues reach it
}

// NewRegions finds the regions of a window. It is the one place where a table asks for
// CPUAtomicsCoherent.
func NewRegions(w rma.Window) Regions {
	r := Regions{Segments: make([][]uint64, w.Size()), by: make([]*Region, w.Size()), All: true}
	for _, s := range regions(w) {
		region := &s
		for i := range s.Ranks {
			r.Segments[s.First+i] = s.Words[i*w.Len() : (i+1)*w.Len() : (i+1)*w.Len()]
			r.by[s.First+i] = region
		}
		if r.Any = true; s.Ranks == w.Size() {
			r.Whole = region
		}
	}
	for _, region := range r.by {
		r.All = r.All && region != nil
	}
	return r
}

// OnePiece is the regions of segments that lie in one piece of memory, such as a mapped file.
func OnePiece(ranks int, words []uint64) Regions {
	whole := &Region{Ranks: ranks, Words: words}
	r := Regions{Any: true, All: true, Whole: whole}
	n := len(words) / ranks
	for rank := range ranks {
		r.Segments = append(r.Segments, words[rank*n:(rank+1)*n:(rank+1)*n])
		r.by = append(r.by, whole)
	}
	return r
}

// At is the region of a rank's segment, nil where only queues reach it.
func (r *Regions) At(rank int) *Region {
	if r.by == nil || r.by[rank] == nil {
		return nil
	}
	return r.by[rank]
}

// Here is At(rank).Words, cut down to the segment of this rank; nil likewise.
func (r *Regions) Here(rank int) []uint64 {
	if r.At(rank) == nil {
		return nil
	}
	return r.Segments[rank]
}

// Flat returns the segments of all ranks as one slice, rank 0 first, when the
// engine has laid them out next to each other in directly addressable memory
// whose words CPU atomics may swap; nil otherwise.
func Flat(w rma.Window) []uint64 {
	if all := regions(w); len(all) == 1 && all[0].Ranks == w.Size() {
		return all[0].Words
	}
	return nil
}

// regions returns the segments in directly addressable memory whose words CPU atomics may
// swap, for example the segments of the ranks of this host, as few regions in the order of ranks.
func regions(w rma.Window) []Region {
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
