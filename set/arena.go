package set

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/rma"
)

// Ref is the stable name of an element of an Elements set: the number of its slot
// in an arena, interleaved over the ranks. It fits in 36 bits, means the same on
// every rank, and stays valid when the set grows.
type Ref uint64

const (
	refBits         = 36
	refMask         = 1<<refBits - 1
	fingerprintBits = 63 - refBits
)

// arenas are where elements lie: slots of whole words in windows, one window at
// the start and one more each time the set grows.
//
//	part 0    | rank 0: slot 0 .. s0-1    | rank 1: slot 0 .. s0-1    | ...
//	part 1    | rank 0: slot s0 .. s1-1   | rank 1: slot s0 .. s1-1   | ...
//
// A slot is written once, before a bucket refers to it, and never changes then.
// Slots are handed out from the own rank's arena, and from the others' when that
// is full: a counter per rank, moved by compare-and-swap in runs of slotRun. Those
// that Collect has freed are handed out again when the counter has come to its end.
type arenas struct {
	job       rma.Job
	slotWords int  // words of a slot
	rankBits  uint // low bits of a Ref that name the rank
	parts     []part
	slots     uint64 // of each rank, in all parts

	counterWindow rma.Window
	counter       *rma.Cells // of each rank: slots handed out, and those freed again

	mu   sync.Mutex
	free []Ref // slots handed out to this rank and not used
}

// part is one window of an arena.
type part struct {
	window rma.Window
	flat   []uint64 // nil where only queues reach it
	cells  *rma.Cells
	begin  uint64 // first slot of each rank that lies here
	slots  uint64 // slots of each rank that lie here
}

// slotRun is how many slots are taken from a counter at a time.
const slotRun = 64

// freedRun is how many freed slots are taken at a time.
const freedRun = 16

// newArenas makes arenas with room for elements in all. Collective.
func newArenas(ctx context.Context, job rma.Job, elements uint64, slotWords int) (*arenas, error) {
	a := &arenas{job: job, slotWords: slotWords, rankBits: uint(bits.Len(uint(job.Size() - 1)))}
	var err error
	a.counterWindow, err = job.NewWindow(ctx, rma.Spec{Name: "set: slots taken", Words: 2})
	if err != nil {
		return nil, err
	}
	if a.counter, err = rma.NewCells(job, a.counterWindow); err != nil {
		return nil, errors.Join(err, a.counterWindow.Close())
	}
	if err := a.extend(ctx, elements); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// extend adds a part so that the arenas hold elements in all. Collective.
func (a *arenas) extend(ctx context.Context, elements uint64) error {
	ranks := uint64(a.job.Size())
	// What ranks hold in reserve must not make an arena look full too soon.
	want := (elements+ranks-1)/ranks + 2*slotRun
	if want <= a.slots {
		return nil
	}
	if want > refMask>>a.rankBits {
		return fmt.Errorf("set: %d elements are more than 2^%d slots can name", elements, refBits)
	}
	p := part{begin: a.slots, slots: want - a.slots}
	var err error
	p.window, err = a.job.NewWindow(ctx, rma.Spec{Name: "set: elements",
		Words: int(p.slots) * a.slotWords})
	if err != nil {
		return err
	}
	if p.cells, err = rma.NewCells(a.job, p.window); err != nil {
		return errors.Join(err, p.window.Close())
	}
	p.flat = rma.Flat(p.window)
	a.parts = append(a.parts, p)
	a.slots = want
	return nil
}

// take hands out n free slots of any rank, as many as there are.
func (a *arenas) take(ctx context.Context, dst []Ref, n int) ([]Ref, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(dst) < n {
		if len(a.free) == 0 {
			if err := a.refill(ctx); err != nil || len(a.free) == 0 {
				return dst, err
			}
		}
		k := min(n-len(dst), len(a.free))
		dst = append(dst, a.free[len(a.free)-k:]...)
		a.free = a.free[:len(a.free)-k]
	}
	return dst, nil
}

// refill takes a run of slots from the own arena, else from the next that has any. Of
// each, those that were freed come last.
func (a *arenas) refill(ctx context.Context) error {
	for i := range a.job.Size() {
		rank := (a.job.Rank() + i) % a.job.Size()
		begin, end, err := a.takeRun(ctx, rank)
		for slot := end; slot > begin && err == nil; slot-- {
			a.free = append(a.free, Ref((slot-1)<<a.rankBits|uint64(rank)))
		}
		for ok := true; ok && err == nil && len(a.free) < freedRun; {
			var ref Ref
			if ref, ok, err = a.takeFreed(ctx, rank); ok {
				a.free = append(a.free, ref)
			}
		}
		if len(a.free) > 0 || err != nil {
			return err
		}
	}
	return nil
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
	a.free = append(a.free, slots...)
}

// locate finds the part, rank and word offset of a slot.
func (a *arenas) locate(ref Ref) (p *part, rank, off int) {
	slot := uint64(ref) >> a.rankBits
	i := len(a.parts) - 1
	for i > 0 && slot < a.parts[i].begin {
		i--
	}
	p = &a.parts[i]
	rank = int(uint64(ref) & (1<<a.rankBits - 1))
	return p, rank, int(slot-p.begin) * a.slotWords
}

// valid reports whether ref names a slot that exists.
func (a *arenas) valid(ref Ref) bool {
	rank := uint64(ref) & (1<<a.rankBits - 1)
	return rank < uint64(a.job.Size()) && uint64(ref)>>a.rankBits < a.slots
}

// words is a slot in directly addressable memory.
func (a *arenas) words(ref Ref) []uint64 {
	slot, rank := uint64(ref)>>a.rankBits, uint64(ref)&(1<<a.rankBits-1)
	p := &a.parts[len(a.parts)-1]
	if slot < p.begin {
		p, _, _ = a.locate(ref)
	}
	at := (rank*p.slots + slot - p.begin) * uint64(a.slotWords)
	return p.flat[at : at+uint64(a.slotWords)]
}

// lines stores a word of the first and of the last line of a slot, and returns how many
// lines that are.
func (a *arenas) lines(ref Ref, dst []*uint64) int {
	words := a.words(ref)
	dst[0] = &words[0]
	if lineBuckets%len(words) == 0 {
		return 1
	}
	dst[1] = &words[len(words)-1]
	return 2
}

// fetch asks the memory for the given slots, where it is directly addressable.
func (a *arenas) fetch(slots []Ref) {
	if len(a.parts) == 0 || a.parts[0].flat == nil {
		return
	}
	var lines [2 * handSlots]*uint64
	n := 0
	for _, ref := range slots {
		n += a.lines(ref, lines[n:])
	}
	memory.Prefetch(lines[:n], 1)
}

func (a *arenas) close() error {
	errs := []error{a.counter.Close(), a.counterWindow.Close()}
	for _, p := range a.parts {
		errs = append(errs, p.cells.Close(), p.window.Close())
	}
	return errors.Join(errs...)
}
