package kv

import (
	"github.com/farhash/farhash/rma"
)

// KindStats is what the calls of one kind have needed. Direct gets that are not of a batch are not
// counted, as that would take as long as a part of them.
type KindStats struct {
	Calls      uint64
	Direct     uint64 // of them, those that worked on memory, without requests to the engine
	RoundTrips uint64 // times that a call had to wait
	Lost       uint64 // compare-and-swaps lost to others
}

// Stats is what this rank has done with a map since New.
type Stats struct {
	Counts
	// Access is how batches reach memory that this process cannot address directly, and why.
	Access rma.AccessChoice
}

// Counts is what is counted for Stats.
type Counts struct {
	Kinds  [kinds]KindStats // by Kind
	Queues rma.Stats        // requests to the engine
	// Served is how many calls other ranks have shipped to this one. They count on this rank,
	// which made them, and not on the requesting rank.
	Served uint64
}

// Stats returns what this rank has done since New.
func (m *Map) Stats() Stats { return Stats{m.counts(), m.batches.Access()} }

// counts is what this rank has counted since New.
func (m *Map) counts() Counts {
	s := m.tally.Sum()
	for i := range m.arena.lanes {
		l := &m.arena.lanes[i]
		l.mu.Lock()
		for k, n := range l.made {
			s.Kinds[k].Direct += n
			s.Kinds[k].Calls += n
		}
		l.mu.Unlock()
	}
	return s
}
