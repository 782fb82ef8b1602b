package set

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

const (
	// growLoad is the load factor at which a table begins to move to the next one.
	growLoad = 0.8
	// longSearch is how many buckets an insertion examines before it is a reason to find out how
	// full the table is: at load 0.5 one in a million, at 0.8 one in twenty.
	longSearch = 64
	// longPerSample is how many calls with long searches there are for each sample, and
	// samplesPerTable how many there are where batches fill a table: full before the next sample,
	// it would have searches so long that they leave the memory of their rank.
	longPerSample   = 16
	samplesPerTable = 16
	// partsPerTable is how many parts of batches fill a rank's part of a table, of minPart items at
	// least.
	partsPerTable, minPart = 64, 16
	// minAtOnce is how many insertions of a batch are shipped at a time at least.
	minAtOnce = 256
	// endless is how many buckets a search examines in a table that moves, unless it was so full
	// that too few buckets are closed: one in a million where it was 0.9 full.
	endless = 1 << 10
	// sampleBuckets is how many buckets are counted then, and 16 times as many if these are full.
	sampleBuckets = 2048

	// pieceBuckets is how many buckets a piece has, or more in large tables, and maxPieces how many
	// pieces a rank's part of a table has at most.
	pieceBuckets = 4096
	maxPieces    = 1 << 13
	// movedPerItem is how many buckets a batch moves for each of its items. A table that begins to
	// move at growLoad has then moved long before the next one is as full. With 8 it took a third
	// longer to fill a set that grows, as searches go on in two tables while one moves.
	movedPerItem = 32
)

// partLen is how many items a batch searches for until it looks whether the table is to grow, so
// that there are samples enough while several batches fill it.
func (sp *space) partLen() int { return int(max(minPart, sp.newest().perRank/partsPerTable)) }

// pieceLen is how many buckets a piece of a table has.
func (t *table) pieceLen() uint64 {
	return max(pieceBuckets, (t.perRank+maxPieces-1)/maxPieces)
}

// piecesPerRank is how many pieces a rank's part of a table has.
func (t *table) piecesPerRank() int { return int((t.perRank + t.pieceLen() - 1) / t.pieceLen()) }

// marks are what the ranks tell each other of growth. Each rank has
//
//	cellOldest  of rank 0 alone: all tables before this one have moved
//	cellBegun   the last table that this rank has come to
//	cellReady   the last table whose part on this rank has memory
//	cellPiece   and on: piece i of all tables before this one has moved
//
// The cells only rise. The first is only a shorter way to what the others say.
type marks struct {
	cells
	regions core.Regions

	mu     sync.Mutex
	reader *core.Reader
}

const (
	cellOldest = iota
	cellBegun
	cellReady
	cellPiece
)

// newMarks makes the marks of a set. Collective.
func newMarks(ctx context.Context, sp *space) (*marks, error) {
	last := sp.tables[len(sp.tables)-1].buckets / uint64(sp.job.Size())
	pieces := min(maxPieces, int(last+pieceBuckets-1)/pieceBuckets)
	c, err := newCells(ctx, sp.job, "marks", cellPiece+pieces)
	if err != nil {
		return nil, err
	}
	m := &marks{cells: c, regions: core.NewRegions(c.window)}
	m.reader, err = core.NewReader(sp.job, c.window, &m.regions, pieces)
	return m, err
}

func (m *marks) close() error {
	if m == nil {
		return nil
	}
	m.regions = core.Regions{}
	return errors.Join(m.reader.Close(), m.cells.Close())
}

// Load returns a cell. What this process can address is there also when its rank is lost, as it is
// for searches.
func (m *marks) Load(ctx context.Context, rank, cell int) (uint64, error) {
	if segment := m.regions.Here(rank); segment != nil {
		return atomic.LoadUint64(&segment[cell]), nil
	}
	return m.cells.Load(ctx, rank, cell)
}

