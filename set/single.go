package set

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
)

// One element at a time, in memory that this process addresses: the line of the home is compared at
// once, and then the element with the one in its slot, where it lies. Nothing is copied or
// allocated, and an insertion takes a slot that its lane holds. The search of a batch
// (elementSearch) begins again wherever more is to be done: other memory, long searches, a table
// that moves, a fingerprint that another element has, no slot.

// singleLines is how many lines a single call compares at most. It comes before longSearch.
const singleLines = 4

// oneElement runs one operation on an element.
func (s *anySet) oneElement(element []byte, insert bool) (Ref, Result, error) {
	head, hash := uint64(0), uint64(0)
	switch {
	case s.isStrings():
		if len(element) > MaxStringBytes {
			return 0, 0, StringError(len(element))
		}
		head = headOf(element)
		hash = hashHead(head)
	case len(element) != s.size:
		return 0, 0, lengthError(len(element), 1, s.size)
	default:
		hash = hashBytes(element)
	}
	if s.fault.Job != nil {
		return s.oneElementGuarded(element, head, hash, insert)
	}
	return s.oldest.Load().one(element, head, hash, insert)
}

// oneElementGuarded is oneElement in a set whose file can be cut off.
func (s *anySet) oneElementGuarded(element []byte, head, hash uint64, insert bool) (ref Ref,
	r Result, err error) {
	defer s.fault.Recover(core.CatchFaults(), &err)
	if err := s.fault.Err(); err != nil {
		return 0, 0, err
	}
	return s.oldest.Load().one(element, head, hash, insert)
}

// one runs one operation on an element: in the first lines, or by the search of a batch.
func (t *table) one(element []byte, head, hash uint64, insert bool) (Ref, Result, error) {
	if t.single {
		ref, e := t.oneInLines(element, head, hash, insert)
		if e <= full {
			return ref, Result(e), nil
		}
		if e == lostFirst {
			t.tally.add(&counts{lost: 1})
		}
	}
	room, _ := t.arenas.rooms.Get().(*[]uint64)
	if room == nil {
		room = new([]uint64)
	}
	words := (*room)[:0]
	if t.isStrings() {
		words = append(words, head)
	}
	words = appendWords(words, element)
	ref, r, err := t.searchWords(words, hash, insert)
	*room = words
	t.arenas.rooms.Put(room)
	return ref, r, err
}

// oneInLines searches the first lines from the home on. The end is unfinished, or lostFirst, if
// that is not enough.
func (t *table) oneInLines(element []byte, head, hash uint64, insert bool) (ref Ref, e end) {
	f := elementFlight{key: fingerprintKey(hash), home: t.home(hash)}
	examined := uint64(0)
	for range singleLines {
		if t.kernel != kernelPortable {
			compareOne(t.flat, &f)
		} else {
			t.compareLine(&f)
		}
		if f.bucket != 0 {
			if ref = Ref(f.bucket & refMask); !t.arenas.holds(ref, element, head) {
				return 0, unfinished
			}
			runtime.KeepAlive(t) // the garbage collector ends its memory
			return ref, found
		}
		examined += f.taken
		if f.taken < lineBuckets {
			break
		}
		if f.home += lineBuckets; f.home == uint64(len(t.flat)) {
			f.home = 0
		}
	}
	if f.taken == lineBuckets || examined >= t.limit {
		return 0, unfinished
	}
	e = unfinished
	p := &t.flat[f.home+f.taken] // it was read without the occupied bit, and those before it with
	switch {
	case insert:
		ref, e = t.putFirst(p, f.key, element, head)
	case atomic.LoadUint64(p) == 0:
		e = notFound
	}
	if e == inserted {
		t.tally.count(e, examined+1, 0, t.directChunk)
	}
	runtime.KeepAlive(t)
	return ref, e
}

