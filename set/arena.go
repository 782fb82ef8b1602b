package set

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

// Ref is the reference of an element of a set of byte strings: the number of its slot in an arena,
// interleaved over the ranks. It fits in 36 bits, means the same on every rank, and stays valid
// when the set grows.
type Ref uint64

const (
	refBits = 36
	refMask = 1<<refBits - 1
)

// arenas hold the elements: slots of whole words in a window, which takes memory as it is needed.
//
//	| rank 0: slot 0 .. s-1 | rank 1: slot 0 .. s-1 | ...
//
// A slot is written once, before a bucket refers to it, and never changes then.
// Slots are handed out from the own rank's arena, and from the others' when that
// is full: a counter per rank, moved by compare-and-swap in runs of slotRun. Slots
// that Collect has freed are handed out again when the counter is at its end.
//
// A string takes as many adjacent slots as it needs, of a word or a few, and its reference is the
// number of the first. They are called grains then, and slots are cut out of runs of grains.
type arenas struct {
	job      rma.Job
	grain    int    // words of a slot; of strings, of a grain
	strings  bool   // slots have any number of grains
	inLine   bool   // a slot is in one line
	run      uint64 // slots or grains that are taken from a counter at a time
	rankBits uint   // low bits of a Ref that are the rank
	slots    uint64 // or grains of each rank

	elements cells
	regions  core.Regions // of elements
	allOnce  sync.Once
	all      [][]uint64 // segmentsOfAll, where regions does not have it
	counter  cells      // of each rank: slots handed out, and those freed again

	mu         sync.Mutex
	refused    error // why slots got no memory when this rank last needed some, or nil
	free       []Ref // slots handed out to this rank and not used, in directly addressable memory
	freeRemote []Ref // and in other memory

	lanes [lanes]lane
	rooms sync.Pool // of *[]uint64, for elements of single calls

	reading sync.Mutex
	reader  *core.Reader // of strings

	shared *inheritance // of a Shared job, else nil
}

const (
	// slotRun is how many slots are taken from a counter at a time. Strings take grains of runWords
	// words together.
	slotRun  = 64
	runWords = 1 << 12

	// A Shared job has shorter runs in arenas of less than runsOfAll of them, so that its members
	// together hold an eighth of an arena at most if each has only begun its first run. A run has
	// leastRunWords at least.
	runsOfAll     = 8 * rma.MaxMembers
	leastRunWords = 1 << 7

	// slotLines is how many cache lines of a slot are prefetched at most.
	slotLines = 8

	// freedRun is how many freed slots are taken at a time.
	freedRun = 16
)

// room is how large arenas are.
type room struct {
	slots    uint64 // in all; of strings, words
	least    uint64 // of these that are there whatever maxBytes is
	maxBytes uint64 // of a Shared job: of the arena and of the owners of its runs; 0: any number
}

// newArenas makes arenas for elements. Collective.
func newArenas(ctx context.Context, job rma.Job, r room, slotWords int) (*arenas, error) {
	a := &arenas{job: job, grain: slotWords, run: slotRun, inLine: lineBuckets%slotWords == 0}
	return a.open(ctx, r)
}

// newStringArenas makes arenas for strings. Collective.
func newStringArenas(ctx context.Context, job rma.Job, r room) (*arenas, error) {
	// The longest string fits where others hold runs.
	r.slots += uint64(job.Size()) * maxStringWords
	grain := grainFor(r.slots)
	r.slots, r.least = r.slots/uint64(grain), r.least/uint64(grain)
	a := &arenas{job: job, grain: grain, strings: true, run: uint64(runWords / grain)}
	return a.open(ctx, r)
}

// grainFor is the words of a grain, so that references can name all grains of so many words. The
// ranks take whole bits of a reference, and runs come in addition.
func grainFor(words uint64) int {
	grain := 1
	for words/uint64(grain) > refMask/4 {
		grain *= 2
	}
	return grain
}

