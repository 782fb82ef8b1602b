package bench

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/farhash/farhash/cache"
)

const (
	zipfSkew = 0.99 // MD 5.2

	golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio
)

// keyLaw draws keys, which are numbered from 0.
type keyLaw struct {
	keys int
	sums []float64 // of the weights of keys 0 to i; nil: all weigh the same
}

func newKeyLaw(of CacheKeys, keys int) *keyLaw {
	law := &keyLaw{keys: keys}
	if of == ZipfKeys {
		law.sums = make([]float64, keys)
		sum := 0.0
		for i := range law.sums {
			sum += math.Pow(float64(i+1), -zipfSkew)
			law.sums[i] = sum
		}
	}
	return law
}

func (l *keyLaw) draw(rng *rand.Rand) uint64 {
	if l.sums == nil {
		return rng.Uint64N(uint64(l.keys))
	}
	i, _ := slices.BinarySearch(l.sums, rng.Float64()*l.sums[l.keys-1])
	return uint64(min(i, l.keys-1))
}

// fillBytes writes what derives from seed. Its first 8 bytes are others for each seed.
func fillBytes(dst []byte, seed uint64) {
	for ; len(dst) >= 8; dst = dst[8:] {
		seed += golden
		binary.LittleEndian.PutUint64(dst, mix64(seed))
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], mix64(seed+golden))
	copy(dst, last[:])
}

// fillKey writes key number number.
func fillKey(key []byte, number uint64) { fillBytes(key, number) }

// fillValue writes a value for a key: a stamp that tells who wrote it when, and bytes that
// derive from the key and the stamp, so that neither parts of two values nor a value of
// another key pass for one of this.
func fillValue(value []byte, number, stamp uint64) {
	var whole [8]byte
	binary.LittleEndian.PutUint64(whole[:], stamp)
	n := copy(value, whole[:stampBytes(value)])
	fillRest(value[n:], number, whole[:n])
}

// stampBytes is how much of a value is its stamp.
func stampBytes(value []byte) int { return min(8, len(value)/2) }

func fillRest(rest []byte, number uint64, stamp []byte) {
	var whole [8]byte
	copy(whole[:], stamp)
	fillBytes(rest, mix64(number+1)^mix64(binary.LittleEndian.Uint64(whole[:])+golden))
}

// rightValue tells whether value is one that was written for a key. scratch is as long.
func rightValue(value []byte, number uint64, scratch []byte) bool {
	n := stampBytes(value)
	fillRest(scratch[n:len(value)], number, value[:n])
	return bytes.Equal(value[n:], scratch[n:len(value)])
}

// cacheStream generates the operations of one rank for one workload.
type cacheStream struct {
	law   *keyLaw
	rng   *rand.Rand
	reads uint64 // still to come
	puts  uint64 // still to come
	stamp *uint64
}

// newCacheStream begins a workload. Reads ask for the same keys as the writes before. Stamps
// go on from workload to workload.
func newCacheStream(law *keyLaw, of CacheWorkload, rank, operations int,
	stamp *uint64) *cacheStream {
	s := &cacheStream{law: law, stamp: stamp}
	seed := uint64(1)
	switch n := uint64(operations); of {
	case CacheWrite:
		s.puts = n
	case CacheRead:
		s.reads = n
	case CacheMixed:
		seed = 2
		s.puts = (n + 19) / 20
		s.reads = n - s.puts
	}
	s.rng = rand.New(rand.NewPCG(seed, uint64(rank)))
	return s
}

// one is the next operation. The chance of a put is its share of what is left, so that the
// numbers come out exactly.
func (s *cacheStream) one() (number uint64, put bool) {
	if s.reads == 0 || s.puts > 0 && s.rng.Uint64N(s.reads+s.puts) < s.puts {
		s.puts--
		put = true
	} else {
		s.reads--
	}
	return s.law.draw(s.rng), put
}

// cachePiece is operations that are generated before they are timed, and their answers.
type cachePiece struct {
	keyBytes, valueBytes int
	batch                int

	n       int
	numbers []uint64 // of keys
	puts    []bool
	keys    []byte
	values  []byte // to be put, and what was read
	found   []bool
	results []cache.Result
	scratch []byte
}

// newCachePiece makes room for whole batches of the largest size.
func newCachePiece(cfg *CacheConfig) *cachePiece {
	batch := slices.Max(cfg.Batches)
	room := max(batch, min(cfg.Operations, pieceBytes/(cfg.KeyBytes+cfg.ValueBytes)))
	room = room / batch * batch
	return &cachePiece{keyBytes: cfg.KeyBytes, valueBytes: cfg.ValueBytes,
		numbers: make([]uint64, room), puts: make([]bool, room),
		keys: make([]byte, room*cfg.KeyBytes), values: make([]byte, room*cfg.ValueBytes),
		found: make([]bool, room), results: make([]cache.Result, room),
		scratch: make([]byte, cfg.ValueBytes)}
}

// fill generates up to as many operations as there is room for, in batches of one size.
// In each batch reads stand before puts.
func (p *cachePiece) fill(s *cacheStream, batch int) {
	p.batch = batch
	p.n = int(min(uint64(len(p.puts)/batch*batch), s.reads+s.puts))
	for begin := 0; begin < p.n; begin += batch {
		front, back := begin, min(begin+batch, p.n)
		for front < back {
			number, put := s.one()
			at := front
			if put {
				back--
				at = back
			} else {
				front++
			}
			p.numbers[at], p.puts[at], p.found[at] = number, put, false
			fillKey(p.key(at), number)
			if put {
				*s.stamp++
				fillValue(p.value(at), number, *s.stamp)
			}
		}
	}
}

func (p *cachePiece) key(i int) []byte   { return p.keys[i*p.keyBytes : (i+1)*p.keyBytes] }
func (p *cachePiece) value(i int) []byte { return p.values[i*p.valueBytes : (i+1)*p.valueBytes] }

// run does the operations from begin to end.
func (p *cachePiece) run(c *cache.Cache, begin, end int) (err error) {
	if p.batch > 1 {
		for ; begin < end && err == nil; begin += p.batch {
			err = p.runBatch(c, begin, min(begin+p.batch, end))
		}
		return err
	}
	for i := begin; i < end && err == nil; i++ {
		if p.puts[i] {
			_, err = c.Put(p.key(i), p.value(i))
		} else {
			p.found[i], err = c.Get(p.key(i), p.value(i))
		}
	}
	return err
}

func (p *cachePiece) runBatch(c *cache.Cache, begin, end int) error {
	puts := begin
	for puts < end && !p.puts[puts] {
		puts++
	}
	k, v := p.keyBytes, p.valueBytes
	if begin < puts {
		err := c.GetBatch(p.keys[begin*k:puts*k], p.values[begin*v:puts*v], p.found[begin:puts])
		if err != nil {
			return err
		}
	}
	if puts == end {
		return nil
	}
	return c.PutBatch(p.keys[puts*k:end*k], p.values[puts*v:end*v], p.results[puts:end])
}

// wrong counts values that were read and are none that was written for their key.
func (p *cachePiece) wrong() (n uint64) {
	for i, found := range p.found[:p.n] {
		if found && !rightValue(p.value(i), p.numbers[i], p.scratch) {
			n++
		}
	}
	return n
}
