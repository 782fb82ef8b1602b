package set

import (
	"context"
	"errors"
	"math/bits"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

const (
	// occupied marks a bucket that holds something. An empty bucket is zero.
	occupied = 1 << 63

	// lineBuckets is the number of buckets in a cache line.
	lineBuckets = 8
)

// table is the array of buckets over all ranks, and the arithmetic of homes and owners. Set
// and Elements share it. Growth replaces it as a whole.
type table struct {
	span          // all buckets, where all are directly addressable
	unit  uint64  // homes are multiples of it, in buckets
	units uint64  // n / unit
	spans []*span // by rank: the span that its segment is in, nil where only queues reach it

	items
	cfg         ElementsConfig // with the defaults filled in, except for Chunk and Capacity
	window      rma.Window
	perRank     uint64 // k, buckets of each rank
	buckets     uint64 // n = k * ranks
	chunk       uint64 // C; with auto the largest, where there are queues
	directChunk uint64 // C as the statistics have it where memory is direct
	auto        *auto  // chooses C, nil if it is given or memory is direct
	kernel      kernel // searches batches
	first       firstLine

	sessions core.Pool[*session]
	batches  core.Batches
	shipped  batch // the request of another rank that is being answered
}

// span is a run of buckets in directly addressable memory: of the whole table, or
// of adjacent ranks of one host.
type span struct {
	flat  []uint64 // the buckets; nil: not all of the table is directly addressable
	first uint64   // the number in the table of the first of them
	whole bool     // they are the whole table, and a search goes on around its end
	limit uint64   // buckets examined before Full: min(C*M, n)
}

// findSpans finds the buckets that are directly addressable.
func (t *table) findSpans() {
	t.spans = make([]*span, t.window.Size())
	for rank := range t.spans {
		r := t.batches.At(rank)
		switch {
		case r == nil:
		case r == t.batches.Whole:
			t.span = span{flat: r.Words, whole: true, limit: t.limit}
			t.spans[rank] = &t.span
		case rank == r.First:
			t.spans[rank] = &span{flat: r.Words, first: uint64(rank) * t.perRank, limit: t.limit}
		default:
			t.spans[rank] = t.spans[r.First]
		}
	}
}

// spanOf is the span that has a bucket, nil where only queues reach it.
func (t *table) spanOf(bucket uint64) *span {
	if t.flat != nil {
		return &t.span
	}
	if t.spans == nil {
		return nil
	}
	return t.spans[bucket/t.perRank]
}

// home is the bucket where the search for a hash begins: the hash scaled to the
// table, so that any number of buckets will do.
func (t *table) home(hash uint64) uint64 {
	unit, _ := bits.Mul64(hash, t.units)
	return unit * t.unit
}

// owner is the rank of the bucket that home gives.
func (t *table) owner(hash uint64) int {
	rank, _ := bits.Mul64(hash, uint64(t.window.Size()))
	return int(rank)
}

// place is the rank and offset of a bucket.
func (t *table) place(bucket uint64) (rank, off int) {
	return int(bucket / t.perRank), int(bucket % t.perRank)
}

// pieces is the number of gets that a chunk may take: one for each segment that has a part
// of it.
func (t *table) pieces() uint64 { return (t.chunk-2)/t.perRank + 2 }

// distance is how far bucket comes after home, around the end of the table.
func (t *table) distance(home, bucket uint64) uint64 {
	return (bucket + t.buckets - home) % t.buckets
}

// items is what a set holds, and keeps when it gets another table. An item is a word, or an
// element as it is in an arena.
type items struct {
	job    rma.Job
	size   int     // bytes of an element; 0: the items are words
	width  int     // words of an item
	mask   uint64  // bits of a bucket that have an item's key
	arenas *arenas // of elements; nil for words
	tally  *tally
}

func (its *items) hash(item []uint64) uint64 {
	if its.arenas == nil {
		return hashWord(item[0])
	}
	return hashElement(item)
}

// key is what a bucket has, in the bits of mask, that may hold an item.
func (its *items) key(item []uint64, hash uint64) uint64 {
	if its.arenas == nil {
		return item[0] | occupied
	}
	return fingerprintKey(hash)
}

// hashWord spreads a 63-bit word over 64 bits. It is a bijection: two odd
// multiplications, each after a shift. A multiplication carries upward only. Without the
// first shift the hashes of words that differ in their high bits alone would form a
// lattice, and some such words would have homes close to each other.
func hashWord(word uint64) uint64 {
	word ^= word >> 32
	word *= hashFactor
	word ^= word >> 32
	return word * hashFactor
}

const hashFactor = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio

// shortWords is the length up to which elements are hashed here: xxh3 takes more than
// twice the time for so few words.
const shortWords = 8

// Digits of pi: constants that are not chosen for a purpose.
const (
	pi0 = 0x243F6A8885A308D3
	pi1 = 0x13198A2E03707344
	pi2 = 0xA4093822299F31D0
	pi3 = 0x082EFA98EC4E6C89
)

// hashElement hashes an element as it is in an arena: whole words, the last one
// filled up with zeros. Short ones are folded together by multiplications of 64 by 64
// bits, as wyhash and xxh3 do.
func hashElement(words []uint64) uint64 {
	if len(words) > shortWords {
		return xxh3.Hash(bytesOf(words))
	}
	hash := uint64(pi0)
	for ; len(words) >= 2; words = words[2:] {
		hash = fold(words[0]^pi1, words[1]^hash)
	}
	if len(words) == 1 {
		hash = fold(words[0]^pi1, hash^pi2)
	}
	return fold(hash^pi2, pi3)
}

// fold is the exclusive or of the two halves of the product of two words.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// fingerprintKey is what a bucket that refers to an element with this hash has
// above its reference: the occupied bit and the low bits of the hash, where home
// takes the high ones.
func fingerprintKey(hash uint64) uint64 { return occupied | hash<<refBits&^occupied }

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// cells are words in a window of their own.
type cells struct {
	*rma.Cells
	window rma.Window
}

// newCells makes so many words on each rank. Collective.
func newCells(ctx context.Context, job rma.Job, name string, words int) (cells, error) {
	w, err := job.NewWindow(ctx, rma.Spec{Name: "set: " + name, Words: words})
	if err != nil {
		return cells{}, err
	}
	c, err := rma.NewCells(job, w)
	if err != nil {
		return cells{}, errors.Join(err, w.Close())
	}
	return cells{c, w}, nil
}

func (c cells) Close() error { return errors.Join(c.Cells.Close(), c.window.Close()) }
