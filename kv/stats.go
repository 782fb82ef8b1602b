package kv

import (
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// KindStats is what the calls of one kind have needed.
type KindStats struct {
	Calls      uint64
	Direct     uint64 // of them, those that worked on memory, without requests to the engine
	RoundTrips uint64 // times that a call had to wait
	Lost       uint64 // compare-and-swaps lost to others
}

// Stats is what this rank has done with a map since New.
type Stats struct {
	Kinds  [kinds]KindStats // by Kind
	Queues rma.Stats        // requests to the engine
	// Access is how batches reach memory that this process cannot address directly, and why.
	Access ship.Choice
	// Served is how many calls other ranks have shipped to this one. They count on this rank,
	// which made them, and not on the requesting rank.
	Served uint64
}

// sums is what is counted for Stats.
type sums struct {
	Kinds  [kinds]KindStats
	Queues rma.Stats
	Served uint64
}

// directAt is where direct calls of a kind are counted.
func directAt(k Kind) uintptr {
	return unsafe.Offsetof(sums{}.Kinds) + uintptr(k)*unsafe.Sizeof(KindStats{}) +
		unsafe.Offsetof(KindStats{}.Direct)
}

// Stats returns what this rank has done since New.
func (m *Map) Stats() Stats {
	s := m.tally.Sum()
	for k := range s.Kinds {
		s.Kinds[k].Calls += s.Kinds[k].Direct
	}
	return Stats{Kinds: s.Kinds, Queues: s.Queues, Served: s.Served, Access: m.batches.Access()}
}
