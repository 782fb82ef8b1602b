package schemes

import (
	"fmt"
	"strings"

	"github.com/farhash/farhash/eval/internal/measure"
)

// Answer is what FindOrPut did.
type Answer int

// The answers.
const (
	Found    Answer = iota // the word was there
	Inserted               // it is there now
	Full                   // there is no room that the scheme finds
)

// Table is a table of words that are not 0.
type Table interface {
	// Find reports whether a word is there.
	Find(word uint64) (bool, Cost)
	// FindOrPut inserts a word unless it is there.
	FindOrPut(word uint64) (Answer, Cost)
	// Check finds what is wrong with the table.
	Check() error
}

// Scheme names a scheme with its sizes.
type Scheme string

// kinds are the schemes, with how a table of one is made.
var kinds = []struct {
	name Scheme
	make func(m memory) Table
}{
	{"linear-8", func(m memory) Table { return newLinear(m, 8) }},
	{"linear-16", func(m memory) Table { return newLinear(m, 16) }},
	{"linear-32", func(m memory) Table { return newLinear(m, 32) }},
	{"linear-64", func(m memory) Table { return newLinear(m, 64) }},
	{"quadratic", func(m memory) Table { return newQuadratic(m, 1) }},
	{"quadratic-8", func(m memory) Table { return newQuadratic(m, 8) }},
	{"double", func(m memory) Table { return newLines(m, 1) }},
	{"line-8", func(m memory) Table { return newLines(m, 8) }},
	{"line-32", func(m memory) Table { return newLines(m, 32) }},
	{"hopscotch-32", func(m memory) Table { return newHopscotch(m, 32) }},
	{"cuckoo-2x4", func(m memory) Table { return newCuckoo(m, 2, 4) }},
	{"cuckoo-2x8", func(m memory) Table { return newCuckoo(m, 2, 8) }},
	{"cuckoo-2x4-breadth", func(m memory) Table { return newCuckoo(m, 2, 4).inBreadth() }},
	{"cuckoo-2x8-breadth", func(m memory) Table { return newCuckoo(m, 2, 8).inBreadth() }},
	{"cuckoo-3x1-in-turn", func(m memory) Table { return newCuckoo(m, 3, 1).inTurn() }},
	{"chained", func(m memory) Table { return &chained{m} }},
}

// Schemes lists all schemes.
func Schemes() (all []Scheme) {
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

// Moves reports whether inserts may move words. Such a table is Full while buckets are empty.
func (s Scheme) Moves() bool {
	return strings.HasPrefix(string(s), "hopscotch") || strings.HasPrefix(string(s), "cuckoo")
}

// MinBuckets and MaxBuckets are the sizes of tables. They are powers of two.
const (
	MinBuckets = 1 << 8
	MaxBuckets = 1 << 26
)

// New makes an empty table. The seed decides the hashes and all that is left to chance.
func New(scheme Scheme, buckets int, seed uint64) (Table, error) {
	if buckets < MinBuckets || buckets > MaxBuckets || buckets&(buckets-1) != 0 {
		return nil, fmt.Errorf("buckets must be a power of two from %d to %d, not %d", MinBuckets,
			MaxBuckets, buckets)
	}
	for _, k := range kinds {
		if k.name == scheme {
			return k.make(newMemory(buckets, seed)), nil
		}
	}
	return nil, fmt.Errorf("there is no scheme %q, only %v", scheme, Schemes())
}

func mix(x uint64) uint64 { return measure.Mix64(x) }

// checkOnce refuses words that are there twice, and those that are where a scheme has none.
func checkOnce(words []uint64, belongs func(at int, word uint64) bool) error {
	seen := map[uint64]int{}
	for at, word := range words {
		if word == empty {
			continue
		}
		if before, is := seen[word]; is {
			return fmt.Errorf("%#x is in buckets %d and %d", word, before, at)
		}
		if seen[word] = at; !belongs(at, word) {
			return fmt.Errorf("%#x is in bucket %d, where no find looks for it", word, at)
		}
	}
	return nil
}