// layOut finds how many slots a rank has, and how long a run is, which members of a Shared job find
// alike.
func (a *arenas) layOut(r room) error {
	ranks := uint64(a.job.Size())
	a.rankBits = uint(bits.Len(uint(ranks - 1)))
	// Free slots that ranks hold must not fill an arena too soon. More than refMask+1 elements
	// are refused below.
	a.slots = (min(r.slots, refMask+1) + ranks - 1) / ranks
	if _, ok := a.job.(rma.Shared); ok {
		for a.run > a.slots/runsOfAll && a.run*uint64(a.grain) > leastRunWords {
			a.run /= 2
		}
		a.slots += rma.MaxMembers * a.run
		runs := r.maxBytes / (8 * (a.run*uint64(a.grain) + 1))
		if r.maxBytes > 0 && runs < a.slots/a.run {
			a.slots = a.run * max(runs, (r.least+a.run-1)/a.run, 1)
		}
	} else {
		a.slots += 2 * a.run
		if a.strings {
			a.slots += lanes * laneWords / uint64(a.grain)
		} else {
			a.slots += lanes * laneSlots
		}
	}
	if a.slots > refMask>>a.rankBits {
		return fmt.Errorf("set: %d elements do not fit into 2^%d slots", r.slots, refBits)
	}
	return nil
}

