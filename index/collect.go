package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// collect reads this rank's records and returns the records that it owns. Collective.
func collect(ctx context.Context, job rma.Job, cfg *Config,
	records iter.Seq2[Record, error]) (*store, error) {
	s := newStore(cfg, job)
	x := &exchange{job: job, store: s, block: blockWords(&s.form, s.ranks)}
	if x.store.ranks > 1 {
		if err := x.open(ctx); err != nil {
			return nil, err
		}
		defer x.close()
	}
	n := 0
	for r, err := range records {
		n++
		if err == nil {
			err = s.form.check(r)
		}
		if err == nil {
			err = x.allows(ctx, n)
		}
		if err != nil {
			x.failed = err
			break
		}
		if x.add(ctx, r); x.over {
			break
		}
	}
	err := x.finish(ctx)
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// store keeps the records of a rank while the table is built, divided by the high bits of
// what a hash says of the place on the rank. So the parts are in the order of homes, and
// each is small enough to be sorted in a processor's cache.
type store struct {
	form     form
	rank     int
	ranks    int
	maxBytes uint64 // of memory; 0: no limit
	parts    [partitions]part
	records  uint64
	words    uint64 // of records
	values   uint64 // bytes of values

	slab     []uint64 // that chunks are cut from
	slabNext int
	releases []func() error
	bytes    uint64   // taken from the system
	sizes    *tally   // of records; nil: none may be in a slot and none in the heap
	marked   []uint64 // keys that may mark empty slots and have records; nil: no slots are marked
	failed   error    // no more memory
}

const (
	partitionBits = 10
	partitions    = 1 << partitionBits

	firstChunkWords = 1 << 7 // words of the first chunk of a part that is not smaller than a record
	maxChunkWords   = 1 << 12
	firstSlabWords  = 1 << 13
	maxSlabWords    = 1 << 20
)

// part is some of the records, in chunks of whole records.
type part struct {
	open    []uint64 // the chunk that is being filled
	full    [][]uint64
	records int
}

func newStore(c *Config, job rma.Job) *store {
	s := &store{form: formOf(c), rank: job.Rank(), ranks: job.Size(), slabNext: firstSlabWords,
		maxBytes: c.MaxMemoryBytes}
	switch c.Storage {
	case Inline:
		s.marked = make([]uint64, markers/64)
	case Hybrid:
		s.sizes = &tally{}
	}
	return s
}

// allows refuses to take more memory than allowed.
func (s *store) allows(bytes uint64) error {
	if s.maxBytes == 0 || bytes <= s.maxBytes {
		return nil
	}
	return fmt.Errorf("index: building takes %d bytes on rank %d, which has %d records, and "+
		"MaxMemoryBytes is %d; PeakBytes says what a build needs", bytes, s.rank, s.records,
		s.maxBytes)
}

// add copies a record whose place on this rank is known.
func (s *store) add(rest uint64, key, value []byte) {
	if to := s.room(rest, Record{key, value}); to != nil {
		s.form.encode(to, key, value)
	}
}

// addWords copies records that are encoded already.
func (s *store) addWords(words []uint64) {
	for len(words) > 0 {
		n := s.form.wordsAt(words[0])
		r := s.form.decode(words[:n])
		_, rest := place(hashKey(r.Key), s.ranks)
		copy(s.room(rest, r), words[:n])
		words = words[n:]
	}
}

// room is place for a record, nil when the memory has failed. It counts the record, and notes a key
// that may mark empty slots.
func (s *store) room(rest uint64, r Record) []uint64 {
	p, n := &s.parts[rest>>(64-partitionBits)], s.form.words(len(r.Key), len(r.Value))
	used := len(p.open)
	if used+n > cap(p.open) {
		if !s.grow(p, n) {
			return nil
		}
		used = 0
	}
	p.open = p.open[:used+n]
	p.records++
	s.records++
	s.words += uint64(n)
	s.values += uint64(len(r.Value))
	if s.sizes != nil {
		s.sizes.add(len(r.Key)+len(r.Value), n)
	}
	if s.marked != nil {
		if i := markerNumber(r.Key); i < markers {
			s.marked[i/64] |= 1 << (i % 64)
		}
	}
	return p.open[used : used+n]
}

// grow gives a part a new chunk, twice as large as the one before.
func (s *store) grow(p *part, least int) bool {
	if s.failed != nil {
		return false
	}
	size := min(max(2*cap(p.open), firstChunkWords), maxChunkWords)
	for size < least {
		size *= 2
	}
	if len(s.slab) < size && !s.refill(size) {
		return false
	}
	if cap(p.open) > 0 {
		p.full = append(p.full, p.open)
	}
	p.open = s.slab[:0:size]
	s.slab = s.slab[size:]
	return true
}

func (s *store) refill(least int) bool {
	size := max(s.slabNext, least)
	slab, release, err := memory.Words(size)
	if err != nil {
		s.failed = err
		return false
	}
	s.slab, s.slabNext = slab, min(2*size, maxSlabWords)
	s.releases = append(s.releases, release)
	s.bytes += uint64(size) * 8
	return true
}

// storeSlackBytes is the most that a store takes beyond twice its records, or beyond them
// where they are many: chunks and a slab that are not full.
const storeSlackBytes = partitions*maxChunkWords*8/2 + maxSlabWords*8

// chunks are the chunks of a part, in the order in which they were filled.
func (p *part) chunks() [][]uint64 {
	if len(p.open) == 0 {
		return p.full
	}
	return append(p.full[:len(p.full):len(p.full)], p.open)
}

// release gives the memory back.
func (s *store) release() error {
	var errs []error
	for _, release := range s.releases {
		errs = append(errs, release())
	}
	*s = store{}
	return errors.Join(errs...)
}

// exchange brings records to the ranks that own them, in rounds. In each a rank fills a
// block for every other one, until one is full or its records are at an end. It puts them into the
// others' inboxes, waits at a barrier, and takes what has come. Inboxes are double: while one is
// emptied the other is filled, so that a round has one barrier.
//
//	inbox of a rank   even rounds | from rank 0 | from rank 1 | ...
//	                  odd rounds  | from rank 0 | ...
//	block             | words, round, done, failed | records ...
type exchange struct {
	job    rma.Job
	store  *store
	block  int // words for records in a block
	window rma.Window
	q      rma.Queue
	in     *core.Reader
	out    []rma.Buf // by rank; the first word is the header
	used   []int     // words of records in each
	puts   []rma.Handle
	round  int   // from 1: no header is 0
	over   bool  // all are done, or one has failed
	failed error // of this rank
	fatal  error // another rank cannot be reached: no further round is possible
}

const (
	maxBlockWords = 1 << 16
	headerDone    = 1 << 62
	headerFailed  = 1 << 63
	headerWords   = 1<<32 - 1
	roundShift    = 32
	roundMask     = 1<<16 - 1
	inboxesOfRank = 2
)

// inboxWords is how many words the blocks of an inbox have together: more only where the longest
// record of each rank would not fit. It is a variable so that a test need not have many ranks.
var inboxWords = 1 << 20

// blockWords is the room for records in a block, by the number of ranks: the longest fits.
func blockWords(f *form, ranks int) int {
	return min(max(inboxWords/ranks-1, f.maxWords()), maxBlockWords)
}

// exchangeBytes is what the exchange takes on a rank.
func exchangeBytes(f *form, ranks int) uint64 {
	if ranks == 1 {
		return 0
	}
	block := uint64(blockWords(f, ranks)+1) * 8
	return (inboxesOfRank*uint64(ranks) + uint64(ranks) + 1) * block
}

// allows finds out now and then whether the store is larger than allowed, or ctx has ended, when n
// records were read.
func (x *exchange) allows(ctx context.Context, n int) error {
	if n%1024 != 0 {
		return x.store.failed
	}
	return cmp.Or(ctx.Err(),
		x.store.allows(x.store.bytes+exchangeBytes(&x.store.form, x.store.ranks)))
}

func (x *exchange) open(ctx context.Context) error {
	words := inboxesOfRank * x.store.ranks * (x.block + 1)
	w, err := x.job.NewWindow(ctx, rma.Spec{Name: "index: records in exchange", Words: words})
	if err != nil {
		return err
	}
	x.window, x.used = w, make([]int, x.store.ranks)
	x.q, err = x.job.NewQueue(x.store.ranks)
	for range x.store.ranks {
		var b rma.Buf
		if err == nil {
			b, err = x.q.Alloc(x.block + 1)
		}
		x.out = append(x.out, b)
	}
	regions := core.NewRegions(w)
	in, err2 := core.NewReader(x.job, w, &regions, x.block)
	x.in = in
	err = rma.AllSucceeded(ctx, x.job, "index: exchange", errors.Join(err, err2))
	if err != nil {
		x.close()
	}
	return err
}

func (x *exchange) close() {
	if x.q != nil {
		_ = x.q.Close()
	}
	_ = errors.Join(x.in.Close(), x.window.Close())
}

// add copies a record into its owner's block.
func (x *exchange) add(ctx context.Context, r Record) {
	owner, rest := place(hashKey(r.Key), x.store.ranks)
	if owner == x.store.rank {
		x.store.add(rest, r.Key, r.Value)
		return
	}
	n := x.store.form.words(len(r.Key), len(r.Value))
	if x.used[owner]+n > x.block {
		x.runRound(ctx, false)
		if x.over {
			return
		}
	}
	used := x.used[owner]
	x.store.form.encode(x.out[owner][1+used:1+used+n], r.Key, r.Value)
	x.used[owner] = used + n
}

// finish takes part until all ranks are done.
func (x *exchange) finish(ctx context.Context) error {
	for x.store.ranks > 1 && !x.over {
		x.runRound(ctx, true)
	}
	if x.fatal != nil {
		return x.fatal
	}
	if x.failed == nil {
		x.failed = x.store.failed
	}
	return rma.AllSucceeded(ctx, x.job, "index: reading records", x.failed)
}

// runRound is a round. All ranks get the same headers, and so agree on which is the last. A rank
// that cannot reach another one does not know whether that is so: it takes no further part, and the
// others get an error when it leaves the job.
func (x *exchange) runRound(ctx context.Context, done bool) {
	x.round++
	mine, err := x.send(ctx, done)
	if err == nil {
		err = x.job.Barrier(ctx)
	}
	if err == nil {
		err = x.receive(ctx, mine)
	}
	if err != nil {
		x.fatal, x.over = errors.Join(x.failed, err), true
	}
}

// send puts the blocks into the others' inboxes, and returns the header without their lengths.
func (x *exchange) send(ctx context.Context, done bool) (uint64, error) {
	mine := uint64(x.round&roundMask) << roundShift
	if done {
		mine |= headerDone
	}
	if x.failed == nil {
		x.failed = x.store.failed
	}
	if x.failed != nil {
		mine |= headerFailed
		clear(x.used)
	}
	x.puts = x.puts[:0]
	for rank := range x.store.ranks {
		if rank == x.store.rank {
			continue
		}
		x.out[rank][0] = mine | uint64(x.used[rank])
		b := x.out[rank][:1+x.used[rank]]
		x.puts = append(x.puts, x.q.Put(b, x.window, rank, x.inbox(x.store.rank)))
		x.used[rank] = 0
	}
	return mine, core.Await(ctx, x.q, x.puts...)
}

// inbox is where the block of a rank is in this round.
func (x *exchange) inbox(from int) int {
	return (x.round%inboxesOfRank*x.store.ranks + from) * (x.block + 1)
}

// receive takes what has come. It ends the exchange when all are done, or one has failed.
func (x *exchange) receive(ctx context.Context, mine uint64) error {
	all, failed := mine, mine
	for rank := range x.store.ranks {
		if rank == x.store.rank {
			continue
		}
		words, err := x.in.Read(ctx, x.store.rank, x.inbox(rank), 1)
		if err != nil {
			return err
		}
		header := words[0]
		if int(header>>roundShift&roundMask) != x.round&roundMask {
			return fmt.Errorf("index: a block of rank %d has not arrived", rank)
		}
		if n := int(header & headerWords); n > 0 {
			if words, err = x.in.Read(ctx, x.store.rank, x.inbox(rank)+1, n); err != nil {
				return err
			}
			x.store.addWords(words)
		}
		all, failed = all&header, failed|header
	}
	x.over = all&headerDone != 0 || failed&headerFailed != 0
	if x.failed == nil {
		x.failed = x.store.allows(x.store.bytes + exchangeBytes(&x.store.form, x.store.ranks))
	}
	return nil
}
