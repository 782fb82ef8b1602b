package set

import (
	"context"
	"fmt"

	"github.com/farhash/farhash/rma"
)

// inheritance is which process of a Shared job has which runs of slots, so that the slots which one
// has not used are used by others when it has ended. A run is as many slots, or grains, as arenas
// take at a time. Each has a word:
//
//	owner | full (1) | runs that are taken together (31) | member that has them, plus 1 (32) |
//
// It is swapped before the counter of slots moves. So no run is lost where a process ends between
// the two: another one moves the counter.
type inheritance struct {
	job    rma.Shared
	owners cells
	tables func(ctx context.Context) ([]*table, error) // that may refer to slots

	took  bool     // this process has runs
	last  uint64   // how many it took together when it last took some
	asked bool     // it has looked for runs of members that have ended
	runs  []uint64 // that it inherits, and has not examined
}

const (
	ownerMask = 1<<32 - 1
	runsAt    = 32
	runsMask  = 1<<31 - 1
	fullRun   = 1 << 63

	// maxExamined is how many inherited runs are examined before a new one is taken.
	maxExamined = 16
)

// newInheritance makes the owners of all runs of an arena.
func newInheritance(ctx context.Context, job rma.Shared, a *arenas) (*inheritance, error) {
	owners, err := newCells(ctx, job, "owners", int(a.slots/a.run)+1)
	if err != nil {
		return nil, err
	}
	h := &inheritance{job: job, owners: owners}
	if _, err = a.taken(ctx); err == nil && job.Inherits() {
		err = h.inherit(a, job.Member())
	}
	return h, err
}

// taken is how many slots of a Shared job are taken. A crash of the host may have damaged it: only
// whole runs are taken.
func (a *arenas) taken(ctx context.Context) (uint64, error) {
	n, err := a.counter.Load(ctx, 0, cellTaken)
	if err == nil && (n > a.slots || n%a.run != 0) {
		err = errDamaged(fmt.Sprintf("of %d slots, the number that are taken", a.slots), n)
	}
	return n, err
}

// ownerOf is the owner of a run, 0 if there is none.
func (h *inheritance) ownerOf(ctx context.Context, a *arenas, run uint64) (uint64, error) {
	owner, err := h.owners.Load(ctx, 0, int(run))
	left := a.slots/a.run - min(run, a.slots/a.run)
	if n := runsOf(owner); err == nil && owner != 0 && (n == 0 || n > left) {
		err = errDamaged(fmt.Sprintf("the number of runs, of %d, that are taken together", left), n)
	}
	return owner, err
}

func (h *inheritance) close() error {
	if h == nil {
		return nil
	}
	h.job.Leaves(h.took)
	return h.owners.Close()
}

// mine is the owner of so many runs.
func (h *inheritance) mine(runs uint64) uint64 { return runs<<runsAt | uint64(h.job.Member()) + 1 }

// runsOf is how many runs an owner has together.
func runsOf(owner uint64) uint64 { return owner >> runsAt & runsMask }

// inherit takes over the runs of a member that has ended. It may have ended before it moved the
// counter over the last one.
func (h *inheritance) inherit(a *arenas, member int) error {
	ctx := context.Background()
	taken, err := a.taken(ctx)
	for run := uint64(0); run <= taken/a.run && err == nil; {
		var owner uint64
		if owner, err = h.ownerOf(ctx, a, run); err != nil {
			break
		}
		if run == taken/a.run && owner != 0 {
			_, err = a.counter.CompareAndSwap(ctx, 0, cellTaken, taken, taken+runsOf(owner)*a.run)
			if err != nil {
				break
			}
		}
		if owner&fullRun == 0 && owner&ownerMask == uint64(member)+1 {
			_, err = h.owners.CompareAndSwap(ctx, 0, int(run), owner, h.mine(runsOf(owner)))
			h.runs, h.took = append(h.runs, run), true
		}
		run += max(1, runsOf(owner)) // 0: it is damaged
	}
	return err
}

// handedOut reports whether a slot was handed out; the arenas of other jobs are not asked.
func (a *arenas) handedOut(ctx context.Context, ref Ref) (bool, error) {
	if a == nil || a.shared == nil {
		return true, nil
	}
	taken, err := a.counter.Load(ctx, 0, cellTaken)
	slot, _ := a.split(ref)
	return slot < taken, err
}

// refillShared is refill of a Shared job: slots of runs that are inherited, or a new run.
func (a *arenas) refillShared(grains uint64) error {
	h := a.shared
	adopt := func() error {
		return h.job.Adopt(func(member int) error { return h.inherit(a, member) })
	}
	if !h.asked {
		h.asked = true
		if err := adopt(); err != nil {
			return err
		}
	}
	if some, err := a.examineRuns(grains, maxExamined); some || err != nil {
		return err
	}
	if taken, err := a.takeSharedRun(grains); taken || err != nil {
		return err
	}
	err := adopt() // others may have ended since
	if err == nil {
		_, err = a.examineRuns(grains, len(h.runs))
	}
	return err
}

