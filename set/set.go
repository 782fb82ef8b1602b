package set

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Result is the answer of an operation on one element. Zero is no answer: it comes with an error.
type Result uint8

const (
	NotFound Result = iota + 1 // Contains: the element is not in the set
	Found                      // it was in the set before the call
	Inserted                   // it was not, and now it is
	Full                       // it is not in the set, and none of the C*M buckets is free
)

// String is the result's name.
func (r Result) String() string {
	names := [...]string{"no answer", "not found", "found", "inserted", "full"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Set is an insert-only set of 63-bit words over the memory of all ranks. It is
// safe for concurrent use. Collect and Close are not to run beside other calls.
type Set struct{ anySet }

// New makes an empty set. Collective: every rank calls it with the same Config.
func New(ctx context.Context, job rma.Job, cfg Config) (*Set, error) {
	s := new(Set)
	if err := s.open(ctx, job, BytesConfig{Config: cfg, words: true}); err != nil {
		return nil, err
	}
	return s, nil
}

// FindOrPut finds word or inserts it (OP 3.3). The result is Found, Inserted or
// Full; Full comes with a *FullError. A word of more than 63 bits is an error.
func (s *Set) FindOrPut(word uint64) (Result, error) {
	if s.fault.Job != nil {
		return s.oneGuarded(word, true)
	}
	return s.insert(word)
}

// oneGuarded is FindOrPut or Contains in a set whose file can be cut off.
func (s *Set) oneGuarded(word uint64, insert bool) (r Result, err error) {
	defer s.fault.Recover(core.CatchFaults(), &err)
	switch err := s.fault.Err(); {
	case err != nil:
		return 0, err
	case insert:
		return s.insert(word)
	}
	return s.one(word, false)
}

// insert is FindOrPut: in the line of the home, if it can end there.
func (s *Set) insert(word uint64) (Result, error) {
	if t := s.oldest.Load(); t.first.base != nil {
		e := t.first.insert(word)
		if e <= full {
			return Result(e), nil
		}
		if e == lostFirst {
			t.tally.add(&counts{lost: 1})
		}
	}
	return s.one(word, true)
}

// Contains reports whether word is in the set.
func (s *Set) Contains(word uint64) (bool, error) {
	if s.fault.Job != nil {
		r, err := s.oneGuarded(word, false)
		return r == Found, err
	}
	r, err := s.one(word, false)
	return r == Found, err
}

// one runs one operation: in its span, or through a queue if it cannot end there.
func (s *Set) one(word uint64, insert bool) (Result, error) {
	if word > MaxWord {
		return 0, WordError(word)
	}
	t := s.oldest.Load()
	home := t.home(hashWord(word))
	v := t.spanOf(home)
	if v == nil {
		_, r, err := t.oneQueued([]uint64{word}, insert)
		return r, err
	}
	e, examined, lost := v.search(word|occupied, home-v.first, insert)
	runtime.KeepAlive(t) // the garbage collector ends its memory
	switch {
	case e <= found && examined <= t.directChunk && lost == 0:
		return Result(e), nil // a counter would cost more than the lookup
	case e == unfinished:
		_, r, err := t.oneQueued([]uint64{word}, insert)
		return r, err
	case e == beyond || e == full || examined >= longSearch:
		b := batch{t: t, items: []uint64{word}, results: []end{e}, insert: insert}
		b.count(e, examined, lost, t.directChunk)
		_, r, err := b.endSingle(v)
		return r, err
	}
	t.tally.count(e, examined, lost, t.directChunk)
	return Result(e), nil
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
	return s.fault.Guard(func() error {
		t := s.oldest.Load()
		b := batch{t: t, items: words, results: endsOf(results), insert: insert}
		if t.flat != nil { // the batch is not divided
			return b.ended(b.searchParts(0, false))
		}
		return b.run()
	})
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
	return fmt.Sprintf("set: word %#x has more than 63 bits; use Bytes for larger data",
		uint64(e))
}

// Config is the shape of the set now, as far as this rank knows, with the defaults filled in.
func (s *Set) Config() Config { return s.config().Config }

// All iterates over the words of the set, in the order of the table. Words inserted since may
// or may not be among them.
func (s *Set) All(ctx context.Context) iter.Seq2[uint64, error] {
	return s.words(s.occupied(ctx, 0, s.job.Size()))
}

// Local is All for this rank's part of the table.
func (s *Set) Local(ctx context.Context) iter.Seq2[uint64, error] {
	return s.words(s.local(ctx))
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

// anySet is what Set and Bytes have in common.
type anySet struct{ *space }

// open makes an empty set. Collective.
func (s *anySet) open(ctx context.Context, job rma.Job, cfg BytesConfig) error {
	cfg, err := cfg.agreed(ctx, job)
	if err != nil {
		return err
	}
	if s.space, err = newSpace(ctx, items{job: job, size: cfg.ElementBytes, width: 1,
		mask: ^uint64(0)}, cfg); err != nil {
		return err
	}
	if s.tally, err = newTally(ctx, job); err == nil && !cfg.words {
		s.mask = ^uint64(refMask)
		room := cfg.arenaRoom(s.tables)
		if cfg.anyLength() {
			s.begins = []int{0}
			s.arenas, err = newStringArenas(ctx, job, room)
		} else {
			s.width = (cfg.ElementBytes + 7) / 8
			s.arenas, err = newArenas(ctx, job, room, s.width)
		}
	}
	if err == nil && s.shared != nil && s.shared.Attached() {
		err = s.fault.Guard(s.checkControl)
	}
	if err == nil {
		err = s.space.open(ctx, nil)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if s.shared != nil && s.arenas != nil {
		s.arenas.shared.tables = s.inUse
	}
	return nil
}

// searchWords searches in the span of the home, or through a queue if the search cannot end there.
func (t *table) searchWords(words []uint64, hash uint64, insert bool) (Ref, Result, error) {
	home := t.home(hash)
	v := t.spanOf(home)
	if v == nil {
		return t.oneQueued(words, insert)
	}
	search := elementSearch{v: v, element: words, key: fingerprintKey(hash), home: home - v.first,
		held: heldSlots{arenas: t.arenas, needed: 1, directOnly: !v.whole}}
	e, err := search.run(insert)
	search.held.release()
	runtime.KeepAlive(t)
	switch {
	case err != nil:
		return 0, 0, err
	case e == unfinished:
		return t.oneQueued(words, insert)
	case e == beyond || e == full || search.examined >= longSearch:
		b := batch{t: t, items: words, begins: t.begins, results: []end{e},
			refs: []Ref{search.ref}, insert: insert}
		b.count(e, search.examined, search.lost, t.directChunk)
		b.noSlot = search.held.noSlot
		return b.endSingle(v)
	case e == inserted || search.examined > t.directChunk || search.lost > 0:
		t.tally.count(e, search.examined, search.lost, t.directChunk)
	}
	return search.ref, Result(e), nil
}

// Len is the number of words or elements in the set: approximate while others insert, exact
// when nobody does. Those whose insertion a dead rank did not live to count are missing from it;
// Check counts buckets instead. Of a set that was opened by name Len counts buckets as well.
func (s *anySet) Len(ctx context.Context) (n uint64, err error) {
	if s.shared == nil {
		return s.tally.inserted(ctx)
	}
	for _, err := range s.occupied(ctx, 0, 1) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// config is the configuration with the buckets of the table that the set has come to.
func (s *anySet) config() BytesConfig {
	cfg := s.cfg
	cfg.Buckets = s.newest().buckets
	return cfg
}

// Used is the share of buckets that are occupied, of the table that any rank has come to.
func (s *anySet) Used(ctx context.Context) (float64, error) {
	tables, err := s.inUse(ctx)
	if err != nil {
		return 0, err
	}
	n, err := s.Len(ctx)
	return float64(n) / float64(tables[len(tables)-1].buckets), err
}

// Stats returns what this rank has done with the set so far.
func (s *anySet) Stats() Stats {
	t := s.oldest.Load()
	stats := t.tally.stats()
	stats.Access = t.batches.Access()
	if t.first.base != nil && stats.Inserted > 0 {
		stats.LongestProbe = max(stats.LongestProbe, lineBuckets)
	}
	t.searching(&stats)
	return stats
}

// Check walks this rank's part of the table and reports what is broken: a bucket whose reference
// or fingerprint is wrong, a word or element that a search would not reach, one that is stored
// twice. Nothing may insert on any rank, except into a set opened by name, where only what
// several walks find is reported. Every rank checks its own part; nobody waits.
func (s *anySet) Check(ctx context.Context) error {
	if s.shared == nil {
		return s.check(ctx, s.job.Rank())
	}
	return core.CheckBeside(func() error {
		return s.fault.Guard(func() error { return s.check(ctx, 0) })
	})
}

// CheckAll waits for all ranks, runs Check on every one, and reports on every rank whether all
// succeeded. Collective.
func (s *anySet) CheckAll(ctx context.Context) error {
	return core.CheckAll(ctx, s.job, "set", s.Check)
}

// Close gives this rank's memory back. The other ranks keep theirs.
func (s *anySet) Close() error {
	err := s.close()
	if s.arenas != nil {
		err = errors.Join(err, s.arenas.close())
	}
	if s.tally != nil {
		err = errors.Join(err, s.tally.close())
	}
	if s.shared != nil {
		err = errors.Join(err, s.shared.Close())
	}
	return err
}
