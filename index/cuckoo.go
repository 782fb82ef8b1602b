package index

import (
	"context"
	"fmt"
)

// assignment says which record lies in which slot of a cuckoo table.
type assignment struct {
	t      *table
	chunks [][]uint64
	slots  int      // of a bucket
	refs   []uint64 // by bucket and slot; 0: none
	seed   uint64
	random uint64
}

const (
	// maxMoves is how many records an insertion moves at most before another seed is tried.
	maxMoves = 20000
	// maxSeeds is how many seeds are tried. With two choices of one slot at the highest
	// load about every second fails, others hardly ever do.
	maxSeeds = 40
)

// assign finds places for the records of this rank.
func (b *builder) assign() error {
	t := b.t
	a := &assignment{t: t, slots: t.cfg.BucketSlots}
	for i := range b.store.parts {
		a.chunks = append(a.chunks, b.store.parts[i].chunks()...)
	}
	a.refs = make([]uint64, int(t.homes)*t.cfg.places())
	for seed := range uint64(maxSeeds) {
		a.seed, a.random = seed, mix(seed+1)
		clear(a.refs)
		if a.all() {
			b.assigned = a
			return nil
		}
	}
	return fmt.Errorf("index: no cuckoo table was found for the %d records of rank %d in %d "+
		"buckets of %d slots, with %d seeds; choose a lower Load, or Ordered", b.store.records,
		b.job.Rank(), int(t.homes)*t.cfg.Choices, a.slots, maxSeeds)
}

// all inserts all records.
func (a *assignment) all() bool {
	for c, chunk := range a.chunks {
		for at := 0; at < len(chunk); {
			if !a.insert(uint64(c)<<refShift + uint64(at) + 1) {
				return false
			}
			at += a.t.form.wordsAt(chunk[at])
		}
	}
	return true
}

func (a *assignment) record(ref uint64) []uint64 {
	ref--
	chunk := a.chunks[ref>>refShift][ref&(1<<refShift-1):]
	return chunk[:a.t.form.wordsAt(chunk[0])]
}

// insert puts a record where there is room, after moving others at random if there is not.
// Earlier choices come first, so that a search that goes through them is short.
func (a *assignment) insert(ref uint64) bool {
	from := -1 // the bucket that the record has left
	for range maxMoves {
		hash := hashKey(a.t.form.key(a.record(ref)))
		var buckets [len(choiceWords)]int
		others := 0
		for i := range a.t.cfg.Choices {
			bucket := int(bucketOf(hash, a.seed, i, a.t.homes))
			for j := range a.slots {
				if at := bucket*a.slots + j; a.refs[at] == 0 {
					a.refs[at] = ref
					return true
				}
			}
			if bucket != from {
				buckets[others] = bucket
				others++
			}
		}
		a.random = a.random*0x5851F42D4C957F2D + 0x14057B7EF767814F
		draw := mix(a.random) >> 32
		from = buckets[int(draw%uint64(others))]
		at := from*a.slots + int(draw>>8)%a.slots
		ref, a.refs[at] = a.refs[at], ref
	}
	return false
}

// layCuckoo writes the buckets of a cuckoo table, and the heap. A bucket is filled from its
// first slot on and never emptied, so that records of a group lie behind each other.
func (b *builder) layCuckoo(ctx context.Context, units, heap *writer) {
	t, a := b.t, b.assigned
	for from := 0; from < len(a.refs); from += a.slots {
		b.writeEmpty(ctx, units)
		to := units.bytes[units.used-t.unitBytes : units.used]
		size := t.unitBytes / a.slots
		for j, ref := range a.refs[from : from+a.slots] {
			if ref == 0 {
				break
			}
			record := a.record(ref)
			if t.inline() {
				copy(to[j*size:(j+1)*size], bytesOf(record))
				continue
			}
			signature := signatureOf(hashKey(t.form.key(record)))
			offset := b.writeHeap(ctx, heap, record)
			switch {
			case !t.grouped():
				to[j*size] = signature
				t.putOffset(to[j*size+signatureBytes:], offset)
			case j == 0:
				t.putOffset(to[a.slots*signatureBytes:], offset)
				fallthrough
			default:
				to[j] = signature
			}
		}
	}
}
