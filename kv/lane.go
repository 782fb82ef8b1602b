package kv

import (
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/invariant"
)

// lanes is how many lanes there are, so that goroutines of one rank rarely wait for each other.
const lanes = 16

// lane is what direct calls work with, and free items, for one goroutine at a time. So a call that
// changes the map, or up to 32 calls of a batch, take one lock for all that they do in this rank.
//
// Who has locked a lane waits for no other lane, and for nothing that takes one. arena.mu comes
// before the lanes.
type lane struct {
	mu        sync.Mutex
	free      [classes]itemQueue
	handedOut uint64        // items handed out
	made      [kinds]uint64 // direct calls
	calls     *directCalls  // nil until some are made
	room      []uint64      // for these to make an item
	_         [8]uint64
}

// lane locks one that no other goroutine has locked, where there is one: one that has it may not
// be running. With assertions the first choice depends on the key alone, so that what a seed does
// can be repeated.
func (a *arena) lane(hash uint64) *lane {
	if !invariant.Enabled {
		hash = core.Stripe()
	}
	for i := range uint64(lanes) {
		if l := &a.lanes[(hash+i)%lanes]; l.mu.TryLock() {
			return l
		}
	}
	l := &a.lanes[hash%lanes]
	l.mu.Lock()
	return l
}

// itemQueue is free items, in the order in which they came.
type itemQueue struct {
	items []item
	head  int // the first one
}

func (q *itemQueue) len() int { return len(q.items) - q.head }

// pop takes the first one out of a queue that is not empty.
func (q *itemQueue) pop() item {
	q.head++
	return q.items[q.head-1]
}

// peek is the item that is popped after so many others, if it is taken out of the queue then.
func (q *itemQueue) peek(after int) (it item, ok bool) {
	if q.len() <= quarantine+after {
		return item{}, false
	}
	return q.items[q.head+after], true
}

func (q *itemQueue) push(it item) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 { // there is room in front
		q.items, q.head = q.items[:copy(q.items, q.items[q.head:])], 0
	}
	q.items = append(q.items, it)
}
