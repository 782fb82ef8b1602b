package nessie

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/rma"
)

// A word of the index: | 1 | use (31) | item (32) |. An empty slot is 0, or what was there
// before without the first bit.
const (
	occupied = 1 << 63
	useAt    = 32
	useMask  = 1<<31 - 1
	itemMask = 1<<32 - 1
)

// item is a place for a key and value, and how often it has been used.
type item struct {
	number uint64 // over all ranks
	use    uint64
}

// again is the item for its next use.
func (it item) again() item {
	it.use = (it.use + 1) & useMask
	return it
}

func (it item) word() uint64 { return occupied | it.use<<useAt | it.number }

func itemOf(word uint64) item { return item{word & itemMask, word >> useAt & useMask} }

func empty(word uint64) bool { return word&occupied == 0 }

// An item: | mark | flag | seal | sizes of key and value (32 each) | key and value |.
const (
	markWord  = 0
	flagWord  = 1
	sealWord  = 2
	bodyWord  = 3
	bodyBytes = 8 // of the body, before the key
)

// itemWords is how many words items for such keys and values have.
func itemWords(maxKey, maxValue int) int {
	return bodyWord + (bodyBytes+maxKey+maxValue+7)/8
}

// fill writes an item for the use that word names, flag off, and returns its length in words.
// body is room for what it says, in bytes.
func fill(it rma.Buf, body *[]byte, word uint64, key, value []byte) int {
	b := binary.LittleEndian.AppendUint64((*body)[:0], uint64(len(key))|uint64(len(value))<<32)
	b = append(append(b, key...), value...)
	*body = b
	it[markWord], it[flagWord], it[sealWord] = 0, 0, xxh3.HashSeed(b, word)
	n := bodyWord
	for ; len(b) > 0; b = b[min(8, len(b)):] {
		var part [8]byte
		copy(part[:], b)
		it[n] = binary.LittleEndian.Uint64(part[:])
		n++
	}
	return n
}

// content is what an item says.
type content struct {
	key, value []byte
	whole      bool // the hash is right: these are the key and value of the use that was read
	valid      bool // the flag is on
	body       []byte
}

// read takes an item as it came. The key and value hold until the next read.
func (c *content) read(it rma.Buf, word uint64) {
	b := c.body[:0]
	for _, w := range it[bodyWord:] {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	c.body, c.key, c.value, c.whole, c.valid = b, nil, nil, false, false
	k, v := it[bodyWord]&0xffffffff, it[bodyWord]>>32
	if room := uint64(len(b) - bodyBytes); k > room || v > room-k {
		return
	}
	end := bodyBytes + k + v
	c.key, c.value = b[bodyBytes:bodyBytes+k], b[bodyBytes+k:end]
	seal := xxh3.HashSeed(b[:end], word)
	c.whole = seal == it[sealWord]
	c.valid = c.whole && it[flagWord] == seal
}

// slotsOf are the primary and the secondary slot of a key, which differ.
func (t *Table) slotsOf(key []byte) (p, s uint64) {
	h := xxh3.Hash128(key)
	p, _ = bits.Mul64(h.Hi, t.total)
	first, n := uint64(0), t.total // among which s is
	if t.cfg.Transactions {
		first, n = p-p%t.cfg.SlotsPerRank, t.cfg.SlotsPerRank
	}
	away, _ := bits.Mul64(h.Lo, n-1)
	return p, first + (p-first+1+away)%n
}

// other is the slot that a key may have in place of this one.
func (t *Table) other(key []byte, slot uint64) uint64 {
	p, s := t.slotsOf(key)
	if slot == p {
		return s
	}
	return p
}

// cleared is what a slot has after its word has been taken out. With the use of the item it has
// a version, as the words of items have.
func (t *Table) cleared(word uint64) uint64 {
	if t.cfg.Literal {
		return 0
	}
	return word &^ occupied
}