// swap swaps a cell.
func (m *marks) swap(rank, cell int, old, gen uint64) (won bool, err error) {
	if segment := m.regions.Here(rank); segment != nil {
		return atomic.CompareAndSwapUint64(&segment[cell], old, gen), nil
	}
	return m.CompareAndSwap(context.Background(), rank, cell, old, gen)
}

// raise makes a cell at least gen.
func (m *marks) raise(rank, cell, gen int) error {
	for {
		seen, err := m.Load(context.Background(), rank, cell)
		if err != nil || seen >= uint64(gen) {
			return err
		}
		won, err := m.swap(rank, cell, seen, uint64(gen))
		if won || err != nil {
			return err
		}
	}
}

// begun is the last table that a rank has come to.
func (m *marks) begun(ctx context.Context) (last uint64, err error) {
	err = m.cells.Gather(ctx, cellBegun, 1, func(rank int, gen []uint64, err error) error {
		if segment := m.regions.Here(rank); segment != nil {
			last = max(last, atomic.LoadUint64(&segment[cellBegun]))
			return nil
		}
		if err == nil {
			last = max(last, gen[0])
		}
		return ignoreLost(err)
	})
	return last, err
}

// unmoved appends the pieces of a rank that are not marked for a table.
func (m *marks) unmoved(dst []int, rank, pieces, gen int) ([]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	words, err := m.reader.Read(context.Background(), rank, cellPiece, pieces)
	for i, word := range words {
		if word <= uint64(gen) {
			dst = append(dst, i)
		}
	}
	return dst, err
}

// A table is in one of these states, as far as this rank knows. Other ranks move it too, so a state
// may be skipped. A table that has moved keeps its state, and searches begin at the next one.
//
//	none    -> wanted  a sample is full, a search goes on in the next table, or another rank asks
//	wanted  -> none    there is no memory for the next table: a later sample tries again
//	        -> moving  all of the next table has memory
//	moving  -> stuck   a piece does not fit into the tables after this one
//	stuck   -> moving  a piece does not move for another reason
//	any     -> lost    a piece stays because memory is lost
//	lost    -> rest    all other pieces have moved, or one of them does not fit
//	any     -> rest    all pieces have moved, and searches begin at a table before this one
const (
	growthNone = iota
	growthWanted
	growthMoving
	growthStuck
	growthLost
	growthRest
)

// progress is how far this rank knows a table to have moved.
type progress struct {
	state  atomic.Uint32
	long   atomic.Uint64 // calls with long searches, by their weight
	memory preparation

	mu      sync.Mutex
	known   int             // ranks, from the own one on, all of whose pieces have moved
	pending []int           // pieces of the next rank that had not when this rank last looked
	left    map[[2]int]bool // rank and piece: it cannot move, as memory is lost
	stays   bool            // a piece stays in this table for good, as memory is lost
}

// raise has the table come to a state, unless it is in a later one.
func (p *progress) raise(state uint32) {
	for s := p.state.Load(); s < state && !p.state.CompareAndSwap(s, state); s = p.state.Load() {
	}
}

// leave notes that a piece stays because memory is lost. Searches still begin at this table, and
// find what the piece holds.
func (p *progress) leave(rank, piece int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == nil {
		p.left = map[[2]int]bool{}
	}
	p.left[[2]int{rank, piece}] = true
	p.stays = true
	p.raise(growthLost)
}

// hasMoved reports, when no piece is left that can move, whether all have. The state does not tell:
// another call may have gone on from growthLost since.
func (p *progress) hasMoved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.stays
}

// preparation is how much memory the table after this one has, as far as this rank knows.
type preparation struct {
	mu      sync.Mutex
	ranks   int    // from the own one on, whose parts have all
	buckets uint64 // of the part of the next rank
	refused error  // why the last step failed
}

// errNoMemory says that the next table has no memory, or not yet.
var errNoMemory = errors.New("set: there is no memory for the next table")

