package kv

import (
	"sync"

	"github.com/farhash/farhash/rma"
)

// counts is what one call has needed.
type counts struct {
	roundTrips uint64
	lost       uint64
	recycled   uint64
	copies     uint64
}

// KindStats is what the calls of one kind have needed.
type KindStats struct {
	Calls      uint64
	RoundTrips uint64 // times that a call had to wait
	Lost       uint64 // compare-and-swaps lost to others
	Recycled   uint64 // items that were used again before they were read
	Copies     uint64 // slots whose copy was looked at
}

// Stats is what this rank has done with a map since New.
type Stats struct {
	Kinds  [kinds]KindStats // by Kind
	Queues rma.Stats        // what the engine was asked for
}

// tally adds up statistics.
type tally struct {
	mu sync.Mutex
	s  Stats
}

// call adds a call that has ended.
func (t *tally) call(o *op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &t.s.Kinds[o.call.Kind]
	k.Calls++
	k.RoundTrips += o.counts.roundTrips
	k.Lost += o.counts.lost
	k.Recycled += o.counts.recycled
	k.Copies += o.counts.copies
}

// queue adds what a queue was asked for.
func (t *tally) queue(before, now rma.Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Queues.Add(now.Since(before))
}

// Stats tells what this rank has done since New.
func (m *Map) Stats() Stats {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.s
}
