package index

import (
	"unsafe"

	"github.com/farhash/farhash/internal/memory"
)

const (
	// numberBlock is how many keys have their memory asked for at once, aheadKeys how many others
	// come between asking for a block and searching for it: that many loads overlap.
	numberBlock = 4
	aheadKeys   = 16
	ringKeys    = 2 * aheadKeys
	// maxLate is how many searches wait for the memory behind their group.
	maxLate = 64
)

// numberBlocks are keys of a batch, numbers K in slots S, that are searched for block by block. The
// memory of blocks behind is on its way while a block is searched for.
type numberBlocks[K uint32 | uint64, S any] struct {
	*batch
	at     []int             // their numbers; nil: all of the batch
	n      int               // how many there are
	groups [ringKeys]*uint64 // a ring
	room   [maxLate]int
	late   []int // numbers of those whose search goes on behind their group
	q      query
	w      wanted
}

// searchNumbers looks up keys of a batch that are numbers.
func searchNumbers[K uint32 | uint64, S any](b *batch, at []int, n int) {
	d := numberBlocks[K, S]{batch: b, at: at, n: n, q: query{t: b.r.t}, w: wanted{found: b.found}}
	d.late = d.room[:0]
	for from := 0; from < aheadKeys; from += numberBlock {
		d.ask(from)
	}
	for from := 0; from < n; from += numberBlock {
		d.ask(from + aheadKeys)
		d.search(from)
	}
	d.goOn()
	b.counts.Matches += uint64(d.q.matches)
}

// block are the groups of a block, and the keys in it.
func (d *numberBlocks[K, S]) block(from int) []*uint64 {
	return d.groups[from%ringKeys:][:max(0, min(numberBlock, d.n-from))]
}

// key is number i, and where it stands in the batch.
func (d *numberBlocks[K, S]) key(i int) (key K, number int) {
	if number = i; d.at != nil {
		number = d.at[i]
	}
	return keyAt[K](d.keys[number*int(unsafe.Sizeof(key)):]), number
}

// ask asks for the groups of a block.
func (d *numberBlocks[K, S]) ask(from int) {
	n, groups := &d.r.t.numbers, d.block(from)
	for i := range groups {
		key, _ := d.key(from + i)
		groups[i] = (*uint64)(unsafe.Pointer(groupOf[S](n, mix(uint64(key)))))
	}
	memory.Prefetch(groups, slotLines)
}

// search searches for the keys of a block. Where the search for one goes on behind its group, the
// memory there is asked for, and others come first.
func (d *numberBlocks[K, S]) search(from int) {
	n := &d.r.t.numbers
	for i, at := range d.block(from) {
		key, number := d.key(from + i)
		slots := (*group[S])(unsafe.Pointer(at))
		slot, over := within(n, slots, mix(uint64(key)), key)
		if slot != nil {
			d.w.number = number
			d.q.match(&d.w, valueIn[K](slot))
		} else if !over {
			behind := [...]*uint64{(*uint64)(unsafe.Pointer(&slots[groupSlots-1]))}
			memory.Prefetch(behind[:], slotLines)
			d.late = append(d.late, number)
		}
	}
	if len(d.late) > maxLate-numberBlock {
		d.goOn()
	}
}

// goOn ends the searches that go on behind their groups.
func (d *numberBlocks[K, S]) goOn() {
	for _, number := range d.late {
		d.w.number, d.w.key = number, d.batch.key(number)
		searchWord[K](&d.q, &d.w, hashKey(d.w.key))
	}
	d.late = d.late[:0]
}

// valueIn is the value in a slot.
func valueIn[K uint32 | uint64, S any](slot *S) []byte {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(slot)), unsafe.Sizeof(*slot))
	return bytes[unsafe.Sizeof(K(0)):]
}
