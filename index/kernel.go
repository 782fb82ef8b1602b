package index

import (
	"encoding/binary"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

// Where no key has two records, and a slot has 8 or 16 bytes, the slots next to a home are compared
// without a branch for each. A branch that depends on memory has to be predicted while the memory
// is waited for. Where the prediction is wrong, what the processor has begun after it is lost,
// such as the next lookup.

const (
	// groupSlots is how many slots are compared so.
	groupSlots = 8
	// groupStep is the distance between slots that groups begin with: slots of 16 bytes are then
	// in two lines. One record of fourteen is after its group, at load 0.8.
	groupStep = 4
)

// group is slots of keys that are numbers, S being an array of bytes.
type group[S any] [groupSlots]S

// numbers is what such searches need to know of a table.
type numbers struct {
	keyBytes  int // 0: this table is searched slot by slot
	flat      unsafe.Pointer
	segment   uintptr // bytes
	ranks     int
	homes     uint64
	lastGroup uint64 // the last slot that a group may begin with
	marker    uint64
}

// keyWordBytes is the size of keys that are searched for as numbers, 0 for others.
func (t *table) keyWordBytes() int {
	if size := t.KeySize; t.inline() && (size == 4 || size == 8) {
		return size
	}
	return 0
}

// findNumbers prepares a table of which all else is known.
func (t *table) findNumbers() {
	size := t.keyWordBytes()
	if size == 0 || t.slotBytes != 2*size || !t.Unique || t.flat == nil || t.Slots < groupSlots {
		return
	}
	t.numbers = numbers{keyBytes: size, flat: unsafe.Pointer(unsafe.SliceData(t.flat)),
		segment: uintptr(t.segment) * 8, ranks: t.ranks, homes: t.Homes,
		lastGroup: uint64(t.Slots - groupSlots)}
	if size == 4 {
		t.numbers.marker = uint64(keyAt[uint32](t.Marker))
	} else {
		t.numbers.marker = keyAt[uint64](t.Marker)
	}
}

// quick looks up a key in a table where none has two records. It returns the value or nil, and
// whether that is all: else the search was not enough. It calls little: the fewer instructions and
// calls a lookup has, the more of the next one the processor does while it waits for memory.
type quick func(r *Reader, key []byte) (v Value, over bool)

// quick is how a table is looked up.
func (t *table) quick() quick {
	switch {
	case t.numbers.keyBytes == 4:
		return quick4
	case t.numbers.keyBytes == 8:
		return quick8
	case t.far.flat != nil && t.Unique:
		return quickHeap
	}
	return notQuick
}

func notQuick(*Reader, []byte) (v Value, over bool) { return nil, false }

func quick4(r *Reader, key []byte) (v Value, over bool) {
	n := &r.t.numbers
	if len(key) != 4 || r.t.closed.Load() || r.closed.Load() {
		return nil, false
	}
	word := keyAt[uint32](key)
	hash := mix(uint64(word))
	slots := groupOf[[8]byte](n, hash)
	if slot := among(slots, word); slot != nil && word != uint32(n.marker) {
		return slot[4:], true
	}
	return nil, n.endsIn(uint64(keyAt[uint32](slots[groupSlots-1][:])), hash)
}

func quick8(r *Reader, key []byte) (v Value, over bool) {
	n := &r.t.numbers
	if len(key) != 8 || r.t.closed.Load() || r.closed.Load() {
		return nil, false
	}
	word := keyAt[uint64](key)
	hash := mix(word)
	slots := groupOf[[16]byte](n, hash)
	if slot := among(slots, word); slot != nil && word != n.marker {
		return slot[8:], true
	}
	return nil, n.endsIn(keyAt[uint64](slots[groupSlots-1][:]), hash)
}

// within searches for the record of a key with a hash in the group next to its home. It returns the
// record, if it is there, and whether the search is over.
func within[K uint32 | uint64, S any](n *numbers, slots *group[S], hash uint64, key K) (
	record *S, over bool) {
	record = among(slots, key)
	switch {
	case key == K(n.marker): // of empty slots
		return nil, true
	case record != nil:
		return record, true
	}
	return nil, n.endsIn(uint64(numberIn[K](&slots[groupSlots-1])), hash)
}

// groupOf is the group next to the home of a hash. It begins at the home or before, and no group
// reaches beyond the slots of a rank.
func groupOf[S any](n *numbers, hash uint64) *group[S] {
	rank, rest := place(hash, n.ranks)
	slot := min(homeOf(rest, n.homes)&^(groupStep-1), n.lastGroup)
	at := uintptr(rank)*n.segment + uintptr(slot)*unsafe.Sizeof(*new(S))
	return (*group[S])(unsafe.Add(n.flat, at))
}

// among is the record of a key among slots, or nil. It is compiled to conditional moves.
func among[K uint32 | uint64, S any](slots *group[S], key K) (record *S) {
	if s := &slots[0]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[1]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[2]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[3]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[4]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[5]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[6]; numberIn[K](s) == key {
		record = s
	}
	if s := &slots[7]; numberIn[K](s) == key {
		record = s
	}
	return record
}

// endsIn reports whether a search ends in a group whose last slot has a key: no record of the home
// of a hash is after it.
func (n *numbers) endsIn(key, hash uint64) bool {
	_, rest := place(mix(key), n.ranks)
	_, home := place(hash, n.ranks)
	return key == n.marker || homeOf(rest, n.homes) > homeOf(home, n.homes)
}

const (
	// numberBlock is how many keys have their memory asked for at once, aheadKeys how many others
	// come between asking for a block and searching for it: that many loads overlap.
	numberBlock = 4
	aheadKeys   = 16
	ringKeys    = 2 * aheadKeys
	// maxLate is how many searches wait for the memory after their group.
	maxLate = 64
)

// numberBlocks are keys of a batch, numbers K in slots S, that are searched for block by block. The
// memory of later blocks is on its way while a block is searched for.
type numberBlocks[K uint32 | uint64, S any] struct {
	*batch
	n      int               // how many there are
	groups [ringKeys]*uint64 // a ring
	room   [maxLate]int
	late   []int // numbers of those whose search continues after their group
	q      query
	w      wanted
}

// searchNumbers looks up the keys of a batch that are numbers. Where they are, all memory is in one
// piece, and Direct is called for whole batches.
func searchNumbers[K uint32 | uint64, S any](b *batch) {
	n := b.len()
	d := numberBlocks[K, S]{batch: b, n: n, q: query{t: b.r.t}, w: wanted{found: b.found}}
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

// key is key number i.
func (d *numberBlocks[K, S]) key(i int) K { return keyAt[K](d.joined[i*int(unsafe.Sizeof(K(0))):]) }

// ask asks for the groups of a block.
func (d *numberBlocks[K, S]) ask(from int) {
	n, groups := &d.r.t.numbers, d.block(from)
	for i := range groups {
		groups[i] = (*uint64)(unsafe.Pointer(groupOf[S](n, mix(uint64(d.key(from+i))))))
	}
	memory.Prefetch(groups, slotLines)
}

// search searches for the keys of a block. Where the search for one continues after its group, the
// memory there is asked for, and others come first.
func (d *numberBlocks[K, S]) search(from int) {
	n := &d.r.t.numbers
	for i, at := range d.block(from) {
		number := from + i
		key := d.key(number)
		slots := (*group[S])(unsafe.Pointer(at))
		slot, over := within(n, slots, mix(uint64(key)), key)
		if slot != nil {
			d.w.number = number
			d.q.match(&d.w, valueIn[K](slot))
		} else if !over {
			after := [...]*uint64{(*uint64)(unsafe.Pointer(&slots[groupSlots-1]))}
			memory.Prefetch(after[:], slotLines)
			d.late = append(d.late, number)
		}
	}
	if len(d.late) > maxLate-numberBlock {
		d.goOn()
	}
}

// goOn ends the searches that continue after their groups.
func (d *numberBlocks[K, S]) goOn() {
	for _, number := range d.late {
		d.w.number, d.w.key = number, d.batch.key(number)
		searchWord[K](&d.q, &d.w, hashKey(d.w.key))
	}
	d.late = d.late[:0]
}

// searchWord searches for a key that is a number K in the slots of an inline table.
func searchWord[K uint32 | uint64](q *query, w *wanted, hash uint64) {
	t, key := q.t, keyAt[K](w.key)
	slot, size, marker := t.slotBytes, int(unsafe.Sizeof(key)), keyAt[K](t.Marker)
	if key == marker {
		return
	}
	rank, rest := place(hash, t.ranks)
	home := homeOf(rest, t.Homes)
	slots := core.BytesOf(t.words(rank))
	near := min(int(home)+nearSlots, t.Slots)
	at, end := int(home)*slot, near*slot
	for {
		there := keyAt[K](slots[at:])
		if there == key {
			if q.match(w, slots[at+size:at+slot:at+slot]); q.enough || t.Unique {
				return
			}
		} else if there == marker {
			return
		} else if _, rest := place(mix(uint64(there)), t.ranks); homeOf(rest, t.Homes) > home {
			return
		}
		if at += slot; at < end {
			continue
		}
		if end != near*slot {
			return // it was guided
		}
		from, bound := t.beyond(rank, int(home), near)
		if at, end = from*slot, bound*slot; at >= end {
			return
		}
	}
}

// keyAt is the key at the beginning of some bytes.
func keyAt[K uint32 | uint64](b []byte) K {
	if unsafe.Sizeof(K(0)) == 4 {
		return K(binary.LittleEndian.Uint32(b))
	}
	return K(binary.LittleEndian.Uint64(b))
}

// numberIn is keyAt of a slot.
func numberIn[K uint32 | uint64, S any](slot *S) K {
	if unsafe.Sizeof(K(0)) == 4 {
		return K(binary.LittleEndian.Uint32((*[4]byte)(unsafe.Pointer(slot))[:]))
	}
	return K(binary.LittleEndian.Uint64((*[8]byte)(unsafe.Pointer(slot))[:]))
}

// valueIn is the value in a slot.
func valueIn[K uint32 | uint64, S any](slot *S) []byte {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(slot)), unsafe.Sizeof(*slot))
	return bytes[unsafe.Sizeof(K(0)):]
}