// ErrMayGrow is why there is no memory where [Config].MayGrow refuses it.
var ErrMayGrow = errors.New("set: Config.MayGrow refuses a larger table")

// stepBuckets is how many buckets get memory in one step: 2 MiB, a large page.
const stepBuckets = 1 << 18

// prepare takes memory for n buckets of the next table, or for a step more, so that small parts of
// all ranks have it in one call. ready says that all its parts have memory: nobody may use it
// before. The error is the engine's; preparation.refused says where there is no memory.
func (t *table) prepare(n uint64) (ready bool, err error) {
	p, m, ranks := &t.progress.memory, &t.tables[t.gen+1], t.job.Size()
	perRank := m.buckets / uint64(ranks)
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.refused = nil; p.ranks < ranks; {
		rank := (t.job.Rank() + p.ranks) % ranks
		if p.buckets == 0 || n == 0 {
			gen, err := t.marks.Load(context.Background(), rank, cellReady)
			if ignoreLost(err) != nil {
				return false, err
			}
			if err != nil || gen > uint64(t.gen) { // lost, or another rank was faster
				p.ranks, p.buckets = p.ranks+1, 0
				continue
			}
		}
		if n == 0 {
			return false, nil
		}
		if p.buckets == 0 && !t.mayGrow(t.bytes(t.gen), t.movingBytes(t.gen+1)) {
			p.refused = ErrMayGrow
			return false, nil
		}
		step := min(stepBuckets, perRank-p.buckets)
		n -= min(n, max(step, 1))
		if m.commit != nil && step > 0 { // 0: only the mark has failed
			err := m.commit(rank, int(p.buckets), int(step))
			if p.refused = ignoreLost(err); p.refused != nil {
				return false, nil
			}
		}
		if p.buckets += step; p.buckets == perRank {
			if err := ignoreLost(t.marks.raise(rank, cellReady, t.gen+1)); err != nil {
				return false, err
			}
			p.ranks, p.buckets = p.ranks+1, 0
		}
	}
	return true, nil
}

// prepareBegun is prepare where another rank has come to the next table without the memory of a
// lost rank that this process can address. Something may be there, so that it is needed.
func (t *table) prepareBegun() (ready bool, err error) {
	begun, err := t.marks.begun(context.Background())
	if err != nil || begun <= uint64(t.gen) {
		return false, err
	}
	if ready, err = t.prepare(math.MaxUint64); err == nil && !ready {
		err = t.refused()
	}
	return ready, err
}

