package set

import "context"

// Slots that Collect has freed form a chain for each rank that freed them. All ranks take
// from it. The first word of a slot refers to the next slot. The head lies beside the
// counter of slots taken.
//
//	head  | version (28) | reference of the first slot, plus 1 (36) |
//
// The head is changed by compare-and-swap. Its version changes each time: if a slot was
// taken and freed again meanwhile, the compare-and-swap fails, as the slot behind it may be
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
