package md

import (
	"math/rand/v2"
	"slices"

	"github.com/farhash/farhash/cache"

	"github.com/farhash/farhash/eval/internal/measure"
)

// stream generates the operations of one rank for one workload.
type stream struct {
	law   *measure.Law
	rng   *rand.Rand
	reads uint64 // still to come
	puts  uint64 // still to come
	stamp *uint64
}

// newStream begins a workload of n operations. Reads ask for the same keys as the writes before.
// Stamps continue from workload to workload.
func newStream(law *measure.Law, of workload, seed uint64, rank int, n uint64,
	stamp *uint64) *stream {
	s := &stream{law: law, stamp: stamp}
	seed = 2*seed + 1
	switch of {
	case writes:
		s.puts = n
	case reads:
		s.reads = n
	case mixes:
		seed++
		s.puts = (n + 19) / 20
		s.reads = n - s.puts
	}
	s.rng = rand.New(rand.NewPCG(seed, uint64(rank)))
	return s
}

// one is the next operation. The chance of a put is its share of what is left, so that the
// numbers come out exactly.
func (s *stream) one() (number uint64, put bool) {
	if s.reads == 0 || s.puts > 0 && s.rng.Uint64N(s.reads+s.puts) < s.puts {
		s.puts--
		put = true
	} else {
		s.reads--
	}
	return s.law.Draw(s.rng), put
}

// piece is operations that are generated before they are timed, and their answers.
type piece struct {
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

// newPiece makes room for whole batches of the largest size.
func newPiece(cfg *cacheRunner, valueBytes int) *piece {
	batch := slices.Max(cfg.batches)
	room := max(batch, min(int(cfg.operations), pieceBytes/(cfg.keyBytes+valueBytes)))
	room = room / batch * batch
	return &piece{keyBytes: cfg.keyBytes, valueBytes: valueBytes,
		numbers: make([]uint64, room), puts: make([]bool, room),
		keys: make([]byte, room*cfg.keyBytes), values: make([]byte, room*valueBytes),
		found: make([]bool, room), results: make([]cache.Result, room),
		scratch: make([]byte, valueBytes)}
}

// fill generates up to as many operations as there is room for, in batches of one size.
// In each batch reads stand before puts.
func (p *piece) fill(s *stream, batch int) {
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
			measure.FillKey(p.key(at), number)
			if put {
				*s.stamp++
				measure.FillValue(p.value(at), number, *s.stamp)
			}
		}
	}
}

// one makes one operation the next one.
func (p *piece) one(number uint64, put bool) {
	p.batch, p.n = 1, 1
	p.numbers[0], p.puts[0], p.found[0] = number, put, false
	measure.FillKey(p.key(0), number)
	if put {
		measure.FillValue(p.value(0), number, number)
	}
}

func (p *piece) key(i int) []byte   { return p.keys[i*p.keyBytes : (i+1)*p.keyBytes] }
func (p *piece) value(i int) []byte { return p.values[i*p.valueBytes : (i+1)*p.valueBytes] }

// wrong counts values that were read and are none that was written for their key.
func (p *piece) wrong() (n uint64) {
	for i, found := range p.found[:p.n] {
		if found && !measure.RightValue(p.value(i), p.numbers[i], p.scratch) {
			n++
		}
	}
	return n
}
