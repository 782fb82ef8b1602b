package set

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// Ref is the reference of an element of an Elements set: the number of its slot
// in an arena, interleaved over the ranks. It fits in 36 bits, means the same on
// every rank, and stays valid when the set grows.
type Ref uint64

const (
	refBits = 36
	refMask = 1<<refBits - 1
)

// arenas hold the elements: slots of whole words in windows, one window at
// the start and one more each time the set grows.
//
//	part 0    | rank 0: slot 0 .. s0-1    | rank 1: slot 0 .. s0-1    | ...
//	part 1    | rank 0: slot s0 .. s1-1   | rank 1: slot s0 .. s1-1   | ...
//
// A slot is written once, before a bucket refers to it, and never changes then.
// Slots are handed out from the own rank's arena, and from the others' when that
// is full: a counter per rank, moved by compare-and-swap in runs of slotRun. Slots
// that Collect has freed are handed out again when the counter is at its end.
type arenas struct {
	job       rma.Job
	slotWords int  // words of a slot
	rankBits  uint // low bits of a Ref that are the rank
	parts     []part
	slots     uint64 // of each rank, in all parts

	counter cells // of each rank: slots handed out, and those freed again

	mu         sync.Mutex
	free       []Ref // slots handed out to this rank and not used, in directly addressable memory
	freeRemote []Ref // and in other memory
}

// part is one window of an arena.
type part struct {
	cells
	segments [][]uint64 // by rank; nil where only queues reach it
	begin    uint64     // first slot of each rank that lies here
}

// slotRun is how many slots are taken from a counter at a time.
const slotRun = 64

// freedRun is how many freed slots are taken at a time.
const freedRun = 16

