package rmatest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/farhash/farhash/rma"
)

const (
	blockWords   = 8
	randomBlocks = 12 // of each segment; block b belongs to rank b modulo the ranks
	randomSeeds  = 10
	randomRounds = 60
)

// stream is a rank's random operations on the blocks that are its own, in all
// segments, and a plain model of what they do.
type stream struct {
	r     *rank
	rng   *rand.Rand
	model [][]uint64 // by rank; of blocks of others it knows nothing
	bufs  rma.Buf    // blockWords for each operation in flight
}

// sent is an operation in flight and what it must bring.
type sent struct {
	text   string
	h      rma.Handle
	value  uint64
	got    rma.Buf
	expect []uint64
}

// randomOperations compares streams of operations with their models.
func randomOperations(r *rank) error {
	model := make([][]uint64, r.size)
	for target := range model {
		model[target] = make([]uint64, r.w.Len())
	}
	bufs, err := r.q.Alloc(queueDepth * blockWords)
	if err != nil {
		return err
	}
	for seed := range uint64(randomSeeds) {
		s := &stream{r, rand.New(rand.NewPCG(seed, uint64(r.me))), model, bufs}
		for round := range randomRounds {
			if err := s.round(); err != nil {
				return fmt.Errorf("seed %d, round %d: %w", seed, round, err)
			}
		}
		if err := r.barrier(); err != nil {
			return err
		}
		if err := s.compare(); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// round posts operations in one batch or more and takes their results in any order.
func (s *stream) round() error {
	ops := make([]sent, 1+s.rng.IntN(queueDepth))
	for i := range ops {
		ops[i] = s.post(s.bufs[i*blockWords : (i+1)*blockWords])
		if s.rng.IntN(8) == 0 {
			if err := s.r.q.Submit(); err != nil {
				return err
			}
		}
	}
	s.rng.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	for _, op := range ops {
		value, err := s.r.finish(op.h)
		if err != nil {
			return err
		}
		if value != op.value || !slices.Equal(op.got, op.expect) {
			return fmt.Errorf("%s brought %d and %v, want %d and %v",
				op.text, value, op.got, op.value, op.expect)
		}
	}
	return nil
}

// post posts a random operation and does it to the model.
func (s *stream) post(buf rma.Buf) sent {
	r, target := s.r, s.rng.IntN(s.r.size)
	own := (randomBlocks - r.me + r.size - 1) / r.size
	off := (r.me+s.rng.IntN(own)*r.size)*blockWords + s.rng.IntN(blockWords)
	words := 1 + s.rng.IntN(blockWords-off%blockWords)
	there := s.model[target][off : off+words]
	word := &there[0]
	at := fmt.Sprintf("at %d of rank %d", off, target)
	small := func() uint64 { return s.rng.Uint64N(3) }
	switch s.rng.IntN(4) {
	case 0:
		return sent{text: "Get " + at, h: r.q.Get(buf[:words], r.w, target, off),
			got: buf[:words], expect: slices.Clone(there)}
	case 1:
		for i := range words {
			buf[i] = small()
		}
		copy(there, buf)
		return sent{text: "Put " + at, h: r.q.Put(buf[:words], r.w, target, off)}
	case 2:
		op := sent{text: "FetchAdd " + at, value: *word}
		delta := small() - 1
		op.h = r.q.FetchAdd(r.w, target, off, delta)
		*word += delta
		return op
	}
	op := sent{text: "CompareAndSwap " + at, value: *word}
	old, newWord := small(), small()
	op.h = r.q.CompareAndSwap(r.w, target, off, old, newWord)
	if *word == old {
		*word = newWord
	}
	return op
}

// compare reads all blocks of this rank.
func (s *stream) compare() error {
	for target := range s.r.size {
		for block := s.r.me; block < randomBlocks; block += s.r.size {
			off := block * blockWords
			want := s.model[target][off : off+blockWords]
			if err := s.r.expect(s.r.w, target, off, want...); err != nil {
				return err
			}
		}
	}
	return nil
}
