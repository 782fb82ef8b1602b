package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/farhash/farhash/rma"
)

// exchange brings records to the ranks that own them, in rounds. In each a rank fills a
// block for every other one, until one is full or its records are at an end. It puts them into the
// others' inboxes, waits at a barrier, and takes what has come. Inboxes are double: while one is
// emptied the other is filled, so that a round has one barrier.
//
//	inbox of a rank   even rounds | from rank 0 | from rank 1 | ...
//	                  odd rounds  | from rank 0 | ...
//	block             | words, round, done, failed | records ...
type exchange struct {
	job      rma.Job
	ranks    int
	me       int
	store    *store
	block    int // words for records in a block
	window   rma.Window
	q        rma.Queue
	in       rma.Buf
	out      []rma.Buf // by rank; the first word is the header
	used     []int     // words of records in each
	puts     []rma.Handle
	round    int    // from 1: no header is 0
	maxBytes uint64 // bytes of memory; 0: no limit
	over     bool   // all are done, or one has failed
	failed   error  // of this rank
	fatal    error  // another rank cannot be reached: no further round is possible
}

const (
	maxBlockWords   = 1 << 16 // words
	minBlockWords   = 1 << 10 // more than the longest record has
	maxInboxesWords = 1 << 20 // words of all blocks of a rank, where they can be so small
	headerDone      = 1 << 62
	headerFailed    = 1 << 63
	headerWords     = 1<<32 - 1
	roundShift      = 32
	roundMask       = 1<<16 - 1
	inboxesOfRank   = 2
)

// blockWords is the room for records in a block, by the number of ranks.
func blockWords(ranks int) int {
	return min(max(maxInboxesWords/ranks, minBlockWords), maxBlockWords)
}

// exchangeBytes is what the exchange takes on a rank.
func exchangeBytes(ranks int) uint64 {
	if ranks == 1 {
		return 0
	}
	block := uint64(blockWords(ranks)+1) * 8
	return (inboxesOfRank*uint64(ranks) + uint64(ranks) + 1) * block
}

// collect reads this rank's records and returns those that it owns. Collective.
func collect(ctx context.Context, job rma.Job, cfg *Config,
	records iter.Seq2[Record, error]) (*store, error) {
	s := newStore(cfg, job.Size())
	x := &exchange{job: job, ranks: job.Size(), me: job.Rank(), store: s,
		block: blockWords(job.Size()), maxBytes: cfg.MaxMemoryBytes}
	if x.ranks > 1 {
		if err := x.open(ctx); err != nil {
			return nil, err
		}
		defer x.close()
	}
	limit := x.limit(ctx)
	for r, err := range records {
		if err == nil {
			err = s.form.check(r)
		}
		if err == nil {
			err = limit()
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

// limit returns a function that checks now and then whether the store is larger than allowed, or
// ctx has ended.
func (x *exchange) limit(ctx context.Context) func() error {
	n := 0
	return func() error {
		if n++; n%1024 != 0 {
			return x.store.failed
		}
		if err := ctx.Err(); err != nil || x.maxBytes == 0 {
			return err
		}
		return x.checkMemory()
	}
}

// checkMemory refuses to take more memory than allowed.
func (x *exchange) checkMemory() error {
	if need := x.store.bytes + exchangeBytes(x.ranks); need > x.maxBytes {
		return fmt.Errorf("index: the %d records of rank %d so far take %d bytes, and "+
			"MaxMemoryBytes is %d; PeakBytes says what a build needs", x.store.records, x.me,
			need, x.maxBytes)
	}
	return nil
}

func (x *exchange) open(ctx context.Context) error {
	words := inboxesOfRank * x.ranks * (x.block + 1)
	w, err := x.job.NewWindow(ctx, rma.Spec{Name: "index: records in exchange", Words: words})
	if err != nil {
		return err
	}
	x.window, x.used = w, make([]int, x.ranks)
	x.q, err = x.job.NewQueue(x.ranks)
	for range x.ranks {
		var b rma.Buf
		if err == nil {
			b, err = x.q.Alloc(x.block + 1)
		}
		x.out = append(x.out, b)
	}
	if err == nil {
		x.in, err = x.q.Alloc(x.block + 1)
	}
	if err = rma.AllSucceeded(ctx, x.job, "index: exchange", err); err != nil {
		x.close()
	}
	return err
}

func (x *exchange) close() {
	if x.q != nil {
		_ = x.q.Close()
	}
	_ = x.window.Close()
}

// add copies a record into its owner's block.
func (x *exchange) add(ctx context.Context, r Record) {
	owner, rest := place(hashKey(r.Key), x.ranks)
	if owner == x.me {
		x.store.add(rest, r.Key, r.Value)
		return
	}
	n := x.store.form.words(len(r.Value))
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
	for x.ranks > 1 && !x.over {
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
	for rank := range x.ranks {
		if rank == x.me {
			continue
		}
		x.out[rank][0] = mine | uint64(x.used[rank])
		b := x.out[rank][:1+x.used[rank]]
		x.puts = append(x.puts, x.q.Put(b, x.window, rank, x.inbox(x.me)))
		x.used[rank] = 0
	}
	return mine, x.await(ctx)
}

// inbox is where the block of a rank lies in this round.
func (x *exchange) inbox(from int) int {
	return (x.round%inboxesOfRank*x.ranks + from) * (x.block + 1)
}

// await takes the results of all that was posted, also when one has failed: until then there is
// no room for more. The error is the first one.
func (x *exchange) await(ctx context.Context) error {
	err := x.q.Submit()
	if err != nil {
		return err
	}
	for _, h := range x.puts {
		failed := x.q.Wait(ctx, h)
		if failed == nil {
			_, failed = x.q.Value(h)
		}
		if err == nil {
			err = failed
		}
	}
	return err
}

// receive takes what has come. It ends the exchange when all are done, or one has failed.
func (x *exchange) receive(ctx context.Context, mine uint64) error {
	all, failed := mine, mine
	for rank := range x.ranks {
		if rank == x.me {
			continue
		}
		if err := x.fetch(ctx, rank, 0, 1); err != nil {
			return err
		}
		header := x.in[0]
		if int(header>>roundShift&roundMask) != x.round&roundMask {
			return fmt.Errorf("index: a block of rank %d has not arrived", rank)
		}
		if n := int(header & headerWords); n > 0 {
			if err := x.fetch(ctx, rank, 1, n); err != nil {
				return err
			}
			x.store.addWords(x.in[:n])
		}
		all, failed = all&header, failed|header
	}
	x.over = all&headerDone != 0 || failed&headerFailed != 0
	if x.failed == nil && x.maxBytes > 0 {
		x.failed = x.checkMemory()
	}
	return nil
}

// fetch gets words of a block in this rank's inbox.
func (x *exchange) fetch(ctx context.Context, from, off, words int) error {
	x.puts = append(x.puts[:0], x.q.Get(x.in[:words], x.window, x.me, x.inbox(from)+off))
	return x.await(ctx)
}
