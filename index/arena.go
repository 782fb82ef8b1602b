package index

import (
	"context"
	"errors"
	"math"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
)

// A slot of a hybrid table has, after its signature and displacement:
//
//	sizes | key | value | zeros    a record of up to InlineBytes
//	255 ... | offset | zeros       a longer one, which is in the heap
//
// There is a byte for the size of the key if keys vary, and one for the size of the value if values
// do. The first of them is 255 where the record is in the heap.

const (
	// inHeap is in place of the first size.
	inHeap = 255
	// longestInline is the longest record that a slot may have, in bytes of key and value.
	longestInline = inHeap - 1
	// longestChosen is the longest one that a build chooses by itself.
	longestChosen = 64
	// leastOffsetBytes is what a slot has room for in any case.
	leastOffsetBytes = 4
)

// putInSlot writes a record into its slot, after signature and displacement. It returns false for a
// long one, of which the slot then needs the offset.
func (t *table) putInSlot(slot []byte, r Record) bool {
	sizes := slot[signatureBytes+displacementBytes : t.offsetAt]
	clear(slot[signatureBytes+displacementBytes:])
	if len(r.Key)+len(r.Value) > t.InlineBytes {
		sizes[0] = inHeap
		return false
	}
	if t.form.keysVary {
		sizes[0] = byte(len(r.Key))
		sizes = sizes[1:]
	}
	if t.form.vary {
		sizes[0] = byte(len(r.Value))
	}
	copy(slot[t.offsetAt+copy(slot[t.offsetAt:], r.Key):], r.Value)
	return true
}

// inSlot is the record that a slot which is taken has. far means that it is in the heap, and broken
// that the slot makes no sense.
func (t *table) inSlot(slot []byte) (r Record, far, broken bool) {
	sizes, room := slot[signatureBytes+displacementBytes:t.offsetAt], slot[t.offsetAt:]
	if sizes[0] == inHeap {
		return r, true, false
	}
	key, value := t.KeySize, t.ValueSize
	if t.form.keysVary {
		key, sizes = int(sizes[0]), sizes[1:]
	}
	if t.form.vary {
		value = int(sizes[0])
	}
	if key+value > len(room) {
		return r, false, true
	}
	return Record{room[:key:key], room[key : key+value : key+value]}, false, false
}

// tally counts records by their bytes of key and value. The last number is of all that are longer
// than a slot's may be.
type tally struct {
	records, words [longestInline + 2]uint64 // words that they take in a heap
}

func (s *tally) add(bytes, words int) {
	bytes = min(bytes, longestInline+1)
	s.records[bytes]++
	s.words[bytes] += uint64(words)
}

// longer is how many records have more than n bytes, and their words.
func (s *tally) longer(n int) (records, words uint64) {
	for i := n + 1; i < len(s.records); i++ {
		records += s.records[i]
		words += s.words[i]
	}
	return records, words
}

// best is the longest record that a slot is to have, for the most lookups in a second, where every
// record is looked up equally often (LP 5.7). A byte more in the slots costs each lookup as many
// bytes as it reads slots. A record in the heap costs a message, and its own bytes. Where gets have
// no cost, it is for the machine of LP.
func (s *tally) best(load float64, costs rma.GetCosts) (int, error) {
	const slot = 16 // how many slots are read hardly depends on their size
	load = min(max(load, 0.01), readsize.MaxLoad)
	c := readsize.Config{Machine: core.InFlight(costs), SlotBytes: slot}
	messageNs := c.LatencyNs
	if costs == (rma.GetCosts{}) {
		messageNs = 1e9 / c.MessagesPerSecond
	}
	sizes, err := c.Ordered(load)
	laws, err2 := readsize.NewLaws(load)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	all, _ := s.longer(-1)
	byteNs := c.ByteNs * c.Cost(laws.OrderedPresent, sizes...).Bytes / slot * float64(all)
	least, best := math.Inf(1), leastOffsetBytes
	for n := leastOffsetBytes; n <= longestChosen; n++ {
		records, words := s.longer(n)
		ns := byteNs*float64(n) + float64(records)*messageNs +
			c.ByteNs*8*float64(words)
		if ns < least {
			least, best = ns, n
		}
	}
	return best, nil
}

// divide decides which records of a hybrid table are in slots. Collective.
func (b *builder) divide(ctx context.Context) error {
	t, sum := b.t, &tally{}
	all, err := core.Gather(ctx, t.job, "index: sizes of records", core.Words(b.store.sizes), nil)
	if err != nil {
		return err
	}
	for _, words := range all {
		for i, n := range words {
			core.Words(sum)[i] += n
		}
	}
	best := t.InlineBytes
	if best == 0 {
		best, err = sum.best(t.Load, t.costs)
	}
	// All take what rank 0 has chosen: processors differ in how they round.
	all, err = core.Gather(ctx, t.job, "index: records in slots", []uint64{uint64(best)}, err)
	if err != nil {
		return err
	}
	t.InlineBytes = int(all[0][0])
	t.HeapRecords, _ = sum.longer(t.InlineBytes)
	t.shape(0, 0) // slots have a size now
	return nil
}

// heapWords is how many words of the heap the records of this rank take.
func (b *builder) heapWords() uint64 {
	switch b.t.Storage {
	case Inline:
		return 0
	case Hybrid:
		_, words := b.store.sizes.longer(b.t.InlineBytes)
		return words
	}
	return b.store.words
}
