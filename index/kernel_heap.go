package index

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// In a table with a heap the signatures and displacements next to a home are compared without a
// branch for each, as in kernel.go. What fits is a record of the same home with the same signature:
// a lookup of a key that is not there mostly ends without the heap.

const (
	// farSlotBytes is a slot whose offset has 4 bytes: others are searched slot by slot.
	farSlotBytes = signatureBytes + displacementBytes + 4
	farSlots     = 8                // that are compared so
	slotWords    = farSlotBytes / 2 // words of 16 bits
)

// farGroup is slots next to a home.
type farGroup [farSlots * farSlotBytes]byte

// far is what such searches need to know of a table.
type far struct {
	flat      unsafe.Pointer // nil: this table is searched slot by slot
	segment   uintptr        // bytes
	ranks     int
	homes     uint64
	lastGroup uint64  // the last slot that a group may begin with
	heapAt    uintptr // bytes
	// lastRecord is the last word of a heap where the longest record may begin.
	lastRecord uint
	form       form
}

// record is the bytes of a key or a value, and more.
type record [1 << 16]byte

// findFar prepares a table of which all else is known.
func (t *table) findFar() {
	last := t.HeapWords - t.form.maxWords()
	if t.Storage != Heap || t.slotBytes != farSlotBytes || t.flat == nil || t.Slots < farSlots ||
		last < 0 {
		return
	}
	t.far = far{flat: unsafe.Pointer(unsafe.SliceData(t.flat)), segment: uintptr(t.segment) * 8,
		ranks: t.ranks, homes: t.Homes, lastGroup: uint64(t.Slots - farSlots),
		heapAt: uintptr(t.heapAt) * 8, lastRecord: uint(last), form: t.form}
}

// group is the slots next to the home of a hash, and the heap of the same rank. There are none near
// the end of a segment.
func (f *far) group(hash uint64) (group *farGroup, heap unsafe.Pointer) {
	rank, rest := place(hash, f.ranks)
	home := homeOf(rest, f.homes)
	if home > f.lastGroup {
		return nil, nil
	}
	segment := unsafe.Add(f.flat, uintptr(rank)*f.segment)
	return (*farGroup)(unsafe.Add(segment, uintptr(home)*farSlotBytes)),
		unsafe.Add(segment, f.heapAt)
}

// fitting is fitting without assembly. A loop would take longer.
func (g *farGroup) fitting(is uint32) (slots uint32) {
	const step = 1 << (8 * signatureBytes) // the displacement of the next slot
	slots = zero(g.begin(0) ^ is)
	slots |= zero(g.begin(1)^(is+step)) << slotWords
	slots |= zero(g.begin(2)^(is+2*step)) << (2 * slotWords)
	slots |= zero(g.begin(3)^(is+3*step)) << (3 * slotWords)
	slots |= zero(g.begin(4)^(is+4*step)) << (4 * slotWords)
	slots |= zero(g.begin(5)^(is+5*step)) << (5 * slotWords)
	slots |= zero(g.begin(6)^(is+6*step)) << (6 * slotWords)
	slots |= zero(g.begin(7)^(is+7*step)) << (7 * slotWords)
	return slots
}

// begin is the signature and the displacement of a slot.
func (g *farGroup) begin(slot int) uint32 {
	return uint32(binary.LittleEndian.Uint16(g[slot*farSlotBytes:]))
}

// zero is 1 for 0, and 0 for other numbers below 2^31.
func zero(number uint32) uint32 { return (number - 1) >> 31 }

// ends reports whether no record of the home is after the group: its last slot is of a later home,
// or empty, and then has displacement 0.
func (g *farGroup) ends() bool {
	return g[(farSlots-1)*farSlotBytes+signatureBytes] < farSlots-1
}

// offset is the offset of the first of some slots.
func (g *farGroup) offset(slots uint32) uint32 {
	at := bits.TrailingZeros32(slots) % (slotWords * farSlots) * (farSlotBytes / slotWords)
	return binary.LittleEndian.Uint32(g[at+signatureBytes+displacementBytes:])
}

// quickHeap looks up keys of records in a heap. What the processor has to predict depends on the
// key that is looked up as far as possible, and not on memory: so it goes on to the next lookup
// while it waits.
func quickHeap(r *Reader, key []byte) (v Value, over bool) {
	f := &r.t.far
	if !f.form.takes(len(key)) || r.t.closed.Load() || r.closed.Load() {
		return nil, false
	}
	hash := hashKey(key)
	group, heap := f.group(hash)
	if group == nil {
		return nil, false
	}
	for slots := fitting(group, uint32(signatureOf(hash))); slots != 0; slots &= slots - 1 {
		offset := uint(group.offset(slots))
		if offset > f.lastRecord {
			return nil, false
		}
		at := unsafe.Add(heap, offset*8)
		keySize, valueSize := f.form.sizes(binary.LittleEndian.Uint32((*[8]byte)(at)[:]))
		at = unsafe.Add(at, f.form.prefix)
		if keySize == len(key) && string((*record)(at)[:len(key)]) == string(key) {
			return (*record)(unsafe.Add(at, len(key)))[:valueSize:valueSize], true
		}
	}
	return nil, group.ends()
}
