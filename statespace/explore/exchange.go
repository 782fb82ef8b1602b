package explore

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// exchange is where ranks leave work for ranks that have none: a few slots in each
// rank's segment, each a header and the tasks of one or several blocks. All headers come first, so
// that one get reads all headers of a rank.
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
	next   int       // rank whose slots a claim reads first
	heads  []rma.Buf // of ranks, as a claim reads them
	gets   []rma.Handle
	stride int // words from the tasks of a slot to the tasks of the next
	blocks int // that a slot has room for
}

const (
	slotsPerRank = 4
	slotHead     = 8 // words: the header has a cache line to itself
	slotClaimed  = 1 << 63
	headWords    = slotsPerRank * slotHead
)

// tasks is where the tasks of a slot begin.
func (x *exchange) tasks(slot int) int {
	return headWords + slot*x.stride
}

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
	w, err := job.NewWindow(ctx, rma.Spec{Name: "explore: exchange",
		Words: headWords + slotsPerRank*slotWords})
	if err != nil {
		return nil, err
	}
	x := &exchange{window: w, rank: job.Rank(), ranks: job.Size(), next: job.Rank(),
		stride: slotWords, blocks: blocks}
	if x.cells, err = rma.NewCells(job, w); err != nil {
		return nil, err
	}
	x.heads = make([]rma.Buf, reads(w))
	x.gets = make([]rma.Handle, len(x.heads))
	if x.q, err = job.NewQueue(len(x.heads)); err != nil {
		return nil, err
	}
	heads, err := x.q.Alloc(headWords * len(x.heads))
	if err != nil {
		return nil, err
	}
	for i := range x.heads {
		x.heads[i] = heads[i*headWords:][:headWords]
	}
	x.buf, err = x.q.Alloc(slotWords)
	return x, err
}

// wanted reports whether one of this rank's slots is empty, and which.
func (x *exchange) wanted(ctx context.Context) (slot int, ok bool, err error) {
	for slot := range slotsPerRank {
		header, err := x.cells.Load(ctx, x.rank, slot*slotHead)
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
	h := x.q.Put(x.buf[:n], x.window, x.rank, x.tasks(slot))
	if err := x.finish(ctx, h); err != nil {
		return err
	}
	return x.cells.Store(ctx, x.rank, slot*slotHead, uint64(n))
}

// How many ranks' slots a claim reads at most, where all is memory and where gets may be messages.
// If it read many more, a rank without work would learn late that the search is over; and if all
// ranks did, their messages would grow with the square of the ranks.
const (
	claimRanks = 64
	askedRanks = 2
	askedAll   = 8 // so many ranks are all read
)

// reads reports how many ranks a rank without work reads at a time.
func reads(w rma.Window) int {
	for rank := range w.Size() {
		if n := w.Size(); w.Words(rank) == nil && n > askedAll {
			return askedRanks
		} else if w.Words(rank) == nil {
			return n
		}
	}
	return min(claimRanks, w.Size())
}

// turns is in how many rounds a rank without work asks once whether a level is over: often enough
// for one of all ranks to ask in about each round, as that reads words of every rank.
func turns(w rma.Window) int {
	if n := reads(w); n < min(w.Size(), claimRanks) {
		return w.Size()
	}
	return (w.Size() + claimRanks - 1) / claimRanks
}

// claim fills b with the tasks that some rank has left in a slot, this rank's own first, then those
// of the others in turn. It reports whether there was one; if there are very many ranks, among
// those whose turn it is.
func (x *exchange) claim(ctx context.Context, b *block) (bool, error) {
	// Where there was work there may be more. What the others have left is read at once.
	for first, n := 0, 1; first < len(x.heads); first, n = first+n, len(x.heads)-1 {
		if err := x.readHeads(ctx, first, n); err != nil {
			return false, err
		}
		for i := first; i < first+n; i++ {
			rank := (x.next + i) % x.ranks
			ok, err := x.claimOf(ctx, rank, x.heads[i], b)
			if err != nil {
				return false, err
			}
			if ok {
				x.next = rank
				return true, nil
			}
		}
	}
	if x.ranks > len(x.heads) {
		x.next = (x.next + len(x.heads)) % x.ranks
	} else {
		x.next = x.rank
	}
	return false, nil
}

// readHeads reads the headers of n ranks, from one of those whose turn it is.
func (x *exchange) readHeads(ctx context.Context, first, n int) error {
	for i := first; i < first+n; i++ {
		x.gets[i] = x.q.Get(x.heads[i], x.window, (x.next+i)%x.ranks, 0)
	}
	if err := x.q.Submit(); err != nil {
		return err
	}
	var failed error
	for _, h := range x.gets[first : first+n] {
		if err := x.q.Wait(ctx, h); err != nil {
			return err
		}
		if _, err := x.q.Value(h); failed == nil {
			failed = err
		}
	}
	return failed
}

// claimOf claims a slot of a rank whose headers were read.
func (x *exchange) claimOf(ctx context.Context, rank int, heads rma.Buf, b *block) (bool, error) {
	for slot := range slotsPerRank {
		header := heads[slot*slotHead]
		if header == 0 || header == slotClaimed {
			continue
		}
		mine, err := x.cells.CompareAndSwap(ctx, rank, slot*slotHead, header, slotClaimed)
		if err != nil {
			return false, err
		}
		if !mine {
			continue
		}
		tasks := x.buf[:header]
		if err := x.finish(ctx, x.q.Get(tasks, x.window, rank, x.tasks(slot))); err != nil {
			return false, err
		}
		*b = append((*b)[:0], tasks...)
		return true, x.cells.Store(ctx, rank, slot*slotHead, 0)
	}
	return false, nil
}

// offered calls use with each block that this rank has left and nobody has claimed. It
// is for a moment when no rank claims.
func (x *exchange) offered(ctx context.Context, use func(tasks []uint64) error) error {
	for slot := range slotsPerRank {
		n, err := x.cells.Load(ctx, x.rank, slot*slotHead)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		h := x.q.Get(x.buf[:n], x.window, x.rank, x.tasks(slot))
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
