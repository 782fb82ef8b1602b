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
	refused    error // why slots got no memory when this rank last needed some, or nil
	free       []Ref // slots handed out to this rank and not used, in directly addressable memory
	freeRemote []Ref // and in other memory
}

// part is one window of an arena.
type part struct {
	cells
	segments [][]uint64 // by rank; nil where only queues reach it
	begin    uint64     // first slot of each rank that is here
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
	c, err := cellsOf(ctx, a.job, rma.Spec{Name: "set: elements",
		Words: int(want-a.slots) * a.slotWords, Reserve: true})
	if err != nil {
		return err
	}
	a.parts = append(a.parts, part{c, core.NewRegions(c.window).Segments, a.slots})
	a.slots = want
	return nil
}

func (a *arenas) close() error {
	err := a.counter.Close()
	for _, p := range a.parts {
		clear(p.segments)
		err = errors.Join(err, p.Close())
	}
	return err
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
	a.refused = nil
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

// takeRun moves the counter of a rank over the next slots, which have memory then. It never moves
// beyond the slots that exist, so that none is lost when there are more of them later.
func (a *arenas) takeRun(ctx context.Context, rank int) (begin, end uint64, err error) {
	for {
		begin, err = a.counter.Load(ctx, rank, cellTaken)
		end = min(begin+slotRun, a.slots)
		if err != nil || begin == end {
			return begin, begin, err
		}
		if err := ignoreLost(a.takeMemory(rank, begin, end)); err != nil {
			a.refused = err
			return begin, begin, nil
		}
		// mark: takeRun is about to move the counter
		won, err := a.counter.CompareAndSwap(ctx, rank, cellTaken, begin, end)
		if won || err != nil {
			return begin, end, err
		}
	}
}

// takeMemory takes the memory of slots of a rank.
func (a *arenas) takeMemory(rank int, begin, end uint64) error {
	for i, p := range a.parts {
		to := end
		if i+1 < len(a.parts) {
			to = min(end, a.parts[i+1].begin)
		}
		w, ok := p.window.(rma.Committer)
		if from := max(begin, p.begin); ok && from < to {
			words := int(to-from) * a.slotWords
			if err := w.Commit(rank, int(from-p.begin)*a.slotWords, words); err != nil {
				return err
			}
		}
	}
	return nil
}

// whyNone is why slots got no memory when this rank last needed some, or nil.
func (a *arenas) whyNone() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
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

// capacity is the number of slots of all ranks.
func (a *arenas) capacity() uint64 { return a.slots * uint64(a.job.Size()) }

// valid reports whether ref names a slot that exists.
func (a *arenas) valid(ref Ref) bool {
	slot, rank := a.split(ref)
	return rank < uint64(a.job.Size()) && slot < a.slots
}

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

// split is the number of a slot in the arena of its rank, and the rank.
func (a *arenas) split(ref Ref) (slot, rank uint64) {
	return uint64(ref) >> a.rankBits, uint64(ref) & (1<<a.rankBits - 1)
}

// Slots that Collect has freed form a chain for each rank that freed them. All ranks take
// from it. The first word of a slot refers to the next slot. The head is beside the
// counter of slots taken.
//
//	head  | version (28) | reference of the first slot, plus 1 (36) |
//
// The head is changed by compare-and-swap. Its version changes each time: if a slot was
// taken and freed again since, the compare-and-swap fails, as the slot after it may be
// another one.
const (
	cellTaken = 0 // word of the counter window: slots handed out
	cellFreed = 1 // head of the chain

	versionOne = 1 << refBits
)

// putFreed puts slots at the head of this rank's chain.
func (a *arenas) putFreed(ctx context.Context, slots []Ref) error {
	if len(slots) == 0 {
		return nil
	}
	for i, ref := range slots[1:] {
		if err := a.link(ctx, slots[i], uint64(ref)+1); err != nil {
			return err
		}
	}
	rank, last := a.job.Rank(), slots[len(slots)-1]
	for {
		head, err := a.counter.Load(ctx, rank, cellFreed)
		if err != nil {
			return err
		}
		if err := a.link(ctx, last, head&refMask); err != nil {
			return err
		}
		won, err := a.moveHead(ctx, rank, head, uint64(slots[0])+1)
		if won || err != nil {
			return err
		}
	}
}

// takeFreed takes a slot from the chain of a rank; ok is false when it is empty.
func (a *arenas) takeFreed(ctx context.Context, rank int) (ref Ref, ok bool, err error) {
	for {
		head, err := a.counter.Load(ctx, rank, cellFreed)
		if err != nil || head&refMask == 0 {
			return 0, false, err
		}
		ref = Ref(head&refMask - 1)
		p, owner, off := a.locate(ref)
		// If another rank has taken the slot this is part of an element, and the
		// compare-and-swap fails.
		next, err := p.Load(ctx, owner, off)
		if err != nil {
			return 0, false, err
		}
		// mark: takeFreed knows what follows a slot
		won, err := a.moveHead(ctx, rank, head, next)
		if won || err != nil {
			return ref, won, err
		}
	}
}

// moveHead makes next the head of a chain, and reports whether head was still there.
func (a *arenas) moveHead(ctx context.Context, rank int, head, next uint64) (bool, error) {
	return a.counter.CompareAndSwap(ctx, rank, cellFreed, head,
		(head&^refMask+versionOne)|next&refMask)
}

// link stores in a free slot a reference, plus 1, of the next slot of the chain.
func (a *arenas) link(ctx context.Context, slot Ref, next uint64) error {
	p, rank, off := a.locate(slot)
	return p.Store(ctx, rank, off, next)
}

// maxHeldSlots is how many free arena slots a batch holds at most.
const maxHeldSlots = 32

// heldSlots is the free arena slots that one batch holds. They are filled up and prefetched
// when half of them are used, so that a slot is in the cache when an element is written to
// it: a compare-and-swap waits for all writes before it.
type heldSlots struct {
	arenas     *arenas
	directOnly bool   // take only slots that are directly addressable
	needed     int    // slots to be taken ahead, while the arenas have as many as wanted
	noSlot     uint64 // slots that were needed and that no arena had

	slots [maxHeldSlots]Ref
	begin int // the free slots are slots[begin:end]
	end   int
}

// next returns a free slot, ok false when no arena has one.
func (h *heldSlots) next() (ref Ref, ok bool, err error) {
	if n := h.end - h.begin; n == 0 || n <= maxHeldSlots/2 && h.needed > 0 {
		if err := h.fill(); err != nil {
			return 0, false, err
		}
		if h.begin == h.end {
			// mark: no arena has a slot for an element
			h.noSlot++
			return 0, false, nil
		}
	}
	ref = h.slots[h.begin]
	h.begin++
	return ref, true, nil
}

// fill takes slots from the arenas and prefetches them.
func (h *heldSlots) fill() error {
	had := copy(h.slots[:], h.slots[h.begin:h.end])
	h.begin, h.end = 0, had
	want := had + max(1, min(maxHeldSlots/2, h.needed))
	slots, err := h.arenas.take(context.Background(), h.slots[:had], want, h.directOnly)
	if err != nil && had == 0 {
		return err
	}
	h.end = len(slots)
	if h.needed -= h.end - had; h.end < want {
		h.needed = 0
	}
	h.arenas.fetch(slots[had:])
	return nil
}

// takeBack takes back a slot whose element lost its compare-and-swap.
func (h *heldSlots) takeBack(ref Ref) {
	if h.begin == 0 { // it has been filled up since
		h.arenas.giveBack([]Ref{ref})
		return
	}
	// mark: a slot whose element lost its bucket is taken back
	h.begin--
	h.slots[h.begin] = ref
}

// release gives back what was not used.
func (h *heldSlots) release() {
	h.arenas.giveBack(h.slots[h.begin:h.end])
	h.begin, h.end = 0, 0
}
