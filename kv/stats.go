package kv

import (
	"sync"
	"sync/atomic"

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
	Direct     uint64 // of them, gets that read memory directly, without requests to the engine
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

// tally adds up statistics.
type tally struct {
	direct atomic.Uint64 // gets without a machine
	_      [56]byte      // a cache line of its own
	mu     sync.Mutex
	s      Stats
}

// call adds a call that has ended.
func (t *tally) call(o *op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &t.s.Kinds[o.call.Kind]
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

// growth adds work on moving tables.
func (t *tally) growth(g Growth) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Growth.Begun += g.Begun
	t.s.Growth.Slots += g.Slots
	t.s.Growth.RoundTrips += g.RoundTrips
}

// serve adds calls that were made for others.
func (t *tally) serve(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Served += uint64(n)
}

// queue adds the requests of a queue.
func (t *tally) queue(before, now rma.Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Queues.Add(now.Since(before))
}

// Stats returns what this rank has done since New.
func (m *Map) Stats() Stats {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	s := m.tally.s
	s.Access = m.shipping.line.Choice()
	s.Kinds[Get].Direct = m.tally.direct.Load()
	s.Kinds[Get].Calls += s.Kinds[Get].Direct
	return s
}