// newArenas makes arenas with room for elements in all. Collective.
func newArenas(ctx context.Context, job rma.Job, elements uint64, slotWords int) (*arenas, error) {
	a := &arenas{job: job, slotWords: slotWords, rankBits: uint(bits.Len(uint(job.Size() - 1)))}
	var err error
	if a.counter, err = newCells(ctx, job, "slots taken", 2); err != nil {
		return nil, err
	}
	if err := a.extend(ctx, elements); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// extend adds a part so that the arenas hold elements in all. Collective.
func (a *arenas) extend(ctx context.Context, elements uint64) error {
	ranks := uint64(a.job.Size())
	// Free slots that ranks hold must not fill an arena too soon. More than refMask+1 elements
	// are refused below.
	want := (min(elements, refMask+1)+ranks-1)/ranks + 2*slotRun
	if want <= a.slots {
		return nil
	}
	if want > refMask>>a.rankBits {
		return fmt.Errorf("set: %d elements do not fit into 2^%d slots", elements, refBits)
	}
	c, err := newCells(ctx, a.job, "elements", int(want-a.slots)*a.slotWords)
	if err != nil {
		return err
	}
	a.parts = append(a.parts, part{c, core.NewRegions(c.window).Segments, a.slots})
	a.slots = want
	return nil
}

// take appends free slots of any rank to dst until it has n, or until there are no more. With
// directOnly it takes only slots that are directly addressable. It returns an error only when it
// has taken none.
func (a *arenas) take(ctx context.Context, dst []Ref, n int, directOnly bool) ([]Ref, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for had := len(dst); len(dst) < n; {
		from := a.someFree(directOnly)
		if from == nil {
			if err := a.refill(ctx, directOnly); err != nil && len(dst) == had {
				return dst, err
			}
			if from = a.someFree(directOnly); from == nil {
				break
			}
		}
		rest := max(0, len(*from)-(n-len(dst)))
		dst = append(dst, (*from)[rest:]...)
		*from = (*from)[:rest]
	}
	return dst, nil
}

// someFree is a list that has free slots, nil if there is none.
func (a *arenas) someFree(directOnly bool) *[]Ref {
	switch {
	case len(a.free) > 0:
		return &a.free
	case len(a.freeRemote) > 0 && !directOnly:
		return &a.freeRemote
	}
	return nil
}

// refill takes a run of slots from the own arena, else from the next that has any. From
// each arena it takes freed slots last. Lost ranks are an error if no other rank has slots. With
// directOnly they are none: the caller gets no slot, and then takes slots of any rank.
func (a *arenas) refill(ctx context.Context, directOnly bool) error {
	var lost error
	for i := range a.job.Size() {
		rank := (a.job.Rank() + i) % a.job.Size()
		if directOnly && a.parts[0].segments[rank] == nil {
			continue
		}
		begin, end, err := a.takeRun(ctx, rank)
		for slot := end; slot > begin && err == nil; slot-- {
			a.addFree(Ref((slot-1)<<a.rankBits | uint64(rank)))
		}
		for n := end - begin; n < freedRun && err == nil; n++ {
			ref, ok, failed := a.takeFreed(ctx, rank)
			if err = failed; !ok {
				break
			}
			a.addFree(ref) // it may be of another rank's arena
		}
		gone := (*rma.RankError)(nil)
		switch {
		case errors.As(err, &gone) && !directOnly:
			lost = err
		case err != nil && gone == nil:
			return err
		}
		if a.someFree(directOnly) != nil {
			return nil
		}
	}
	return lost
}

// addFree adds a slot to the free slots of this rank.
func (a *arenas) addFree(ref Ref) {
	if _, rank := a.split(ref); a.parts[0].segments[rank] == nil {
		a.freeRemote = append(a.freeRemote, ref)
	} else {
		a.free = append(a.free, ref)
	}
}

// takeRun moves the counter of a rank over the next slots. It never moves beyond
// the slots that exist, so that none is lost when there are more of them later.
func (a *arenas) takeRun(ctx context.Context, rank int) (begin, end uint64, err error) {
	for {
		begin, err = a.counter.Load(ctx, rank, cellTaken)
		end = min(begin+slotRun, a.slots)
		if err != nil || begin == end {
			return begin, begin, err
		}
		// mark: takeRun is about to move the counter
		won, err := a.counter.CompareAndSwap(ctx, rank, cellTaken, begin, end)
		if won || err != nil {
			return begin, end, err
		}
	}
}

// giveBack returns slots that were not used.
func (a *arenas) giveBack(slots []Ref) {
	if len(slots) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ref := range slots {
		a.addFree(ref)
	}
}

// split is the number of a slot in the arena of its rank, and the rank.
func (a *arenas) split(ref Ref) (slot, rank uint64) {
	return uint64(ref) >> a.rankBits, uint64(ref) & (1<<a.rankBits - 1)
}

// locate finds the part, rank and word offset of a slot.
func (a *arenas) locate(ref Ref) (p *part, rank, off int) {
	slot, owner := a.split(ref)
	i := len(a.parts) - 1
	for i > 0 && slot < a.parts[i].begin {
		i--
	}
	p = &a.parts[i]
	return p, int(owner), int(slot-p.begin) * a.slotWords
}

// valid reports whether ref names a slot that exists.
func (a *arenas) valid(ref Ref) bool {
	slot, rank := a.split(ref)
	return rank < uint64(a.job.Size()) && slot < a.slots
}

// capacity is the number of slots of all ranks.
func (a *arenas) capacity() uint64 { return a.slots * uint64(a.job.Size()) }

// words is a slot in directly addressable memory, nil where only queues reach it.
func (a *arenas) words(ref Ref) []uint64 {
	slot, rank := a.split(ref)
	p := &a.parts[len(a.parts)-1]
	if slot < p.begin {
		p, _, _ = a.locate(ref)
	}
	segment := p.segments[rank]
	if segment == nil {
		return nil
	}
	at := (slot - p.begin) * uint64(a.slotWords)
	return segment[at : at+uint64(a.slotWords)]
}

// lines stores a word of the first and of the last line of a slot, and returns how many
// lines that are; dst[0] is nil where the slot is not directly addressable.
func (a *arenas) lines(ref Ref, dst []*uint64) int {
	words := a.words(ref)
	if words == nil {
		dst[0] = nil
		return 0
	}
	dst[0] = &words[0]
	if lineBuckets%len(words) == 0 {
		return 1
	}
	dst[1] = &words[len(words)-1]
	return 2
}

// fetch prefetches the given slots, where they are directly addressable.
func (a *arenas) fetch(slots []Ref) {
	var lines [2 * maxHeldSlots]*uint64
	n := 0
	for _, ref := range slots {
		n += a.lines(ref, lines[n:])
	}
	memory.Prefetch(lines[:n], 1)
}

func (a *arenas) close() error {
	err := a.counter.Close()
	for _, p := range a.parts {
		clear(p.segments)
		err = errors.Join(err, p.Close())
	}
	return err
}