// open makes the windows. Collective.
func (a *arenas) open(ctx context.Context, r room) (*arenas, error) {
	if err := a.layOut(r); err != nil {
		return nil, err
	}
	var err error
	if a.counter, err = newCells(ctx, a.job, "slots taken", 2); err != nil {
		return nil, err
	}
	a.elements, err = cellsOf(ctx, a.job, rma.Spec{Name: "set: elements",
		Words: int(a.slots) * a.grain, Reserve: true})
	if err != nil {
		return nil, errors.Join(err, a.counter.Close())
	}
	a.regions = core.NewRegions(a.elements.window)
	if shared, ok := a.job.(rma.Shared); ok {
		a.shared, err = newInheritance(ctx, shared, a)
	}
	if err == nil && a.strings {
		a.reader, err = core.NewReader(a.job, a.elements.window, &a.regions, maxStringWords)
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *arenas) close() error {
	clear(a.regions.Segments.Words)
	return errors.Join(a.reader.Close(), a.counter.Close(), a.elements.Close(), a.shared.close())
}

// take appends free slots of any rank, or with directOnly only addressable ones, to dst until it
// has n or there are no more. It returns an error only if it has taken none.
func (a *arenas) take(ctx context.Context, dst []Ref, n int, directOnly bool) ([]Ref, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for had := len(dst); len(dst) < n; {
		from, _ := a.someFree(directOnly, 0)
		if from == nil && a.shared != nil && len(dst) > had {
			break // members take no run of slots ahead, so that each holds few
		}
		if from == nil {
			if err := a.refill(ctx, directOnly, 0); err != nil && len(dst) == had {
				return dst, err
			}
			if from, _ = a.someFree(directOnly, 0); from == nil && a.drain() {
				from, _ = a.someFree(directOnly, 0)
			}
			if from == nil {
				break
			}
		}
		rest := max(0, len(*from)-(n-len(dst)))
		dst = append(dst, (*from)[rest:]...)
		*from = (*from)[:rest]
	}
	return dst, nil
}

// takeRunOf takes a run of so many grains, or more; ok is false if there is none.
func (a *arenas) takeRunOf(ctx context.Context, grains uint64, directOnly bool) (run Ref, ok bool,
	err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from, i := a.someFree(directOnly, grains)
	if from == nil {
		if err := a.refill(ctx, directOnly, grains); err != nil {
			return 0, false, err
		}
		if from, i = a.someFree(directOnly, grains); from == nil && a.drain() {
			from, i = a.someFree(directOnly, grains)
		}
		if from == nil {
			return 0, false, nil
		}
	}
	run = (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return run, true, nil
}

// someFree is a list that has free slots, nil if there is none; of strings, the list and the place
// of a run of so many grains.
func (a *arenas) someFree(directOnly bool, grains uint64) (*[]Ref, int) {
	for _, list := range []*[]Ref{&a.free, &a.freeRemote} {
		for i := len(*list) - 1; i >= 0; i-- {
			if (*list)[i].grains() >= grains {
				return list, i
			}
		}
		if directOnly {
			break
		}
	}
	return nil, 0
}

// refill takes a run of slots from the own arena, or from the next arena that has any: first slots
// that were never used, then freed ones. Strings need a run of so many grains. If only lost ranks
// have slots left, that is an error. With directOnly it is none: the caller, who gets no slot, asks
// again for slots of any rank.
func (a *arenas) refill(ctx context.Context, directOnly bool, grains uint64) error {
	var lost error
	a.refused = nil
	if a.shared != nil {
		return a.refillShared(grains)
	}
	for i := range a.job.Size() {
		rank := (a.job.Rank() + i) % a.job.Size()
		if directOnly && a.regions.At(rank) == nil {
			continue
		}
		begin, end, err := a.takeRun(ctx, rank, grains)
		if a.strings && begin < end && err == nil {
			a.addFree(Ref((end-begin)<<refBits | begin<<a.rankBits | uint64(rank)))
			return nil
		}
		list := a.listOf(uint64(rank))
		for slot := end; slot > begin && err == nil; slot-- {
			*list = append(*list, Ref((slot-1)<<a.rankBits|uint64(rank)))
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
		if from, _ := a.someFree(directOnly, grains); from != nil {
			return nil
		}
	}
	return lost
}

// listOf is where free slots of the arena of a rank are.
func (a *arenas) listOf(rank uint64) *[]Ref {
	if a.regions.At(int(rank)) == nil {
		return &a.freeRemote
	}
	return &a.free
}

// addFree adds a slot to the free slots of this rank.
func (a *arenas) addFree(ref Ref) {
	_, rank := a.split(ref)
	list := a.listOf(rank)
	if a.strings {
		*list = a.addRun(*list, ref, maxFreeRuns)
	} else {
		*list = append(*list, ref)
	}
}

// takeRun takes memory for the next slots of a rank, or for so many grains at least, and moves the
// counter over them. The run is empty if too few are left. The counter never passes the last slot,
// so that slots which are added later are not lost.
func (a *arenas) takeRun(ctx context.Context, rank int, grains uint64) (begin, end uint64,
	err error) {
	most := a.run
	if grains > a.run/8 { // the end of a run is too short for the next one, and is often lost
		most = grains
	}
	for {
		begin, err = a.counter.Load(ctx, rank, cellTaken)
		end = min(begin+most, a.slots)
		if err != nil || begin == end || begin+grains > end {
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

// takeMemory takes the memory of slots of a rank; of strings, and of as much after them as a get
// may read that expects another string.
func (a *arenas) takeMemory(rank int, begin, end uint64) error {
	if a.strings {
		end = min(end+pieceWords, a.slots)
	}
	w, ok := a.elements.window.(rma.Committer)
	if !ok {
		return nil
	}
	return w.Commit(rank, int(begin)*a.grain, int(end-begin)*a.grain)
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

// segmentsOfAll are the segments of all ranks for a kernel, nil where only queues reach one, and
// where a reference has the bits of a rank that does not exist.
func (a *arenas) segmentsOfAll() [][]uint64 {
	own := a.regions.Segments
	if len(own.Words) == 1<<a.rankBits {
		return own.Words
	}
	a.allOnce.Do(func() {
		a.all = make([][]uint64, 1<<a.rankBits)
		copy(a.all[own.First:], own.Words)
	})
	return a.all
}

// dangling is the error of a bucket that refers to no slot, nil if there is that slot. A search
// must not follow such a reference; Check reports the bucket.
func (a *arenas) dangling(bucket uint64) error {
	if ref := Ref(bucket & refMask); !a.valid(ref) {
		return fmt.Errorf("set: bucket %#x refers to slot %#x, which does not exist",
			bucket, uint64(ref))
	}
	return nil
}

// words is the memory from a slot on where it is directly addressable, nil if only queues reach it
// or it does not exist.
func (a *arenas) words(ref Ref) []uint64 {
	slot, rank := a.split(ref)
	segment := a.regions.Segments.Of(int(rank))
	if segment == nil || slot >= a.slots {
		return nil
	}
	return segment[slot*uint64(a.grain):]
}

// lines stores a word of each line of a slot of so many words, of slotLines at most, the last one
// included, and returns how many lines that are; dst[0] is nil where the slot is not directly
// addressable.
func (a *arenas) lines(ref Ref, width int, dst []*uint64) (n int) {
	words := a.words(ref)
	if words == nil {
		dst[0] = nil
		return 0
	}
	if width > len(words) { // it has a shorter string, at the end
		dst[0] = nil
		return 0
	}
	dst[0] = &words[0]
	if a.inLine {
		return 1
	}
	n = 1
	for at := lineBuckets; at < width-1 && n < slotLines-1; at += lineBuckets {
		dst[n] = &words[at]
		n++
	}
	dst[n] = &words[width-1]
	return n + 1
}

// fetch prefetches the given slots, where they are directly addressable.
func (a *arenas) fetch(slots []Ref) {
	var lines [maxHeldSlots + slotLines]*uint64
	n, last := 0, ^uint64(0)
	for _, ref := range slots {
		if slot, rank := a.split(ref); a.inLine { // adjacent slots share lines
			line := slot*uint64(a.grain)/lineBuckets<<a.rankBits | rank
			if line == last {
				continue
			}
			last = line
		}
		if n += a.lines(ref, a.grain, lines[n:]); n > maxHeldSlots {
			memory.Prefetch(lines[:n], 1)
			n = 0
		}
	}
	memory.Prefetch(lines[:n], 1)
}

// locate finds the rank and word offset of a slot.
func (a *arenas) locate(ref Ref) (rank, off int) {
	slot, owner := a.split(ref)
	return int(owner), int(slot) * a.grain
}

// stringAt is the string in a slot that exists.
func (a *arenas) stringAt(ref Ref) ([]uint64, error) {
	head, err := a.head(ref)
	if err != nil {
		return nil, err
	}
	n := stringWords(head)
	rank, off := a.locate(ref)
	if head&lengthMask > MaxStringBytes || off+n > a.elements.window.Len() {
		return nil, fmt.Errorf("set: slot %#x has a string of %d bytes, and ends before it does",
			uint64(ref), head&lengthMask)
	}
	if words := a.words(ref); words != nil {
		return words[:n], nil
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	words, err := a.reader.Read(context.Background(), rank, off, n)
	return slices.Clone(words), err
}

// head is the head of a string.
func (a *arenas) head(ref Ref) (uint64, error) {
	if words := a.words(ref); words != nil {
		return words[0], nil
	}
	rank, off := a.locate(ref)
	return a.elements.Load(context.Background(), rank, off)
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
		owner, off := a.locate(ref)
		// If another rank has taken the slot this is part of an element, and the
		// compare-and-swap fails.
		next, err := a.elements.Load(ctx, owner, off)
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
	rank, off := a.locate(slot)
	return a.elements.Store(ctx, rank, off, next)
}

// Slots of strings are cut out of runs. The lists of free slots then hold runs: the number of
// grains above the reference of the first.

const (
	// maxHeldSlots is how many free arena slots a batch holds at most; or runs.
	maxHeldSlots = 32
	// maxFreeRuns is how many free runs a rank has beside them at most. Goroutines that insert at
	// the same time hold one each.
	maxFreeRuns = 1 << 10
	// maxLooks is how many free runs one that is added is compared with: the last ones.
	maxLooks = 64
)

func (r Ref) grains() uint64 { return uint64(r) >> refBits }

// runOf is the slot of a string of so many words as a run.
func (a *arenas) runOf(slot Ref, words int) Ref { return slot | Ref(a.grainsOf(words)<<refBits) }

// grainsOf is how many grains a string has of so many words.
func (a *arenas) grainsOf(words int) uint64 { return uint64((words + a.grain - 1) / a.grain) }

// cut divides a run after so many grains.
func (a *arenas) cut(run Ref, grains uint64) (slot, rest Ref) {
	return run & refMask, run + Ref(grains<<a.rankBits) - Ref(grains<<refBits)
}

// addRun adds a run to the free ones, which are n at most, and joins it with those of the last ones
// that are adjacent. If there are more than n the shortest of the last ones is lost.
func (a *arenas) addRun(runs []Ref, run Ref, n int) []Ref {
	for i := len(runs) - 1; i >= max(0, len(runs)-maxLooks); i-- {
		slot, end := a.cut(run, run.grains())
		other, otherEnd := a.cut(runs[i], runs[i].grains())
		if (end == other || otherEnd == slot) && a.mayJoin(max(slot, other)) {
			run = min(slot, other) | Ref((run.grains()+runs[i].grains())<<refBits)
			runs = slices.Delete(runs, i, i+1)
		}
	}
	if len(runs) < n {
		return append(runs, run)
	}
	last := runs[max(0, len(runs)-maxLooks):]
	i := slices.Index(last, slices.Min(last)) // compares the numbers of grains first
	last[i] = max(last[i], run)
	return runs
}

// joinFree adds many runs, joined with all that are adjacent. Of each list the shortest are lost.
func (a *arenas) joinFree(freed []Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Concat(freed, a.free, a.freeRemote)
	slices.SortFunc(all, func(x, y Ref) int {
		slot, rank := a.split(x & refMask)
		other, otherRank := a.split(y & refMask)
		return cmp.Or(cmp.Compare(rank, otherRank), cmp.Compare(slot, other))
	})
	var joined []Ref
	for _, run := range all {
		joined = a.addRun(joined, run, len(all))
	}
	slices.Sort(joined) // by the number of grains first
	a.free, a.freeRemote = nil, nil
	for _, run := range joined {
		_, rank := a.split(run)
		list := a.listOf(rank)
		*list = append(*list, run)
	}
	a.free = a.free[max(0, len(a.free)-maxFreeRuns):]
	a.freeRemote = a.freeRemote[max(0, len(a.freeRemote)-maxFreeRuns):]
}

// mayJoin reports whether free grains before and after a slot may become one run. In a Shared job
// no string is in two runs that were taken one after the other: each is examined by itself when
// the process has ended.
func (a *arenas) mayJoin(slot Ref) bool { return a.shared == nil || uint64(slot)%a.run != 0 }

// heldSlots is the free arena slots that one batch holds. They are filled up and prefetched
// when half of them are used, so that a slot is in the cache when an element is written to
// it: a compare-and-swap waits for all writes before it.
type heldSlots struct {
	arenas     *arenas
	directOnly bool   // take only slots that are directly addressable
	needed     int    // slots to be taken ahead, while the arenas have as many as wanted
	noSlot     uint64 // slots that were needed and that no arena had
	most       int    // words of a run that are kept; 0: all

	slots [maxHeldSlots]Ref
	begin int // the free slots are slots[begin:end]
	end   int
}

// next returns a free slot for an element of so many words, ok false when no arena has one.
func (h *heldSlots) next(words int) (ref Ref, ok bool, err error) {
	if h.arenas.strings {
		return h.cut(h.arenas.grainsOf(words))
	}
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

// usable is the free slots up to where more are to be taken.
func (h *heldSlots) usable() []Ref {
	end := h.end
	if h.needed > 0 {
		end = max(h.begin, end-maxHeldSlots/2)
	}
	return h.slots[h.begin:end]
}

// cut is next for a string. The run that was added last comes first.
func (h *heldSlots) cut(grains uint64) (slot Ref, ok bool, err error) {
	a := h.arenas
	for i := h.end - 1; i >= 0; i-- {
		run := &h.slots[i]
		if run.grains() < grains {
			continue
		}
		if slot, *run = a.cut(*run, grains); run.grains() == 0 {
			h.end--
			*run = h.slots[h.end]
		}
		return slot, true, nil
	}
	run, ok, err := a.takeRunOf(context.Background(), grains, h.directOnly)
	if err != nil || !ok {
		// mark: no arena has room for a string
		h.noSlot++
		return 0, false, err
	}
	if most := grains + a.grainsOf(h.most); h.most > 0 && run.grains() > most {
		slot, rest := a.cut(run, most)
		a.giveBack([]Ref{rest})
		run = slot | Ref(most<<refBits)
	}
	h.end = len(a.addRun(h.slots[:h.end], run, maxHeldSlots)) // it is longer than those there
	return h.cut(grains)
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

// takeBack takes back a slot whose element, of so many words, lost its compare-and-swap.
func (h *heldSlots) takeBack(ref Ref, words int) {
	if h.arenas.strings {
		// mark: a string that lost its bucket gives its slot back
		h.end = len(h.arenas.addRun(h.slots[:h.end], h.arenas.runOf(ref, words), maxHeldSlots))
		return
	}
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
