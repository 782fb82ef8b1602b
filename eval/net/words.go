package net

import (
	"math/bits"

	"github.com/farhash/farhash/eval/internal/measure"
)

// words generates the words of one client: 63 random bits each, of its targets only. No
// two clients have the same.
type words struct {
	client, clients uint64
	targets         []bool // by rank
	next            uint64 // of the sequence
	known           []uint64
	state           uint64 // of the random numbers
}

func newWords(r *run) *words {
	rank := uint64(r.job.Rank())
	s := &words{client: rank, clients: uint64(r.clients), state: rank,
		targets: make([]bool, r.job.Size())}
	for _, target := range r.targets {
		s.targets[target] = true
	}
	return s
}

// ownerOf is the rank in whose memory a set of so many ranks begins the search for a word, except
// for a few at the edges.
func ownerOf(word uint64, ranks int) int {
	rank, _ := bits.Mul64(measure.Spread(word), uint64(ranks))
	return int(rank)
}

// fresh is a word that was not there before.
func (s *words) fresh() uint64 {
	for {
		word := measure.Mix63(s.next*s.clients + s.client + 1)
		s.next++
		if s.targets[ownerOf(word, len(s.targets))] {
			s.known = append(s.known, word)
			return word
		}
	}
}

func (s *words) below(n int) int {
	s.state += 0x9E3779B97F4A7C15
	hi, _ := bits.Mul64(measure.Mix64(s.state), uint64(n))
	return int(hi)
}

// fill fills a batch in random order: so many words are new, and the others were there before
// the batch.
func (s *words) fill(batch []uint64, fresh int) {
	there := len(s.known)
	for i := range batch {
		if left := len(batch) - i; there == 0 || s.below(left) < fresh {
			batch[i] = s.fresh()
			fresh--
		} else {
			batch[i] = s.known[s.below(there)]
		}
	}
}

// batches are the words of a client, as batches.
type batches struct {
	words *words
	batch int
	share float64 // of words that are new
	all   []uint64
	fresh []int // in each batch
}

func newBatches(r *run) *batches {
	b := &batches{words: newWords(r), batch: r.of.batch, share: r.share}
	if b.batch == 1 {
		b.share = 0
	}
	return b
}

// warm has n words that are all new.
func (b *batches) warm(n int) []uint64 {
	words := make([]uint64, n)
	b.words.fill(words, n)
	return words
}

// ready generates n words.
func (b *batches) ready(n int) {
	b.all, b.fresh = make([]uint64, n), b.fresh[:0]
	done := 0.0 // of new words
	for from := 0; from < n; from += b.batch {
		batch := b.all[from:min(from+b.batch, n)]
		fresh := int(b.share*float64(from+len(batch)) - done)
		done += float64(fresh)
		b.words.fill(batch, fresh)
		b.fresh = append(b.fresh, fresh)
	}
}
