package kv

import (
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// counts is what one call has needed.
type counts struct {
	roundTrips uint64
	lost       uint64
	recycled   uint64
	copies     uint64
	moved      uint64
	phases     [phaseEnd]uint64 // round trips in each
}

// KindStats is what the calls of one kind have needed.
type KindStats struct {
	Calls      uint64
	Direct     uint64 // of them, those that worked on memory, without requests to the engine
	RoundTrips uint64 // times that a call had to wait
	LookUps    uint64 // of them, for slots, and for the item of the call to be written
	Items      uint64 // for items
	Swaps      uint64 // for compare-and-swaps
	Lost       uint64 // compare-and-swaps lost to others
	Recycled   uint64 // items that were used again before they were read
	Copies     uint64 // slots whose copy was read
}

// Growth is the work of a rank on moving tables.
type Growth struct {
	Begun      uint64 // moves that it has begun
	Slots      uint64 // of keys, that it has moved
	RoundTrips uint64 // for moving them
}

// Stats is what this rank has done with a map since New.
type Stats struct {
	Kinds  [kinds]KindStats // by Kind
	Growth Growth
	Queues rma.Stats // requests to the engine
	// Access is how batches reach memory that this process cannot address directly, and why.
	Access ship.Choice
	// Served is how many calls other ranks have shipped to this one. They count on this rank,
	// which made them, and not on the requesting rank.
	Served uint64
}

// sums is what is counted for Stats.
type sums struct {
	Kinds  [kinds]KindStats
	Growth Growth
	Queues rma.Stats
	Served uint64
}

// directAt is where direct calls of a kind are counted.
func directAt(k Kind) uintptr {
	return unsafe.Offsetof(sums{}.Kinds) + uintptr(k)*unsafe.Sizeof(KindStats{}) +
		unsafe.Offsetof(KindStats{}.Direct)
}

// add adds a call that has ended.
func (s *sums) add(o *op) {
	k := &s.Kinds[o.call.Kind]
	if o.need.what == needNothing {
		k.Calls++
	}
	k.RoundTrips += o.counts.roundTrips
	k.LookUps += o.counts.phases[phaseChunk]
	k.Items += o.counts.phases[phaseItem]
	k.Swaps += o.counts.phases[phaseSwap]
	k.Lost += o.counts.lost
	k.Recycled += o.counts.recycled
	k.Copies += o.counts.copies
}

// Stats returns what this rank has done since New.
func (m *Map) Stats() Stats {
	s := m.tally.Sum()
	for k := range s.Kinds {
		s.Kinds[k].Calls += s.Kinds[k].Direct
	}
	return Stats{Kinds: s.Kinds, Growth: s.Growth, Queues: s.Queues, Served: s.Served,
		Access: m.batches.Access()}
}