// wanted is how many new runs this process takes of those that are left: as many as so many grains
// need, and twice as many as last time if that is more. So it holds little in comparison to what it
// has put, and rarely takes any. Of short runs it takes a few, so that the end of one, which is too
// short for such a string, is a small part. It takes no more together than the longest run has, and
// leaves others most of what is left.
func (a *arenas) wanted(grains, left uint64) uint64 {
	const few = 4
	runsFor := func(grains uint64) uint64 { return (grains + a.run - 1) / a.run }
	longest := uint64(slotRun) / a.run
	if a.strings {
		longest = uint64(runWords/a.grain) / a.run
	}
	runs := max(2*a.shared.last, min(few, runsFor(few*grains)))
	return max(1, runsFor(grains), min(runs, longest, left/8))
}

// takeSharedRun takes new runs, as many as so many grains need at least, and adds their slots to
// the free ones.
func (a *arenas) takeSharedRun(grains uint64) (taken bool, err error) {
	ctx, h := context.Background(), a.shared
	for {
		begin, err := a.taken(ctx)
		if err != nil {
			return false, err
		}
		runs := a.wanted(grains, (a.slots-begin)/a.run)
		end := begin + runs*a.run
		if end > a.slots {
			return false, nil
		}
		if a.refused = a.takeMemory(0, begin, end); a.refused != nil {
			return false, nil
		}
		owner, err := h.ownerOf(ctx, a, begin/a.run)
		won := false
		if err == nil && owner == 0 {
			won, err = h.owners.CompareAndSwap(ctx, 0, int(begin/a.run), 0, h.mine(runs))
		}
		if won {
			owner = h.mine(runs)
		}
		if err == nil && owner != 0 {
			_, err = a.counter.CompareAndSwap(ctx, 0, cellTaken, begin,
				begin+runsOf(owner)*a.run)
		}
		if won && err == nil {
			h.took, h.last = true, runs
			a.addSlots(begin, end)
		}
		if won || err != nil {
			return won, err
		}
	}
}

// addSlots adds slots of this rank to the free ones.
func (a *arenas) addSlots(begin, end uint64) {
	if a.strings {
		a.addFree(Ref((end-begin)<<refBits | begin))
		return
	}
	for slot := end; slot > begin; slot-- {
		a.addFree(Ref(slot - 1))
	}
}

// examineRuns adds the slots of inherited runs that nothing refers to, of n runs at most. It ends
// when there are free slots, of strings for so many grains.
func (a *arenas) examineRuns(grains uint64, n int) (some bool, err error) {
	h := a.shared
	if len(h.runs) == 0 {
		return false, nil
	}
	tables, err := h.tables(context.Background())
	for ; n > 0 && len(h.runs) > 0 && err == nil; n-- {
		if err = a.examineRun(h.runs[len(h.runs)-1], tables); err != nil {
			break
		}
		h.runs = h.runs[:len(h.runs)-1]
		if from, _ := a.someFree(false, grains); from != nil {
			return true, nil
		}
	}
	return false, err
}

// examineRun adds the slots of a run that no bucket refers to. Its owner has ended, so nobody else
// uses them, and what a bucket refers to is not changed any more. If there are none nobody has to
// examine the run again.
func (a *arenas) examineRun(run uint64, tables []*table) error {
	ctx, h := context.Background(), a.shared
	owner, err := h.ownerOf(ctx, a, run)
	if err != nil {
		return err
	}
	free, begin := false, run*a.run
	end := begin + runsOf(owner)*a.run
	from := begin // free slots from here on
	for slot := begin; slot < end; {
		n, err := a.usedAt(slot, end, tables)
		if err != nil {
			return err
		}
		if n > 0 && from < slot {
			a.addSlots(from, slot)
			free = true
		}
		if slot += max(n, 1); n > 0 {
			from = slot
		}
	}
	if from < end {
		a.addSlots(from, end)
		free = true
	}
	if !free {
		_, err = h.owners.CompareAndSwap(ctx, 0, int(run), owner, owner|fullRun)
	}
	return err
}

// usedAt is how many slots, or grains, an element takes that begins at a slot and that a bucket
// refers to; 0 if none does.
func (a *arenas) usedAt(slot, end uint64, tables []*table) (n uint64, err error) {
	n = 1
	if a.strings {
		head, err := a.head(Ref(slot))
		if err != nil || head&lengthMask > MaxStringBytes {
			return 0, err
		}
		if n = a.grainsOf(stringWords(head)); slot+n > end {
			return 0, nil
		}
	}
	hash, err := tables[0].hashOf(slot)
	if err != nil {
		return 0, err
	}
	used, err := tables[0].isIn(tables, fingerprintKey(hash)|slot)
	if err != nil || !used {
		return 0, err
	}
	return n, nil
}
