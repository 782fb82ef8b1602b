package kv

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
)

// The word of a slot with a key:
//
//	| 1 | frozen | removed | class (5) | fingerprint (9) | use (15) | item (32) |
//	 63   62       61        60     56   55           47   46    32   31       0
//
// While it is frozen it has, in place of the fingerprint, the generation that it moves from.
//
// The use makes the words of an item differ, so that a late compare-and-swap fails. DESIGN.md has
// what can happen when a word comes again, after 2^15 uses, and how rarely that is.
const (
	occupied = 1 << 63
	frozen   = 1 << 62
	removed  = 1 << 61

	classAt       = 56
	classes       = 32
	fingerprintAt = 47
	useAt         = 32
	useMask       = 1<<15 - 1
	itemMask      = 1<<32 - 1

	fingerprintMask = 511
	// matchMask is the bits that are equal in all words of a key, whatever its item.
	matchMask = occupied | fingerprintMask<<fingerprintAt
)

// matchWord is the bits under matchMask of the word of a key with this hash.
func matchWord(hash uint64) uint64 { return occupied | hash&fingerprintMask<<fingerprintAt }

// mayMatch reports whether a word may be of a key with this hash. A frozen one has no
// fingerprint, and so may be of any key.
func mayMatch(word, hash uint64) bool {
	return word&matchMask == matchWord(hash) || word&(occupied|frozen) == occupied|frozen
}

// freeze is a frozen word: only movers from generation gen may change it.
func freeze(word, gen uint64) uint64 {
	return word&^(fingerprintMask<<fingerprintAt) | frozen | gen&fingerprintMask<<fingerprintAt
}

// thaw is the word of a key with this hash before it was frozen.
func thaw(word, hash uint64) uint64 {
	if word&frozen == 0 {
		return word
	}
	return word&^(frozen|fingerprintMask<<fingerprintAt) | hash&fingerprintMask<<fingerprintAt
}

// compareFrozen compares the generation that a frozen word moves from with gen: it is -1 for an
// earlier one, 0 for gen, and 1 for a later one. They differ by less than 256.
func compareFrozen(word, gen uint64) int {
	switch d := (word>>fingerprintAt - gen) & fingerprintMask; {
	case d == 0:
		return 0
	case d < (fingerprintMask+1)/2:
		return 1
	}
	return -1
}

// The word of a slot without a key:
//
//	| 0 | generation (54) | was empty | shape of the next (8) |
//	 63   62           9    8           7                   0
//
// It has moved from that generation, and from all before it, and is empty for later ones. The bit
// is set if the slot was empty when it moved.
const (
	movedAt   = 9
	wasEmpty  = 1 << 8
	shapeMask = 255
)

// movedWord is the word of a slot that has moved from a table into the next one.
func movedWord(gen uint64, next shape) uint64 { return gen<<movedAt | uint64(next) }

// movedFrom is the generation that a slot without a key has moved from last, 0 for none.
func movedFrom(word uint64) uint64 { return word >> movedAt }

// newWord refers to an item.
func newWord(hash uint64, class int, it item) uint64 {
	return matchWord(hash) | uint64(class)<<classAt | it.use<<useAt | it.number
}

// identity is a word, not frozen, without the bit that may change while it refers to the same
// item.
func identity(word uint64) uint64 { return word &^ removed }

func classOf(word uint64) int { return int(word >> classAt & (classes - 1)) }

// itemOf is the item that a word refers to.
func itemOf(word uint64) item { return item{word & itemMask, word >> useAt & useMask} }

// An item: | mark | seal | key, whole words | value, whole words |. The last bits of the seal are
// the sizes. A long key or item does not fit them: then these bits are 0, and the next word has the
// sizes of key and value.
//
//	| seal (50) | size of the key (8) | bytes of the item after the value (6) |
//	 63      14   13                6   5                                    0
const (
	markWord = 0
	sealWord = 1
	sizeWord = 2 // of a long one

	shortHead = 2 // words before the key
	longHead  = 3

	sizesBits    = 14
	keyAt        = 6
	maxShortKey  = 255
	maxRest      = 63
	maxShortItem = shortClasses * unitWords

	unitWords = 8 // the smallest item
	lineSlots = 8 // of a cache line, without copies
)

// shortClasses is how many classes differ by one unit. After them come 1.5 and 2 times the largest
// of these, then twice as much as both, and so on.
const shortClasses = 16

// lengths has, for each class, how many words its items have.
var lengths = func() (words [classes]uint32) {
	for class := range words {
		words[class] = uint32(class+1) * unitWords
		if more := class - shortClasses; more >= 0 {
			words[class] = uint32(3+more%2) << (more / 2) * (maxShortItem / 2)
		}
	}
	return words
}()