// refused is why there is no memory for the next table; nil: nobody has asked for it, or it is the
// last one.
func (t *table) refused() error {
	p := &t.progress.memory
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// claim returns a piece that has not moved, as far as this rank knows. Others may be moving it as
// well. ok is false if no piece is left that can move. Without far the pieces that this process
// cannot address are left to their owners; the piece is -1 if only these have not moved.
func (t *table) claim(far bool) (rank, piece int, ok bool, err error) {
	p, ranks := &t.progress, t.job.Size()
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.known < ranks; p.known++ {
		rank = (t.job.Rank() + p.known) % ranks
		if len(p.pending) == 0 {
			p.pending, err = t.marks.unmoved(p.pending, rank, t.piecesPerRank(), t.gen)
			if err != nil && ignoreLost(err) == nil {
				// mark: what a lost rank has of a table cannot move
				p.stays = true
				p.raise(growthLost)
				err = nil
			}
			p.pending = slices.DeleteFunc(p.pending, func(piece int) bool {
				return p.left[[2]int{rank, piece}]
			})
		}
		n := len(p.pending)
		switch {
		case err != nil:
			return 0, 0, false, err
		case n > 0 && !far && p.known > 0 && t.regions.Here(rank) == nil:
			p.pending = p.pending[:0] // it looks again when it comes back
			return rank, -1, true, nil
		case n > 0 && p.known == 0:
			piece, p.pending = p.pending[0], p.pending[1:]
			return rank, piece, true, nil
		case n > 0: // from the end, where the owner comes last
			piece, p.pending = p.pending[n-1], p.pending[:n-1]
			return rank, piece, true, nil
		}
	}
	return 0, 0, false, nil
}

// tend has the table grow after calls of this rank or, if served, of others that this rank answers.
// c counts these calls. If the table is full tend takes memory for the next one, and then moves
// pieces.
//
// The owner of a piece moves it in a few microseconds, also while it answers requests. One-sided
// operations, thousands of them, take far longer. So where batches are shipped, only calls that are
// not shipped move pieces of others: it may be that nobody asks their owner.
func (t *table) tend(c *counts, insert, served bool) {
	t = t.moves()
	p := &t.progress
	switch state := p.state.Load(); {
	case t.last, state == growthStuck:
		return
	case !insert:
		if c.beyond > 0 {
			t.learn()
		}
		return
	case state != growthNone:
	case c.beyond > 0 && t.following.Load() != nil,
		c.longest >= longSearch && t.sampleDue(c) && t.isFull():
		p.raise(growthWanted)
	default:
		return
	}
	moved, least := (c.inserted+c.found+c.full)*movedPerItem, uint64(0)
	if c.beyond > 0 || c.longest >= longSearch {
		least = 1
	}
	// An error of the engine comes again, in a call that needs the memory.
	if p.state.Load() == growthWanted {
		ready, _ := t.prepare(max(moved/stepBuckets, least) * stepBuckets)
		if ready {
			p.raise(growthMoving)
		} else if t.refused() != nil {
			p.state.CompareAndSwap(growthWanted, growthNone)
		}
	}
	if p.state.Load() >= growthMoving {
		far := !served && (!t.batches.Ships() || moved < t.pieceLen())
		_, _ = t.help(max(moved/t.pieceLen(), least), far)
	}
}

// press moves all of a table at once if the next one is full too, which nobody moves before this
// one, or if searches pass the whole table. c counts the calls of a part of a batch.
func (t *table) press(c *counts, served bool) {
	t = t.moves()
	next := t.following.Load()
	if next == nil || c.longest < longSearch {
		return
	}
	full := !next.last && next.sampleDue(c) && next.isFull()
	if full || c.longest >= min(t.limit, endless) {
		t.moveAll(served)
	}
}

// moveAll has all of a table move. The owners of what this rank cannot address are asked to move
// it. Who answers a request must not ask: it moves a piece by one-sided operations.
func (t *table) moveAll(served bool) {
	done, err := t.help(math.MaxUint64, !served && !t.batches.Ships())
	switch {
	case done || err != nil:
	case served:
		_, _ = t.help(1, true)
	case t.ask() == nil:
		_, _ = t.help(1, false)
	}
}

// askedPieces is how many pieces an owner moves for one request, so that others wait a short time.
const askedPieces = 64

// ask has the owners of memory that this process cannot address move their pieces. Small calls move
// those of owners that cannot be asked.
func (t *table) ask() error {
	var ranks []int
	for rank := range t.job.Size() {
		if t.regions.Here(rank) == nil {
			ranks = append(ranks, rank)
		}
	}
	requests, err := t.batches.Ask(context.Background(), ranks,
		core.Question{Kind: kindMove, About: uint64(t.gen)})
	t.tally.add(&counts{queues: requests})
	return err
}

// moveAsked answers a request to move this rank's part of a table: 1 if a part of it is left to
// move that another request would move.
func (sp *space) moveAsked(n int, request, answer []uint64) (words int, err error) {
	if n != 1 || len(request) != 1 || request[0] >= uint64(len(sp.tables)-1) || len(answer) < 1 {
		return 0, fmt.Errorf("set: a request to move tables has %d words and room for %d; run the "+
			"same program on every rank", len(request), len(answer))
	}
	answer[0] = 0
	t := sp.oldest.Load()
	for t = t.moves(); uint64(t.gen) < request[0]; t = t.moves() {
		// The rank that asks has found that this table has moved.
		if done, err := t.help(1, false); !done || err != nil {
			return 1, err
		}
		t = sp.oldest.Load()
	}
	if uint64(t.gen) > request[0] {
		return 1, nil
	}
	t.progress.raise(growthWanted)
	ready, err := t.prepare(math.MaxUint64)
	if !ready || err != nil {
		return 1, err
	}
	t.progress.raise(growthMoving)
	if done, err := t.help(askedPieces, false); done || err != nil {
		return 1, err
	}
	left, err := t.marks.unmoved(nil, t.job.Rank(), t.piecesPerRank(), t.gen)
	if len(left) > 0 && t.progress.state.Load() < growthStuck {
		answer[0] = 1
	}
	return 1, err
}

// sampleDue reports whether a call with a long search is a reason to count a sample. The first one
// is.
func (t *table) sampleDue(c *counts) bool {
	weight := 1 + c.inserted*longPerSample/(t.perRank/samplesPerTable+1)
	samples := func(calls uint64) uint64 { return (calls + longPerSample - 1) / longPerSample }
	after := t.progress.long.Add(weight)
	return samples(after) != samples(after-weight)
}

// moves is the first table, from this one on, of which this rank may have something left to move.
func (t *table) moves() *table {
	for t.progress.state.Load() == growthRest {
		t = t.following.Load()
	}
	return t
}

// learn has searches begin at the table that others know to be the oldest.
func (t *table) learn() {
	gen, err := t.marks.Load(context.Background(), 0, cellOldest)
	if err == nil && gen > uint64(t.gen) && gen < uint64(len(t.tables)) {
		t.advance(int(gen))
	}
}

// help has up to n pieces of a table move, with far also of memory that this process cannot
// address. done says that all have.
func (t *table) help(n uint64, far bool) (done bool, err error) {
	if n > 0 {
		t.learn()
	}
	for ; n > 0 && t.oldest.Load().moves() == t; n-- {
		rank, piece, ok, err := t.claim(far)
		if err != nil {
			return false, err
		}
		if !ok {
			return t.endMove()
		}
		if piece < 0 {
			return false, nil
		}
		if err := t.movePiece(rank, piece); err != nil {
			return false, err
		}
	}
	return t.oldest.Load() != t, nil
}

// endMove ends the move of a table when no piece is left that can move. done says that all have.
func (t *table) endMove() (done bool, err error) {
	if t.progress.hasMoved() && t.oldest.Load() == t {
		// mark: all pieces have moved
		_ = t.marks.raise(0, cellOldest, t.gen+1) // others find out without it
		t.advance(t.gen + 1)
		return true, nil
	}
	_, err = t.next(false)
	if err == nil {
		t.progress.raise(growthRest)
	}
	return false, err
}

// isFull reports whether the table is to move. Occupied buckets come in clusters, so that a sample
// of a table at load 0.75 may well be fuller than growLoad: a larger one confirms it.
func (t *table) isFull() bool {
	return t.sampleIsFull(sampleBuckets) && t.sampleIsFull(16*sampleBuckets)
}

// sampleIsFull counts a run of up to n of this rank's buckets.
func (t *table) sampleIsFull(n uint64) bool {
	n = min(n, t.perRank)
	r, err := newReader(t)
	if err != nil {
		return false
	}
	defer r.Close()
	taken, off := uint64(0), rand.Uint64N(t.perRank-n+1)
	for end := off + n; off < end; {
		run, err := r.Read(context.Background(), t.job.Rank(), int(off),
			int(min(end-off, scanWords)))
		if err != nil {
			return false
		}
		for _, bucket := range run {
			taken += bucket >> 63
		}
		off += uint64(len(run))
	}
	return float64(taken) >= growLoad*float64(n)
}

// movePiece has a piece of a table move:
//
//	close  each empty bucket is swapped for closed, so that none changes any more
//	copy   what the occupied buckets hold is put into the next table, unless it is there
//	mark   the piece has moved
//
// Any rank may take any of these steps at any time, several at the same time.
func (t *table) movePiece(rank, piece int) error {
	next, err := t.next(true)
	if err != nil {
		return err
	}
	b := batch{t: next, insert: true, moves: true, items: make([]uint64, 0, growRun)}
	begin := uint64(piece) * t.pieceLen()
	end := min(begin+t.pieceLen(), t.perRank)
	left := false
	for off := begin; off < end; off += growRun {
		var err error
		n := int(min(growRun, end-off))
		if segment := t.regions.Here(rank); segment != nil {
			b.items = closeRun(b.items[:0], segment[off:][:n])
		} else if b.items, err = t.closeQueued(b.items[:0], rank, int(off), n); err != nil {
			return ignoreLost(err)
		}
		// mark: buckets are closed and are about to be copied
		if err := b.moveBuckets(); ignoreLost(err) != nil {
			switch p := &t.progress.state; {
			case b.full == 0:
				p.CompareAndSwap(growthStuck, growthMoving)
			case !p.CompareAndSwap(growthLost, growthRest):
				t.progress.raise(growthStuck)
			}
			return err
		} else if err != nil {
			left = true
		}
	}
	if left || !t.movedBefore(rank, piece) {
		t.progress.leave(rank, piece)
		return nil
	}
	// mark: a piece has been copied and is about to be marked
	return ignoreLost(t.marks.raise(rank, cellPiece+piece, t.gen+1))
}

// movedBefore reports whether a piece has moved in all tables before this one, which its mark says
// as well.
func (t *table) movedBefore(rank, piece int) bool {
	if t.gen == 0 || t.oldest.Load() == t {
		return true
	}
	before := table{perRank: t.tables[t.gen-1].buckets / uint64(t.job.Size())}
	if piece >= before.piecesPerRank() {
		return true
	}
	gen, err := t.marks.Load(context.Background(), rank, cellPiece+piece)
	return err == nil && gen >= uint64(t.gen)
}

// moveBuckets finds or puts what the buckets hold that are the items of b. Words go the way of any
// batch; what buckets of elements hold is not compared, as each element has one reference.
func (b *batch) moveBuckets() error {
	if cap(b.results) < len(b.items) {
		b.results = make([]end, growRun)
	}
	b.results = b.results[:len(b.items)]
	if b.t.arenas != nil {
		if err := b.t.hashAll(b); err != nil {
			return err
		}
		return b.insertBuckets()
	}
	for i := range b.items {
		b.items[i] &^= occupied
	}
	err := b.t.batches.Own(len(b.items), b)
	if err == nil && b.full > 0 {
		err = b.t.newest().fullError(false)
	}
	return err
}

// ignoreLost is nil where memory is lost with a rank: no search can end there any more.
func ignoreLost(err error) error {
	if gone := (*rma.RankError)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

// closeRun closes the empty ones of some buckets, and appends the others to dst.
func closeRun(dst, run []uint64) []uint64 {
	for i := range run {
		word := atomic.LoadUint64(&run[i])
		if word == 0 {
			// mark: a bucket is about to be closed
			if atomic.CompareAndSwapUint64(&run[i], 0, closed) {
				continue
			}
			word = atomic.LoadUint64(&run[i])
		}
		if word&occupied != 0 {
			dst = append(dst, word)
		}
	}
	return dst
}

// closeDepth is how many buckets are closed at the same time through a queue.
const closeDepth = 64

// closeQueued is closeRun for n buckets that only queues reach.
func (t *table) closeQueued(dst []uint64, rank, off, n int) ([]uint64, error) {
	ctx := context.Background()
	q, err := t.job.NewQueue(closeDepth)
	if err != nil {
		return dst, err
	}
	defer q.Close()
	run, err := q.Alloc(n)
	if err != nil {
		return dst, err
	}
	get := q.Get(run, t.window, rank, off)
	if err := q.Submit(); err != nil {
		return dst, err
	}
	if err := q.Wait(ctx, get); err != nil {
		return dst, err
	}
	if _, err := q.Value(get); err != nil {
		return dst, err
	}
	for i := 0; i < n; {
		var swaps [closeDepth]rma.Handle
		var at [closeDepth]int
		posted := 0
		for ; i < n && posted < closeDepth; i++ {
			if run[i] == 0 {
				swaps[posted] = q.CompareAndSwap(t.window, rank, off+i, 0, closed)
				at[posted] = i
				posted++
			}
		}
		// mark: buckets are about to be closed through a queue
		if err := q.Submit(); err != nil {
			return dst, err
		}
		for k := range posted {
			if err := q.Wait(ctx, swaps[k]); err != nil {
				return dst, err
			}
			if run[at[k]], err = q.Value(swaps[k]); err != nil {
				return dst, err
			}
		}
	}
	for _, word := range run {
		if word&occupied != 0 {
			dst = append(dst, word)
		}
	}
	return dst, nil
}

// inUse is the tables that may hold something, from the oldest on.
func (sp *space) inUse(ctx context.Context) ([]*table, error) {
	if err := sp.sessions.Open(); err != nil {
		return nil, err
	}
	sp.oldest.Load().learn()
	begun, err := sp.marks.begun(ctx)
	if err != nil {
		return nil, err
	}
	if begun >= uint64(len(sp.tables)) {
		return nil, fmt.Errorf("set: there is no table %d; run the same program on every rank",
			begun)
	}
	t := sp.oldest.Load()
	all := []*table{t}
	for ; uint64(t.gen) < begun; all = append(all, t) {
		if t, err = t.next(false); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// settle has all tables move that have begun to, and returns those that hold something then: more
// than one only if the last one is full, or memory is lost.
func (sp *space) settle(ctx context.Context) ([]*table, error) {
	for {
		all, err := sp.inUse(ctx)
		if err != nil || len(all) == 1 {
			return all, err
		}
		done, err := all[0].help(1, true)
		state := all[0].progress.state.Load()
		if state == growthStuck || state == growthRest || state == growthLost && err == nil {
			return all, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && !done {
			return nil, err
		}
	}
}

// isIn reports whether one of some tables holds what a bucket of another one does.
func (t *table) isIn(tables []*table, bucket uint64) (bool, error) {
	if len(tables) == 0 {
		return false, nil
	}
	hash, err := t.hashOf(bucket)
	if err != nil {
		return false, err
	}
	for _, other := range tables {
		if other.flat != nil {
			if other.holdsDirectly(bucket, hash) {
				return true, nil
			}
			continue
		}
		r, err := newReader(other)
		if err != nil {
			return false, err
		}
		found, err := other.holds(r, bucket, hash)
		if err = errors.Join(err, r.Close()); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// holdsDirectly is holds for a table whose buckets are all directly addressable.
func (t *table) holdsDirectly(word, hash uint64) bool {
	at := t.home(hash)
	for range t.limit {
		bucket := atomic.LoadUint64(&t.flat[at])
		if bucket == word || bucket&occupied == 0 {
			return bucket == word
		}
		if at++; at == t.buckets {
			at = 0
		}
	}
	return false
}

// holds reports whether a bucket of a table has a word, whose hash is given.
func (t *table) holds(r *core.Reader, word, hash uint64) (bool, error) {
	home := t.home(hash)
	for step := uint64(0); step < t.limit; {
		rank, off := t.place((home + step) % t.buckets)
		n := min(t.limit-step, t.perRank-uint64(off), lineBuckets)
		run, err := r.Read(context.Background(), rank, off, int(n))
		if err != nil {
			return false, err
		}
		for _, bucket := range run {
			if bucket == word || bucket&occupied == 0 {
				return bucket == word, nil
			}
		}
		step += n
	}
	return false, nil
}
