package explore

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// exchange is where ranks leave work for ranks that have none: a few slots in each
// rank's segment, each a header and the tasks of one or several blocks.
//
//	header 0                empty: the owner may fill it
//	header 1 .. slotWords   that many words of tasks: any rank may claim it
//	header slotClaimed      being read by the rank that swapped the header
//
// The owner writes the tasks before the header; a claim is one compare-and-swap.
type exchange struct {
	window rma.Window
	cells  *rma.Cells
	q      rma.Queue
	buf    rma.Buf
	rank   int
	ranks  int
	next   int // rank whose slots a claim reads first
	stride int // from one slot to the next, in words
	blocks int // that a slot has room for
}

const (
	slotsPerRank = 4
	slotHead     = 8 // words: the header has a cache line to itself
	slotClaimed  = 1 << 63
)

// offeredBlocks is how many blocks of tasks of so many words a slot has room for: between hosts a
// claim takes as long as the successors of hundreds of states.
func offeredBlocks(hosts bool, taskWords int) int {
	if !hosts {
		return 1
	}
	return max(1, 16/taskWords)
}

// exchangeBytes is the memory that a rank takes for an exchange of tasks of so many words.
func exchangeBytes(taskWords, blocks int) uint64 {
	return 8 * (slotsPerRank*slotHead + (slotsPerRank+1)*blockTasks*uint64(taskWords*blocks))
}

// newExchange makes an exchange of tasks of so many words, so many blocks together. Collective.
func newExchange(ctx context.Context, job rma.Job, taskWords, blocks int) (*exchange, error) {
	slotWords := blockTasks * taskWords * blocks
	stride := slotHead + slotWords
	w, err := job.NewWindow(ctx, rma.Spec{Name: "explore: exchange",
		Words: slotsPerRank * stride})
	if err != nil {
		return nil, err
	}
	x := &exchange{window: w, rank: job.Rank(), ranks: job.Size(), next: job.Rank(),
		stride: stride, blocks: blocks}
	if x.cells, err = rma.NewCells(job, w); err != nil {
		return nil, err
	}
	if x.q, err = job.NewQueue(1); err != nil {
		return nil, err
	}
	x.buf, err = x.q.Alloc(slotWords)
	return x, err
}

// wanted reports whether one of this rank's slots is empty, and which.
func (x *exchange) wanted(ctx context.Context) (slot int, ok bool, err error) {
	for slot := range slotsPerRank {
		header, err := x.cells.Load(ctx, x.rank, slot*x.stride)
		if err != nil {
			return 0, false, err
		}
		if header == 0 {
			return slot, true, nil
		}
	}
	return 0, false, nil
}

// offer puts blocks into an empty slot of this rank.
func (x *exchange) offer(ctx context.Context, slot int, blocks ...block) error {
	n := 0
	for _, b := range blocks {
		n += copy(x.buf[n:], b)
	}
	h := x.q.Put(x.buf[:n], x.window, x.rank, slot*x.stride+slotHead)
	if err := x.finish(ctx, h); err != nil {
		return err
	}
	return x.cells.Store(ctx, x.rank, slot*x.stride, uint64(n))
}

// claimRanks is how many ranks' slots a claim reads at most. If it read the slots of many more,
// a rank without work would learn late that the search is over.
const claimRanks = 64

// claim fills b with the tasks that some rank has left in a slot, this rank's own first, then those
// of the others in turn. It reports whether there was one; if there are very many ranks, among
// those whose turn it is.
func (x *exchange) claim(ctx context.Context, b *block) (bool, error) {
	for i := range min(x.ranks, claimRanks) {
		rank := (x.next + i) % x.ranks
		for slot := range slotsPerRank {
			ok, err := x.claimSlot(ctx, rank, slot, b)
			if err != nil {
				return false, err
			}
			if ok {
				x.next = rank
				return true, nil
			}
		}
	}
	if x.ranks > claimRanks {
		x.next = (x.next + claimRanks) % x.ranks
	} else {
		x.next = x.rank
	}
	return false, nil
}

func (x *exchange) claimSlot(ctx context.Context, rank, slot int, b *block) (bool, error) {
	off := slot * x.stride
	header, err := x.cells.Load(ctx, rank, off)
	if err != nil || header == 0 || header == slotClaimed {
		return false, err
	}
	mine, err := x.cells.CompareAndSwap(ctx, rank, off, header, slotClaimed)
	if err != nil || !mine {
		return false, err
	}
	tasks := x.buf[:header]
	if err := x.finish(ctx, x.q.Get(tasks, x.window, rank, off+slotHead)); err != nil {
		return false, err
	}
	*b = append((*b)[:0], tasks...)
	return true, x.cells.Store(ctx, rank, off, 0)
}

// offered calls use with each block that this rank has left and nobody has claimed. It
// is for a moment when no rank claims.
func (x *exchange) offered(ctx context.Context, use func(tasks []uint64) error) error {
	for slot := range slotsPerRank {
		n, err := x.cells.Load(ctx, x.rank, slot*x.stride)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		h := x.q.Get(x.buf[:n], x.window, x.rank, slot*x.stride+slotHead)
		if err := x.finish(ctx, h); err != nil {
			return err
		}
		if err := use(x.buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

// finish submits what was posted and waits for it.
func (x *exchange) finish(ctx context.Context, h rma.Handle) error {
	if err := x.q.Submit(); err != nil {
		return err
	}
	if err := x.q.Wait(ctx, h); err != nil {
		return err
	}
	_, err := x.q.Value(h)
	return err
}

func (x *exchange) close() error {
	return errors.Join(x.q.Close(), x.cells.Close(), x.window.Close())
}