// classWords is how many words the items of a class have.
func classWords(class int) int { return int(lengths[class&(classes-1)]) }

// classUnits is how many units the items of a class have.
func classUnits(class int) uint64 { return uint64(lengths[class&(classes-1)] / unitWords) }

// classFor is the smallest class whose items hold that many words.
func classFor(words int) int {
	if words <= maxShortItem {
		return (words - 1) / unitWords
	}
	doubled := bits.Len(uint(words-1)) - bits.Len(uint(maxShortItem))
	half := (words - 1) >> doubled / (maxShortItem / 2) % 2
	return shortClasses + 2*doubled + half
}

// headWords is how many words are before the key.
func headWords(keySize, valueSize int) int {
	n := shortHead + core.WordsOf(keySize) + core.WordsOf(valueSize)
	if keySize > maxShortKey || n > maxShortItem {
		return longHead
	}
	return shortHead
}

// itemWords is how many words an item with such a key and value needs.
func itemWords(keySize, valueSize int) int {
	return headWords(keySize, valueSize) + core.WordsOf(keySize) + core.WordsOf(valueSize)
}

// pack stores bytes in whole words, padded with zeros, and returns how many.
func pack(words []uint64, b []byte) int {
	n := core.WordsOf(len(b))
	if n > 0 {
		words[n-1] = 0
	}
	copy(core.BytesOf(words[:n]), b)
	return n
}

