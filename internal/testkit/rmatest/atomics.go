package rmatest

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// contended is the number of words that all ranks want to win.
const contended = 100

// oneWinner has every rank swap its mark into the same empty words. One wins
// each, and the others see its mark.
func oneWinner(r *rank) error {
	const marks, wins, seenSums = 0, contended, 2 * contended
	for i := range contended {
		target := i % r.size
		mark := uint64(r.me + 1)
		seen, err := r.finish(r.q.CompareAndSwap(r.w, target, marks+i, 0, mark))
		if err != nil {
			return err
		}
		if seen == 0 {
			_, err = r.finish(r.q.FetchAdd(r.w, target, wins+i, 1))
			seen = mark
		}
		if err != nil {
			return err
		}
		if _, err := r.finish(r.q.FetchAdd(r.w, target, seenSums+i, seen)); err != nil {
			return err
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	for i := range contended {
		mark, err := r.get(r.w, i%r.size, marks+i, 1)
		if err != nil {
			return err
		}
		if mark[0] < 1 || mark[0] > uint64(r.size) {
			return fmt.Errorf("word %d holds %d, no rank's mark", i, mark[0])
		}
		if err := r.expect(r.w, i%r.size, wins+i, 1); err != nil {
			return fmt.Errorf("winners of word %d: %w", i, err)
		}
		if err := r.expect(r.w, i%r.size, seenSums+i, mark[0]*uint64(r.size)); err != nil {
			return fmt.Errorf("sum of what was seen in word %d: %w", i, err)
		}
	}
	return nil
}

func swapReturnsWhatWasThere(r *rank) error {
	for target := range r.size {
		for _, step := range []struct{ old, newWord, seen, left uint64 }{
			{0, 7, 0, 7},
			{0, 9, 7, 7},
			{7, 7, 7, 7},
			{7, ^uint64(0), 7, ^uint64(0)},
			{7, 3, ^uint64(0), ^uint64(0)},
			{^uint64(0), 0, ^uint64(0), 0},
		} {
			h := r.q.CompareAndSwap(r.w, target, r.me, step.old, step.newWord)
			seen, err := r.finish(h)
			if err != nil {
				return err
			}
			if seen != step.seen {
				return fmt.Errorf("swapping %d for %d saw %d, want %d",
					step.newWord, step.old, seen, step.seen)
			}
			if err := r.expect(r.w, target, r.me, step.left); err != nil {
				return err
			}
		}
	}
	return nil
}

// sumIsExact has all ranks add to one word of each rank.
func sumIsExact(r *rank) error {
	const batches = 20
	handles := make([]rma.Handle, queueDepth)
	for range batches {
		for i := range handles {
			handles[i] = r.q.FetchAdd(r.w, i%r.size, 0, uint64(r.me+1))
		}
		last := uint64(0)
		for i, h := range handles {
			seen, err := r.finish(h)
			if err != nil {
				return err
			}
			if i%r.size == 0 {
				if i > 0 && seen < last+uint64(r.me+1) {
					return fmt.Errorf("saw %d after having added to %d", seen, last)
				}
				last = seen
			}
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	total := uint64(0)
	for target := range r.size {
		got, err := r.get(r.w, target, 0, 1)
		if err != nil {
			return err
		}
		total += got[0]
	}
	if want := uint64(batches * queueDepth * r.size * (r.size + 1) / 2); total != want {
		return fmt.Errorf("sum %d, want %d", total, want)
	}
	return nil
}

// tickets is how many numbers each rank draws.
const tickets = 200

// ticketsAreDistinct has all ranks draw numbers from one counter and mark them.
func ticketsAreDistinct(r *rank) error {
	for range tickets {
		ticket, err := r.finish(r.q.FetchAdd(r.w, 0, 0, 1))
		if err != nil {
			return err
		}
		if ticket >= uint64(tickets*r.size) {
			return fmt.Errorf("drew %d of %d", ticket, tickets*r.size)
		}
		if _, err := r.finish(r.q.FetchAdd(r.w, 0, 1+int(ticket), 1)); err != nil {
			return err
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	drawn, err := r.get(r.w, 0, 1, tickets*r.size)
	for ticket, times := range drawn {
		if times != 1 {
			return fmt.Errorf("%d was drawn %d times", ticket, times)
		}
	}
	return err
}

// cpuAtomicsTakePart adds to two words in turns by the processor and by a queue:
// word 0 by fetch-and-add, word 1 by compare-and-swap.
func cpuAtomicsTakePart(r *rank) error {
	const rounds = 500
	at := r.size - 1
	words := r.w.Words(at) // nil for a rank that cannot take part by the processor
	if !r.w.CPUAtomicsCoherent() {
		return nil
	}
	for i := range rounds {
		if words != nil && (i+r.me)%2 == 0 {
			atomic.AddUint64(&words[0], 1)
			for {
				old := atomic.LoadUint64(&words[1])
				if atomic.CompareAndSwapUint64(&words[1], old, old+1) {
					break
				}
			}
			continue
		}
		if _, err := r.finish(r.q.FetchAdd(r.w, at, 0, 1)); err != nil {
			return err
		}
		for old := uint64(0); ; {
			seen, err := r.finish(r.q.CompareAndSwap(r.w, at, 1, old, old+1))
			if err != nil {
				return err
			}
			if seen == old {
				break
			}
			old = seen
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	want := uint64(rounds * r.size)
	return r.expect(r.w, at, 0, want, want)
}

func wordsAreTheSameMemory(r *rank) error {
	for target := range r.size {
		words := r.w.Words(target)
		if words == nil {
			continue
		}
		mark := uint64(r.me+1)<<32 | uint64(target)
		atomic.StoreUint64(&words[r.me], mark)
		if err := r.expect(r.w, target, r.me, mark); err != nil {
			return fmt.Errorf("after a store: %w", err)
		}
		if err := r.put(r.w, target, 4+r.me, mark+1); err != nil {
			return err
		}
		if got := atomic.LoadUint64(&words[4+r.me]); got != mark+1 {
			return fmt.Errorf("a load after a put of %d: %d", mark+1, got)
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	if words := r.w.Words(r.me); words != nil {
		for writer := range r.size {
			if r.w.Words(writer) == nil { // nor does that rank see this one's
				continue
			}
			want := uint64(writer+1)<<32 | uint64(r.me)
			if got := atomic.LoadUint64(&words[writer]); got != want {
				return fmt.Errorf("rank %d stored %d here, and %d is seen", writer, want, got)
			}
		}
	}
	return nil
}

// flat: there is a flat view exactly where the segments allow one.
func flat(r *rank) error {
	possible := r.w.CPUAtomicsCoherent() && r.w.Words(0) != nil
	for target := 1; possible && target < r.size; target++ {
		before, here := r.w.Words(target-1), r.w.Words(target)
		if here == nil {
			possible = false
			break
		}
		distance := uintptr(unsafe.Pointer(&here[0])) - uintptr(unsafe.Pointer(&before[0]))
		possible = distance == uintptr(r.w.Len())*8
	}
	all := core.Flat(r.w)
	if !possible {
		if all != nil {
			return fmt.Errorf("a flat view of %d words of segments that are not in a row",
				len(all))
		}
		return nil
	}
	if len(all) != r.w.Len()*r.size {
		return fmt.Errorf("a flat view of %d words, want %d", len(all), r.w.Len()*r.size)
	}
	for target := range r.size {
		if &all[target*r.w.Len()] != &r.w.Words(target)[0] {
			return fmt.Errorf("rank %d's segment is at another place in the flat view", target)
		}
	}
	return nil
}