// putFirst stores an element and claims a bucket for it.
func (t *table) putFirst(p *uint64, key uint64, element []byte, head uint64) (Ref, end) {
	a, words := t.arenas, t.width
	if a.strings {
		words = stringWords(head)
	}
	l := a.lane()
	if l == nil || atomic.LoadUint64(p) != 0 {
		return 0, l.leave(unfinished)
	}
	ref, ok, err := l.next(words)
	if !ok || err != nil {
		return 0, l.leave(unfinished) // whoever searches again says why
	}
	a.store(ref, element, head)
	// mark: a single insertion is about to claim a bucket
	if !atomic.CompareAndSwapUint64(p, 0, key|uint64(ref)) {
		// mark: a single insertion loses its bucket
		l.held.takeBack(ref, words)
		return 0, l.leave(lostFirst)
	}
	return ref, l.leave(inserted)
}

// holds reports whether a slot in addressable memory has an element; of strings, one with this
// head.
func (a *arenas) holds(ref Ref, element []byte, head uint64) bool {
	slot := a.words(ref)
	if a.strings {
		if len(slot) == 0 || slot[0] != head {
			return false
		}
		slot = slot[1:]
	}
	if len(slot)*8 < len(element) {
		return false
	}
	return bytes.Equal(core.BytesOf(slot)[:len(element)], element)
}

// store writes an element to a slot that only the caller has, in addressable memory.
func (a *arenas) store(ref Ref, element []byte, head uint64) {
	slot := a.words(ref)
	if a.strings {
		slot[0], slot = head, slot[1:]
	}
	if len(element)%8 != 0 {
		slot[len(element)/8] = 0
	}
	copy(core.BytesOf(slot[:core.WordsOf(len(element))]), element)
}

// appendWords appends bytes as whole words, the last one filled up with zeros.
func appendWords(dst []uint64, b []byte) []uint64 {
	for ; len(b) >= 8; b = b[8:] {
		dst = append(dst, binary.NativeEndian.Uint64(b))
	}
	if len(b) > 0 {
		dst = append(dst, core.LastWord(b))
	}
	return dst
}

const (
	// lanes is how many single insertions of a rank find a slot without waiting for each other.
	lanes = 16

	// laneSlots is how many free slots a lane holds at most, and laneWords the length of a run of
	// grains.
	laneSlots = 16
	laneWords = 256
)

// lane holds free slots between single insertions, for one goroutine at a time. Whoever finds no
// slot elsewhere takes those of the lanes that nobody is using.
type lane struct {
	mu   sync.Mutex
	held heldSlots
	_    [8]uint64
}

// lane locks one that no other goroutine has locked. It is nil if there is none: a call that ended
// with the file of a set, while it had one locked, leaves it so.
func (a *arenas) lane() *lane {
	first := core.Stripe()
	for i := range uint64(lanes) {
		if l := &a.lanes[(first+i)%lanes]; l.mu.TryLock() {
			l.held.arenas = a
			return l
		}
	}
	return nil
}

// leave unlocks a lane, which may be nil, and returns e.
func (l *lane) leave(e end) end {
	if l != nil {
		l.mu.Unlock()
	}
	return e
}

// next is a free slot for an element of so many words.
func (l *lane) next(words int) (Ref, bool, error) {
	h := &l.held
	if h.begin == h.end {
		h.needed, h.most = laneSlots, laneWords
	}
	return h.next(words)
}

// drain gives the slots of all lanes that are not in use to the free ones, and reports whether
// there were some. a.mu is locked; who has locked a lane may be waiting for it.
func (a *arenas) drain() (some bool) {
	for i := range a.lanes {
		l := &a.lanes[i]
		if !l.mu.TryLock() {
			continue
		}
		h := &l.held
		for _, ref := range h.slots[h.begin:h.end] {
			// mark: slots that a lane holds are needed elsewhere
			a.addFree(ref)
			some = true
		}
		h.begin, h.end = 0, 0
		l.mu.Unlock()
	}
	return some
}

// compareOne is compareFlights of one.
func compareOne(flat []uint64, f *elementFlight) { compareFlights(flat, unsafe.Slice(f, 1)) }