// hashOf is the hash of a key. xxh3 takes longer for so few bytes.
func hashOf(key []byte) uint64 {
	if n := uint64(len(key)); n <= 8 {
		high, low := bits.Mul64(core.LastWord(key)^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
		high, low = bits.Mul64(high^low, n^0x589965cc75374cc3)
		return high ^ low
	}
	return xxh3.Hash(key)
}

// seal is the word that verifies an item of n words: a hash of the words after it, of the sizes and
// of the word of the slot, and then the sizes.
func seal(word uint64, it []uint64, n int, sizes uint64) uint64 {
	hash := xxh3.HashSeed(core.BytesOf(it[sealWord+1:n]), identity(word)^sizes)
	return hash>>sizesBits<<sizesBits | sizes
}

// writeItem writes the item to which a word refers. The slice has all words of its class, and
// writeItem returns how many of them the key and value need.
func writeItem(it []uint64, word uint64, key, value []byte) int {
	n, sizes := headWords(len(key), len(value)), uint64(0)
	it[markWord] = 0
	if n == longHead {
		it[sizeWord] = uint64(len(key)) | uint64(len(value))<<32
	} else {
		rest := 8*(len(it)-n-core.WordsOf(len(key))) - len(value)
		sizes = uint64(len(key)<<keyAt | rest)
	}
	n += pack(it[n:], key)
	n += pack(it[n:], value)
	it[sealWord] = seal(word, it, n, sizes)
	return n
}

// sizesOf reads the sizes of key and value, and how many words are before the key. sealed is the
// word with the seal, and the slice has all words of the class. ok is false if an item of this
// class cannot have such sizes: another rank was writing it, or it is damaged.
func sizesOf(sealed uint64, it []uint64) (keySize, valueSize, head int, ok bool) {
	if keySize = int(sealed >> keyAt & maxShortKey); keySize > 0 {
		valueSize = 8*(len(it)-shortHead-core.WordsOf(keySize)) - int(sealed&maxRest)
		return keySize, valueSize, shortHead, valueSize >= 0 && len(it) <= maxShortItem
	}
	sizes := atomic.LoadUint64(&it[sizeWord])
	k, v := sizes&0xffffffff, sizes>>32
	if k > MaxSize || v > MaxSize || headWords(int(k), int(v)) != longHead ||
		itemWords(int(k), int(v)) > len(it) {
		return 0, 0, 0, false
	}
	return int(k), int(v), longHead, true
}

// loadItem reads an item as far as the call needs it. same reports whether it has the key of the
// call; then value is the value of the call, to which a Get appends the value of the item, which
// is old for an Add. They hold if whole is true, and if the slot has not changed.
func loadItem(c *Call, it []uint64) (value []byte, old counter, same, whole bool) {
	sealed := atomic.LoadUint64(&it[sealWord])
	keySize, valueSize, head, ok := sizesOf(sealed, it)
	if !ok {
		return nil, counter{}, false, false
	}
	// mark: a direct call has begun to read an item
	value = c.Value
	switch same = hasKey(it[head:], keySize, c.Key); {
	case same && c.Kind == Get:
		at := len(value)
		value = slices.Grow(value, valueSize)[:at+valueSize]
		loadBytes(value[at:], it[head+core.WordsOf(keySize):])
	case same && c.Kind == Add:
		var number [counterSize]byte
		if old.size = valueSize; valueSize == counterSize {
			loadBytes(number[:], it[head+core.WordsOf(keySize):])
			old = counterOf(number[:])
		}
	}
	return value, old, same, atomic.LoadUint64(&it[sealWord]) == sealed
}

// loadsInOrder says that the processor loads in the order of the program, and that no race detector
// is watching.
const loadsInOrder = runtime.GOARCH == "amd64" && !memory.RaceEnabled

// loadBytes fills to with words that others may write at the same time. It may be any mixture of
// old and new words. What is loaded atomically after it is loaded later.
func loadBytes(to []byte, words []uint64) {
	if loadsInOrder {
		copy(to, core.BytesOf(words))
		return
	}
	for i := 0; len(to) > 0; i++ {
		word := [1]uint64{atomic.LoadUint64(&words[i])}
		to = to[copy(to, core.BytesOf(word[:])):]
	}
}

// hasKey reports whether the key of an item is this one. The item says that its key has keySize
// bytes, and the words begin with that key. Others may write them at the same time.
func hasKey(it []uint64, keySize int, key []byte) bool {
	if keySize != len(key) {
		return false
	}
	for ; len(key) >= 8 && len(it) > 0; it, key = it[1:], key[8:] {
		if atomic.LoadUint64(&it[0]) != binary.NativeEndian.Uint64(key) {
			return false
		}
	}
	return len(key) == 0 || len(it) > 0 && atomic.LoadUint64(&it[0]) == core.LastWord(key)
}

// A copy of a small pair follows the word of its slot: | seal | pair (16 bytes) |. The last ten
// bits of the seal are the lengths of key and value.
const (
	copyWords = 3
	copySize  = 16
)

// copied reports whether a slot has a copy of a pair.
func (c *Config) copied(key, value []byte) bool {
	return c.Copies && len(key)+len(value) <= copySize
}

// sealCopy is the seal of a copy.
func sealCopy(word uint64, pair []uint64, keySize, valueSize int) uint64 {
	lengths := uint64(keySize)<<5 | uint64(valueSize)
	return xxh3.HashSeed(core.BytesOf(pair), identity(word)^lengths)&^1023 | lengths
}

// readCopy is the pair of a slot's copy, ok false if slots have none or it does not fit the word.
// The hash is of the key that is searched for.
func readCopy(slot []uint64, hash uint64) (key, value []byte, ok bool) {
	if len(slot) == 1 {
		return nil, nil, false
	}
	lengths := int(slot[1] & 1023)
	k, v := lengths>>5, lengths&31
	if k+v > copySize || k == 0 || sealCopy(thaw(slot[0], hash), slot[2:4], k, v) != slot[1] {
		// mark: the copy in a slot is not that of its word
		return nil, nil, false
	}
	pair := core.BytesOf(slot[2:4])
	return pair[:k], pair[k : k+v], true
}

// writeCopy fills the copy of a pair, which fits, for the word of its slot.
func writeCopy(c []uint64, word uint64, key, value []byte) {
	clear(c)
	pair := core.BytesOf(c[1:])
	copy(pair[copy(pair, key):], value)
	c[0] = sealCopy(word, c[1:], len(key), len(value))
}

// verify checks the seal of an item as read with the word of its slot. It returns the word, not
// frozen, and the key and value in the item. ok is false if it is not the item of this word.
func verify(word uint64, it []uint64) (thawed uint64, key, value []byte, ok bool) {
	sealed := it[sealWord]
	keySize, valueSize, head, ok := sizesOf(sealed, it)
	if !ok {
		return 0, nil, nil, false
	}
	key = core.BytesOf(it[head:])[:keySize]
	value = core.BytesOf(it[head+core.WordsOf(keySize):])[:valueSize]
	if word&frozen != 0 {
		word = thaw(word, hashOf(key))
	}
	sizes := sealed & (1<<sizesBits - 1)
	return word, key, value, seal(word, it, itemWords(keySize, valueSize), sizes) == sealed
}

// shape is how large a table is, and where:
//
//	| area (2) | size (6) |
//	 7        6 5        0
//
// The size is how often the slots of New were doubled, up to the maximum.
type shape uint8

const maxSize = 63

func newShape(size, area uint64) shape { return shape(area<<6 | size) }

func (s shape) size() uint64 { return uint64(s & maxSize) }
func (s shape) area() uint64 { return uint64(s >> 6) }

// table is a generation of slots. They are numbered over all ranks: rank r has r*perRank to
// (r+1)*perRank-1.
type table struct {
	gen     uint64 // 1 is the first
	shape   shape
	perRank uint64 // slots of a rank
	offset  uint64 // of its first slot in the window, in slots
	slots   uint64 // slots of all ranks
	homes   uint64 // cache lines that these fill
	stride  uint64 // words of a slot
	perLine uint64 // slots of a cache line
	parts   uint64 // of a rank, that move one by one

	// lines is the memory of all ranks from this table on, if a get may work on it: it is in one
	// piece, without copies.
	lines [][lineSlots]uint64
}

// table is a generation whose shape is given.
func (m *Map) table(gen uint64, s shape) *table {
	t := &table{gen: gen, shape: s, perRank: m.cfg.Slots / m.ranks,
		stride: uint64(m.stride), perLine: lineSlots / uint64(m.stride),
		offset: s.area() % m.areas * (m.cfg.MaxSlots / m.ranks)}
	for range s.size() {
		t.perRank = min(2*t.perRank, m.cfg.MaxSlots/m.ranks)
	}
	if m.batches.Whole != nil && m.stride == 1 {
		words := m.batches.Whole.Words[t.offset:]
		t.lines = unsafe.Slice((*[lineSlots]uint64)(unsafe.Pointer(&words[0])),
			len(words)/lineSlots)
	}
	t.slots = t.perRank * m.ranks
	t.homes = t.slots / t.perLine
	t.parts = (t.perRank + m.partLen() - 1) / m.partLen()
	return t
}

// pieces is in how many pieces a chunk may be that crosses into the memory of other ranks.
func (t *table) pieces(chunk int) int {
	return (laterChunkFactor*chunk-1)/int(min(t.perRank, maxBytes)) + 2
}

// slotAt is the slot at a distance from the home of a hash. Homes are cache lines of 8 words.
func (t *table) slotAt(hash, distance uint64) uint64 {
	line, _ := bits.Mul64(hash, t.homes)
	slot := line*t.perLine + distance
	if slot >= t.slots { // a division takes long
		slot %= t.slots
	}
	return slot
}

// place is the rank and offset of a slot, and how many slots follow it there, itself included.
func (t *table) place(slot uint64) (rank, off, rest int) {
	if slot >= t.perRank {
		rank, slot = int(slot/t.perRank), slot%t.perRank
	}
	return rank, int((t.offset + slot) * t.stride), int(t.perRank - slot)
}

// locateItem is the rank, offset and words of the item that a word refers to; 0 words if there is
// no such item.
func (m *Map) locateItem(word uint64) (rank, off, words int) {
	rank, off = m.arena.locate(itemOf(word).number)
	if rank >= int(m.ranks) || classOf(word) > m.cfg.largest() {
		return 0, 0, 0
	}
	return rank, off, classWords(classOf(word))
}

// A state is the state of the map, in the first word of the window of control on rank 0:
//
//	| moving | generation - 1 (47) | shape of another (8) | shape (8) |
//	 63       62                 16 15                  8  7       0
//
// While the moving bit is set, slots move to the next generation, which is the other table; else
// that is the one before. The state is 0 at first.
//
// Of a map that processes share, the next lines are counts of its arena. Then come the holds of
// each process of this rank (areas.go).
type state uint64

// holdsAt is where the holds are in the window of control.
const holdsAt = 3 * lineSlots

const stateMoving state = 1 << 63

func (s state) gen() uint64  { return uint64(s&^stateMoving)>>16 + 1 }
func (s state) shape() shape { return shape(s) }
func (s state) other() shape { return shape(s >> 8) }
func (s state) moving() bool { return s&stateMoving != 0 }

// tables are the table of a state, and the one that it moves to if it is moving.
func (m *Map) tables(s state) (from, into *table) {
	return m.table(s.gen(), s.shape()), m.table(s.gen()+1, s.other())
}

// begun is the state of a table that moves to the next generation.
func (s state) begun(next shape) state {
	return s&^(shapeMask<<8) | stateMoving | state(next)<<8
}

// state is a state of the map while this is its table, and does not move.
func (t *table) state() state { return state((t.gen-1)<<16 | uint64(t.shape)) }

// ended is the state when all slots have moved.
func (s state) ended() state {
	return state(s.gen()<<16 | uint64(s.shape())<<8 | uint64(s.other()))
}

// learn takes the table of a state as the latest one, unless this rank knows a later one.
func (m *Map) learn(s state) {
	for {
		old := m.latest.Load()
		if old.gen >= s.gen() {
			return
		}
		if t := m.table(s.gen(), s.shape()); m.latest.CompareAndSwap(old, t) {
			return
		}
	}
}

// state reads the state, and learns its table.
func (m *Map) state(ctx context.Context) (state, error) {
	word, err := m.states.Load(ctx, 0, 0)
	if err != nil {
		return 0, fmt.Errorf("kv: %w", err)
	}
	s := state(word)
	if s.shape().area() >= m.areas || s.moving() && (s.other().area() >= m.areas ||
		s.other().area() == s.shape().area()) {
		return 0, fmt.Errorf("kv: the state of the map is damaged: %#x", word)
	}
	m.learn(s)
	return s, nil
}
