package rma

import "sync/atomic"

// Transactor is a queue of an engine that can compare several words and write them at one
// moment, as NE 5.1 asks of network cards (see package kv). No card can; rma/local and rma/sim
// emulate it.
type Transactor interface {
	Queue
	// Transact carries out a transaction on words of one rank. Value tells 1 if it was done,
	// 0 if a word was not what it should be: then nothing has changed. Words that
	// transactions change must not be written otherwise. It counts as one compare-and-swap.
	Transact(w Window, rank int, t Transaction) Handle
}

// Transaction is words to be changed together. It must not change before it is done.
type Transaction []Change

// Change is a word of a transaction.
type Change struct {
	Off      int // in the segment
	Old, New uint64
	Seen     uint64 // what was there, when the transaction is done
}

// On carries the transaction out on a segment, for engines that see to it that nobody else
// writes meanwhile. It reports whether all words were what they should be.
func (t Transaction) On(segment []uint64) (agreed bool) {
	agreed = true
	for i := range t {
		t[i].Seen = atomic.LoadUint64(&segment[t[i].Off])
		agreed = agreed && t[i].Seen == t[i].Old
	}
	if !agreed {
		return false
	}
	for _, c := range t {
		if c.New != c.Old {
			atomic.StoreUint64(&segment[c.Off], c.New)
		}
	}
	return true
}

// Span is the words from the first to the last one of a transaction, which has at least one.
func (t Transaction) Span() (off, words int) {
	off, end := t[0].Off, t[0].Off+1
	for _, c := range t {
		off, end = min(off, c.Off), max(end, c.Off+1)
	}
	return off, end - off
}
