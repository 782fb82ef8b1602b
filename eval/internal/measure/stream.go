package measure

import (
	"fmt"
	"math/bits"
)

// Stream generates the words of one rank for one sample: inserts of distinct words
// and finds of words inserted before, in random order and exact number.
type Stream struct {
	keys        Keys
	rank, ranks uint64
	base        uint64 // first word of a sequence

	next         uint64 // words inserted so far
	inserts      uint64 // still to come
	finds        uint64 // still to come
	state        uint64 // of the random numbers
	InsertsFirst bool   // inserts at the front of each piece, finds at its end
}

// NewStream is the stream of a rank that inserts no more than so many words.
func NewStream(keys Keys, rank, ranks int, words uint64) *Stream {
	return &Stream{keys: keys, rank: uint64(rank), ranks: uint64(ranks),
		base: uint64(rank) * words, state: uint64(rank)}
}

// Plan says what the words to come are.
func (s *Stream) Plan(inserts, finds uint64) { s.inserts, s.finds = inserts, finds }

// Fill generates the next words, as many as fit or are left, and returns how many
// there are and how many of them insert.
func (s *Stream) Fill(words []uint64) (n, inserts int) {
	n = int(min(uint64(len(words)), s.inserts+s.finds))
	front, back := 0, n
	for i := range n {
		word, insert := s.one()
		switch {
		case !s.InsertsFirst:
			words[i] = word
		case insert:
			words[front] = word
		default:
			back--
			words[back] = word
		}
		if insert {
			front++
		}
	}
	return n, front
}

// one is the next word. The chance that it inserts is the share of inserts among
// what is left, so that the numbers come out exactly.
func (s *Stream) one() (word uint64, insert bool) {
	if s.next == 0 || s.finds == 0 || s.below(s.inserts+s.finds) < s.inserts {
		s.next++
		s.inserts--
		return s.word(s.next - 1), true
	}
	s.finds--
	return s.word(s.below(s.next)), false
}

// below is a random number less than n.
func (s *Stream) below(n uint64) uint64 {
	s.state += 0x9E3779B97F4A7C15
	hi, _ := bits.Mul64(Mix64(s.state), n)
	return hi
}

// word is the i-th word that this rank inserts; no two of all ranks are equal.
func (s *Stream) word(i uint64) uint64 {
	if s.keys == Sequential {
		return s.base + i
	}
	return Mix63(i*s.ranks + s.rank + 1)
}

const mask63 = 1<<63 - 1

// Mix63 is a bijection of 63-bit words that leaves no pattern of a sequence: each of
// its steps is one.
func Mix63(x uint64) uint64 {
	x ^= x >> 31
	x = x * 0xBF58476D1CE4E5B9 & mask63
	x ^= x >> 29
	x = x * 0x94D049BB133111EB & mask63
	return x ^ x>>32
}

// Mix64 turns a sequence into random numbers (the finalizer of SplitMix64).
func Mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// Keys names the kind of words.
type Keys string

const (
	Random     Keys = "random"     // 63 random bits
	Sequential Keys = "sequential" // each rank counts upwards in a range of its own
)

// Check refuses other kinds.
func (k Keys) Check() error {
	if k != Random && k != Sequential {
		return fmt.Errorf("--keys must be random or sequential, not %q", string(k))
	}
	return nil
}

// Part is the i-th of several parts of n, as equal as can be.
func Part(n uint64, i, of int) uint64 { return n*uint64(i+1)/uint64(of) - n*uint64(i)/uint64(of) }

// Sum adds values up.
func Sum(values []uint64) (total uint64) {
	for _, v := range values {
		total += v
	}
	return total
}

// Spread is the hash of package set.
func Spread(word uint64) uint64 {
	const factor = 0x9E3779B97F4A7C15
	word = (word ^ word>>32) * factor
	return (word ^ word>>32) * factor
}
