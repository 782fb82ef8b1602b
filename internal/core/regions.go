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
	Segments Segments
	Any, All bool    // some segment, or every one, can be addressed
	Whole    *Region // of all ranks; nil where their segments are not in one piece

	// By rank, from Segments.First on; nil where only queues reach it. It is not nil where it is
	// known that this process can address no segment.
	by []*Region
}

// Segments is the segments that can be addressed. With thousands of ranks these are a few.
type Segments struct {
	First int        // the lowest rank with such a segment
	Words [][]uint64 // from that rank to the highest one; nil where only queues reach it
}

// Of is the segment of a rank, nil where only queues reach it.
func (s *Segments) Of(rank int) []uint64 {
	if i := uint(rank - s.First); i < uint(len(s.Words)) {
		return s.Words[i]
	}
	return nil
}

// NewRegions finds the regions of a window. It is the one place where a table asks for
// CPUAtomicsCoherent.
func NewRegions(w rma.Window) Regions {
	all := regions(w)
	if len(all) == 0 {
		return Regions{by: []*Region{}}
	}
	first, last := all[0].First, all[len(all)-1]
	ranks := last.First + last.Ranks - first
	r := Regions{Segments: Segments{First: first, Words: make([][]uint64, ranks)}, Any: true,
		by: make([]*Region, ranks)}
	reached := 0
	for _, s := range all {
		region := &s
		for i := range s.Ranks {
			at := s.First - first + i
			r.Segments.Words[at] = s.Words[i*w.Len() : (i+1)*w.Len() : (i+1)*w.Len()]
			r.by[at] = region
		}
		if reached += s.Ranks; s.Ranks == w.Size() {
			r.Whole = region
		}
	}
	r.All = reached == w.Size()
	return r
}

// OnePiece is the regions of segments that lie in one piece of memory, such as a mapped file.
func OnePiece(ranks int, words []uint64) Regions {
	whole := &Region{Ranks: ranks, Words: words}
	r := Regions{Any: true, All: true, Whole: whole}
	n := len(words) / ranks
	for rank := range ranks {
		r.Segments.Words = append(r.Segments.Words, words[rank*n:(rank+1)*n:(rank+1)*n])
		r.by = append(r.by, whole)
	}
	return r
}

// At is the region of a rank's segment, nil where only queues reach it.
func (r *Regions) At(rank int) *Region {
	if i := uint(rank - r.Segments.First); i < uint(len(r.by)) {
		return r.by[i]
	}
	return nil
}

// Here is At(rank).Words, cut down to the segment of this rank; nil likewise.
func (r *Regions) Here(rank int) []uint64 {
	if r.At(rank) == nil {
		return nil
	}
	return r.Segments.Of(rank)
}

// Far is a rank whose memory this process cannot address, the next one after self; -1 if there
// is none.
func (r *Regions) Far(self, ranks int) int {
	for i := 1; i < ranks; i++ {
		if rank := (self + i) % ranks; r.At(rank) == nil {
			return rank
		}
	}
	return -1
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
