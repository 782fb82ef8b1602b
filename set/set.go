package set

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/ship"
)

// Result is the answer of an operation on one element.
type Result uint8

const (
	NotFound Result = iota // Contains: the element is not in the set
	Found                  // it was in the set before the call
	Inserted               // it was not, and now it is
	Full                   // it is not in the set, and none of the C*M buckets is free
)

// String is the result's name.
func (r Result) String() string {
	if names := [...]string{"not found", "found", "inserted", "full"}; int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Config shapes a Set. Every rank gives the same.
type Config struct {
	// Buckets of all ranks together; rounded up to a multiple of 8 per rank.
	Buckets uint64
	// Chunk is C, the buckets brought by one get: a multiple of 8, or Auto, which is 0.
	// It matters only where ranks are reached through queues.
	Chunk int
	// Chunks is M: C*M buckets are examined, then the answer is Full. 0 means
	// DefaultChunks. With Auto as many buckets are examined as with DefaultChunk.
	Chunks int
	// Home says where searches begin.
	Home Home
	// Kernel is the loop that searches batches where memory is direct. It may differ
	// between ranks.
	Kernel Kernel
	// Depth is how many operations of a batch are in flight on a queue. 0 means
	// DefaultDepth.
	Depth int
	// Access says how batches reach memory that this rank cannot address directly. It may
	// differ between ranks.
	Access ship.Access
}

// DefaultDepth is how many operations of a batch are in flight on a queue.
const DefaultDepth = 64

// MaxWord is the largest word that a Set holds: 63 bits.
const MaxWord = occupied - 1

// Set is an insert-only set of 63-bit words over the memory of all ranks. It is
// safe for concurrent use. Grow and Close are not to run beside other calls.
type Set struct{ anySet }

// New makes an empty set. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Set, error) {
	s := new(Set)
	if err := s.open(ctx, job, ElementsConfig{Config: cfg}, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// FindOrPut finds word or inserts it (OP 3.3). The result is Found, Inserted or
// Full; Full comes with a *FullError. A word of more than 63 bits is an error.
func (s *Set) FindOrPut(word uint64) (Result, error) {
	if t := s.t; t.first.base != nil {
		r := t.first.insert(word)
		if r <= Full {
			return r, nil
		}
		if r == lostFirst {
			t.tally.add(&counts{lost: 1})
		}
	}
	return s.one(word, true)
}

// Contains reports whether word is in the set.
func (s *Set) Contains(word uint64) (bool, error) {
	r, err := s.one(word, false)
	return r == Found, err
}

// one runs one operation: in its span, or through a queue if it cannot end there.
func (s *Set) one(word uint64, insert bool) (Result, error) {
	if word > MaxWord {
		return NotFound, WordError(word)
	}
	t := s.t
	home := t.home(hashWord(word))
	v := t.spanOf(home)
	if v == nil {
		return t.oneQueued([]uint64{word}, insert)
	}
	r, examined, lost := v.search(word|occupied, home-v.first, insert)
	switch {
	case r <= Found && examined <= t.directChunk && lost == 0:
		return r, nil // a counter would cost more than the lookup
	case r == unfinished:
		return t.oneQueued([]uint64{word}, insert)
	}
	t.tally.count(r, examined, lost, t.directChunk)
	if r == Full {
		return r, t.fullError(false)
	}
	return r, nil
}

// FindOrPutBatch is FindOrPut for many words: results[i] answers words[i]. The
// words are worked on with many requests in flight, in no particular order; a word
// that occurs twice is Inserted once and Found once. When any result is Full the
// error is a *FullError and the other results are valid. results must be as long as
// words. A word of more than 63 bits is an error, and nothing is inserted then.
func (s *Set) FindOrPutBatch(words []uint64, results []Result) error {
	return s.batch(words, results, true)
}

// ContainsBatch is Contains for many words; results are Found and NotFound.
func (s *Set) ContainsBatch(words []uint64, results []Result) error {
	return s.batch(words, results, false)
}

func (s *Set) batch(words []uint64, results []Result, insert bool) error {
	if len(results) != len(words) {
		return fmt.Errorf("set: %s and %s; they must be equally many",
			plural.Of(len(words), "word"), plural.Of(len(results), "result"))
	}
	if err := checkWords(words); err != nil {
		return err
	}
	t := s.t
	if t.flat != nil { // the batch is not divided
		c := t.searchBatch(&t.span, words, results, insert)
		return t.ended(&c, nil)
	}
	b := batch{t: t, items: words, results: results, insert: insert}
	return b.run()
}

// checkWords looks for words that are too large. Most batches have none: one test is then enough.
func checkWords(words []uint64) error {
	all := uint64(0)
	for _, word := range words {
		all |= word
	}
	if all <= MaxWord {
		return nil
	}
	return WordError(words[slices.IndexFunc(words, func(w uint64) bool { return w > MaxWord })])
}

// WordError says that a word is larger than MaxWord.
type WordError uint64

func (e WordError) Error() string {
	return fmt.Sprintf("set: word %#x has more than 63 bits; use Elements for larger data",
		uint64(e))
}

// All iterates over the words of the set, in the order of the table. Words inserted meanwhile may
// or may not be among them.
func (s *Set) All(ctx context.Context) iter.Seq2[uint64, error] {
	return s.words(s.t.occupied(ctx, 0, s.t.job.Size()))
}

// Local is All for this rank's part of the table.
func (s *Set) Local(ctx context.Context) iter.Seq2[uint64, error] {
	return s.words(s.t.local(ctx))
}

func (s *Set) words(buckets iter.Seq2[stored, error]) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for s, err := range buckets {
			if !yield(s.bucket&^occupied, err) {
				return
			}
		}
	}
}

