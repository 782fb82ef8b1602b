package set

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/internal/testkit/mark"
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
	switch r {
	case NotFound:
		return "not found"
	case Found:
		return "found"
	case Inserted:
		return "inserted"
	case Full:
		return "full"
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
	// KnownWords is how many words of memory that only queues reach this rank remembers to be in
	// the set, so that batches need not ask for them again: 8 bytes each. It remembers at most a
	// quarter as many as it has buckets. 0 means none. It may differ between ranks. Elements
	// remember none.
	KnownWords uint64
}

// maxKnownWords is more than a rank has memory for.
const maxKnownWords = 1 << 40

// DefaultDepth is how many operations of a batch are in flight on a queue.
const DefaultDepth = 64

func (c Config) geometry() geometry {
	return geometry{buckets: c.Buckets, chunk: c.Chunk, chunks: c.Chunks, home: c.Home,
		depth: c.Depth, known: c.KnownWords}
}

// MaxWord is the largest word that a Set holds: 63 bits.
const MaxWord = occupied - 1

// Set is an insert-only set of 63-bit words over the memory of all ranks. It is
// safe for concurrent use. Grow and Close are not to run beside other calls.
type Set struct {
	job   rma.Job
	cfg   Config
	t     *table
	tally *tally
}

// New makes an empty set. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Set, error) {
	g := cfg.geometry()
	if err := agree(ctx, job, &g, 0, 0); err != nil {
		return nil, err
	}
	t, err := newTable(ctx, job, g)
	if err != nil {
		return nil, err
	}
	if t.kernel, err = cfg.Kernel.choose(t); err != nil {
		return nil, errors.Join(err, t.close())
	}
	tally, err := newTally(ctx, job)
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	t.ops = wordOps{}
	t.remember(nil, false)
	if err := t.open(ctx, cfg.Access, tally, nil); err != nil {
		return nil, errors.Join(err, t.close(), tally.close())
	}
	return &Set{job: job, cfg: cfg, t: t, tally: tally}, nil
}

// agree makes sure that every rank has the same configuration, and that it is legal.
func agree(ctx context.Context, job rma.Job, g *geometry,
	elementBytes, elements uint64) error {
	fields := []rma.Field{{Name: "buckets", Value: g.buckets},
		{Name: "buckets per chunk", Value: uint64(g.chunk)},
		{Name: "chunks", Value: uint64(g.chunks)},
		{Name: "kinds of home", Value: uint64(g.home)},
		{Name: "bytes per element", Value: elementBytes},
		{Name: "elements", Value: elements}}
	err := g.complete(job.Size())
	switch { // these may differ
	case g.depth < 0 || g.depth > 1<<16:
		err = fmt.Errorf("set: Depth must be 0 to 65536, not %d", g.depth)
	case g.known > maxKnownWords:
		err = fmt.Errorf("set: KnownWords must be at most 2^40, not %d", g.known)
	}
	return rma.Agree(ctx, job, "set", err, fields...)
}

// FindOrPut finds word or inserts it (OP 3.3). The result is Found, Inserted or
// Full; Full comes with a *FullError. A word of more than 63 bits is an error.
func (s *Set) FindOrPut(word uint64) (Result, error) { return s.one(word, true) }

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
	home := s.t.home(hashWord(word))
	v := s.t.spanOf(home)
	if v == nil {
		return s.oneQueued(word, insert)
	}
	r, examined, lost := v.search(word|occupied, home-v.first, insert)
	switch {
	case r <= Found && examined <= s.t.directChunk && lost == 0:
		return r, nil // a counter would cost more than the lookup
	case r == unfinished && !(endsAtSpan.On() && !insert):
		return s.oneQueued(word, insert)
	}
	s.tally.count(r, examined, lost, s.t.directChunk)
	if r == Full {
		return r, s.fullError()
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
	for _, word := range words {
		if word > MaxWord {
			return WordError(word)
		}
	}
	b := batch{t: s.t, items: words, results: results, insert: insert}
	var err error
	if k := s.t.known; k != nil {
		err = k.run(&b)
	} else {
		err = b.run()
	}
	s.tally.add(b.counts)
	if mark.Enabled {
		markDuplicates(results, func(i int) uint64 { return words[i] })
	}
	if err == nil && b.full > 0 {
		err = s.fullError()
	}
	return err
}

// WordError says that a word is larger than MaxWord.
type WordError uint64

func (e WordError) Error() string {
	return fmt.Sprintf("set: word %#x has more than 63 bits; use Elements for larger data",
		uint64(e))
}

// Remembers reports whether this rank remembers words of others: KnownWords is not 0, and some
// memory is not addressable.
func (s *Set) Remembers() bool { return s.t.known != nil }

// Buckets is the number of buckets of all ranks.
func (s *Set) Buckets() uint64 { return s.t.buckets }

// Len is the number of words in the set: approximate while others insert, exact
// when nobody does. Words whose insertion a dead rank did not live to count are
// missing from it; Check counts buckets instead.
func (s *Set) Len(ctx context.Context) (uint64, error) { return s.tally.inserted(ctx) }

// LoadFactor is the share of buckets that are occupied.
func (s *Set) LoadFactor(ctx context.Context) (float64, error) {
	n, err := s.Len(ctx)
	return float64(n) / float64(s.t.buckets), err
}

// Stats returns what this rank has done with the set so far.
func (s *Set) Stats() Stats {
	stats := s.tally.stats()
	stats.Access = s.t.batches.Access()
	return stats
}

// All iterates over the words of the set, in the order of the table. Words inserted meanwhile may
// or may not be among them.
func (s *Set) All(ctx context.Context) iter.Seq2[uint64, error] {
	return s.words(s.t.occupied(ctx, 0, s.job.Size()))
}

// Local is All for this rank's part of the table.
func (s *Set) Local(ctx context.Context) iter.Seq2[uint64, error] {
	return s.words(s.t.local(ctx))
}

func (s *Set) words(buckets iter.Seq2[uint64, error]) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for bucket, err := range buckets {
			if !yield(bucket&^occupied, err) || err != nil {
				return
			}
		}
	}
}

// Grow moves the set into a table of the given number of buckets. Collective; no
// other call may run on any rank meanwhile. When it fails the set is unchanged.
func (s *Set) Grow(ctx context.Context, buckets uint64) error {
	cfg := s.cfg
	cfg.Buckets = buckets
	g := cfg.geometry()
	if err := agree(ctx, s.job, &g, 0, 0); err != nil {
		return err
	}
	m := s.mover()
	t, err := m.rebuild(ctx, s.job, s.t, g)
	if err != nil {
		return err
	}
	old := s.t
	s.cfg, s.t = cfg, t
	return old.close()
}

func (s *Set) mover() mover {
	return mover{hash: hashBuckets, access: s.cfg.Access, tally: s.tally}
}

// hashBuckets gives the hash of each bucket's word.
func hashBuckets(_ context.Context, words, hashes []uint64) error {
	for i, bucket := range words {
		hashes[i] = hashWord(bucket &^ occupied)
	}
	return nil
}

// Close gives this rank's memory back. The other ranks keep theirs.
func (s *Set) Close() error {
	return errors.Join(s.t.close(), s.tally.close())
}

func (s *Set) fullError() error { return fullErrorOf(s.tally, s.t, false) }