// Grow moves the set into a table of the given number of buckets. Collective; no
// other call may run on any rank meanwhile. When it fails the set is unchanged.
func (s *Set) Grow(ctx context.Context, buckets uint64) error {
	return s.grow(ctx, buckets, 0)
}

// FullError says that something could not be inserted. What was stored stays.
type FullError struct {
	LoadFactor   float64 // of the whole table
	Buckets      uint64
	LongestProbe uint64 // buckets examined by this rank's longest search
	Enough       uint64 // a number of buckets that is enough for twice the content
	NoArena      bool   // buckets are free, but the arenas have no slot left
}

func (e *FullError) Error() string {
	if e.NoArena {
		return fmt.Sprintf("set: the arenas are full at load factor %.2f of %d buckets "+
			"(longest probe %d buckets); make the set with more elements, or grow it to %d buckets",
			e.LoadFactor, e.Buckets, e.LongestProbe, e.Enough)
	}
	return fmt.Sprintf("set: full at load factor %.2f of %d buckets (longest probe %d buckets); "+
		"%d buckets would hold twice as many", e.LoadFactor, e.Buckets, e.LongestProbe, e.Enough)
}

// recommendedLoad is the load factor of a table of the recommended size.
const recommendedLoad = 0.8

// fullError describes a set that is full: it lacks buckets or arena slots.
func (t *table) fullError(noArena bool) *FullError {
	n, err := t.tally.inserted(context.Background())
	if err != nil {
		n = t.buckets // the upper bound
	}
	// A table whose searches are too long at this load needs a lower load, even
	// where this one is low.
	enough := float64(t.buckets) * 2 / recommendedLoad
	if noArena {
		enough = max(float64(n)*2/recommendedLoad, float64(t.buckets+1))
	}
	return &FullError{
		LoadFactor:   float64(n) / float64(t.buckets),
		Buckets:      t.buckets,
		LongestProbe: t.tally.longest.Load(),
		Enough:       min(uint64(enough), MaxBuckets),
		NoArena:      noArena,
	}
}
