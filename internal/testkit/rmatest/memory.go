package rmatest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/rma"
)

// zeroed makes windows, some large enough to be mapped, and leaves them dirty.
func zeroed(r *rank) error {
	for round, words := range []int{1, 1000, 1 << 17, 1000, 1 << 17} {
		w, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "zeroed", Words: words})
		if err != nil {
			return err
		}
		target := (r.me + round) % r.size // some rank reads every segment
		got, err := r.get(w, target, 0, words)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(got, func(word uint64) bool { return word != 0 }); i >= 0 {
			return fmt.Errorf("round %d: word %d of rank %d of a new window is %d",
				round, i, target, got[i])
		}
		if err := r.barrier(); err != nil { // all have read
			return err
		}
		dirt := slices.Repeat([]uint64{^uint64(0)}, words)
		if err := r.put(w, r.me, 0, dirt...); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

// shape: the sizes and numbers of a window are right.
func shape(r *rank) error {
	if r.w.Rank() != r.me || r.w.Size() != r.size || r.w.Len() != 10 {
		return fmt.Errorf("window of rank %d of %d with %d words, want rank %d of %d with 10",
			r.w.Rank(), r.w.Size(), r.w.Len(), r.me, r.size)
	}
	for target := range r.size {
		if n := len(r.w.Words(target)); n != 0 && n != 10 {
			return fmt.Errorf("Words(%d) has %d words, want 10 or none", target, n)
		}
	}
	if failed := r.job.Failed(); len(failed) != 0 {
		return fmt.Errorf("ranks %v are said to have failed", failed)
	}
	buf, err := r.q.Alloc(5)
	if err != nil {
		return err
	}
	if !slices.Equal(buf, make(rma.Buf, 5)) {
		return fmt.Errorf("a new buffer holds %v, want 5 zeros", buf)
	}
	return nil
}

// rangeWords is the part of each segment that one rank writes in ranges.
const rangeWords = 32

// pattern is what rank writer puts at word i of its part of rank target.
func pattern(writer, target, i int) uint64 {
	return uint64(writer)<<40 | uint64(target)<<20 | uint64(i) | 1<<63
}

// ranges writes ranges of all lengths into every segment, with a word between them, and reads
// what everybody wrote at once and in parts.
func ranges(r *rank) error {
	var written [rangeWords]bool
	for off, words := 0, 1; off+words <= rangeWords; off, words = off+words+1, words+1 {
		for target := range r.size {
			var part []uint64
			for i := off; i < off+words; i++ {
				part = append(part, pattern(r.me, target, i))
				written[i] = true
			}
			if err := r.put(r.w, target, r.me*rangeWords+off, part...); err != nil {
				return err
			}
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	want := make([]uint64, 4*rangeWords)
	for target := range r.size {
		for writer := range r.size {
			for i := range written {
				if written[i] {
					want[writer*rangeWords+i] = pattern(writer, target, i)
				}
			}
		}
		if err := r.expect(r.w, target, 0, want...); err != nil {
			return err
		}
		for off := 3; off < len(want); off += 17 {
			if err := r.expect(r.w, target, off, want[off:min(off+9, len(want))]...); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	messageWords = 16
	messages     = 50
)

// putIsVisible has rank 0 put messages, each published by a fetch-and-add once
// the put is done, into the last rank's segment; every rank reads them.
func putIsVisible(r *rank) error {
	const published, taken = 0, 1
	at := r.size - 1
	for n := uint64(1); n <= messages; n++ {
		if r.me == 0 {
			if err := r.put(r.w, at, 2, slices.Repeat([]uint64{n}, messageWords)...); err != nil {
				return err
			}
			if _, err := r.finish(r.q.FetchAdd(r.w, at, published, 1)); err != nil {
				return err
			}
		}
		if err := r.await(at, published, n); err != nil {
			return err
		}
		want := slices.Repeat([]uint64{n}, messageWords)
		if err := r.expect(r.w, at, 2, want...); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
		if _, err := r.finish(r.q.FetchAdd(r.w, at, taken, 1)); err != nil {
			return err
		}
		if err := r.await(at, taken, n*uint64(r.size)); err != nil {
			return err
		}
	}
	return nil
}

// await gets a word until it is at least want.
func (r *rank) await(rank, off int, want uint64) error {
	pace := backoff.Backoff{Job: r.job}
	buf, err := r.q.Alloc(1)
	for err == nil {
		if _, err = r.finish(r.q.Get(buf, r.w, rank, off)); err == nil && buf[0] >= want {
			return nil
		}
		pace.Pause()
	}
	return err
}

// orderInQueue posts operations on one word of each rank and submits them once.
func orderInQueue(r *rank) error {
	for target := range r.size {
		five, _ := r.q.Alloc(2)
		copy(five, []uint64{5, 1})
		seen, _ := r.q.Alloc(4)
		w, off := r.w, r.me
		handles := []rma.Handle{
			r.q.Put(five[:1], w, target, off),
			r.q.Get(seen[:1], w, target, off),
			r.q.FetchAdd(w, target, off, 3),
			r.q.CompareAndSwap(w, target, off, 8, 20),
			r.q.Get(seen[1:2], w, target, off),
			r.q.CompareAndSwap(w, target, off, 8, 30),
			r.q.Put(five[1:], w, target, off),
			r.q.Get(seen[2:3], w, target, off),
		}
		if err := r.q.Submit(); err != nil {
			return err
		}
		var values []uint64
		for _, h := range handles {
			value, err := r.finish(h)
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		if want := []uint64{0, 0, 5, 8, 0, 20, 0, 0}; !slices.Equal(values, want) {
			return fmt.Errorf("on rank %d: values %v, want %v", target, values, want)
		}
		if want := (rma.Buf{5, 20, 1, 0}); !slices.Equal(seen, want) {
			return fmt.Errorf("on rank %d: gets brought %v, want %v", target, seen, want)
		}
	}
	return nil
}

// longWords is the length of an operation that engines split, or order apart from short ones.
const longWords = 2000

// longInOrder posts long operations and short ones on the same words, and submits them once.
func longInOrder(r *rank) error {
	first, last := r.me*longWords, (r.me+1)*longWords-1
	buf, err := r.q.Alloc(3*longWords + 8)
	if err != nil {
		return err
	}
	one, two, all := buf[:longWords], buf[longWords:2*longWords], buf[2*longWords:3*longWords]
	end, begin := buf[3*longWords:][:4], buf[3*longWords+4:]
	for i := range one {
		one[i], two[i] = pattern(r.me, 1, i), pattern(r.me, 2, i)
	}
	for target := range r.size {
		handles := []rma.Handle{
			r.q.Put(one, r.w, target, first),
			r.q.FetchAdd(r.w, target, last, 3),
			r.q.Get(end, r.w, target, last-3),
			r.q.FetchAdd(r.w, target, first, 5),
			r.q.Put(two, r.w, target, first),
			r.q.Get(begin, r.w, target, first),
			r.q.CompareAndSwap(r.w, target, last, two[longWords-1], 7),
			r.q.Get(all, r.w, target, first),
			r.q.FetchAdd(r.w, target, first, 1),
		}
		want := []uint64{0, one[longWords-1], 0, one[0], 0, 0, two[longWords-1], 0, two[0]}
		for i, h := range handles {
			if got, err := r.finish(h); err != nil || got != want[i] {
				return fmt.Errorf("operation %d on rank %d saw %d, not %d: %v", i, target, got,
					want[i], err)
			}
		}
		wantEnd := append(slices.Clone(one[longWords-4:longWords-1]), one[longWords-1]+3)
		wantAll := append(slices.Clone(two[:longWords-1]), 7)
		if !slices.Equal(end, wantEnd) || !slices.Equal(begin, two[:4]) ||
			!slices.Equal(all, wantAll) {
			return fmt.Errorf("gets on rank %d brought %v and %v, or a long one other words",
				target, end, begin)
		}
	}
	return nil
}

// handlesAreReused keeps a queue full for long, and takes results in any order.
func handlesAreReused(r *rank) error {
	expected := map[rma.Handle]uint64{}
	for round := range uint64(50) {
		for i := range queueDepth {
			h := r.q.FetchAdd(r.w, r.me, i, 1)
			if _, taken := expected[h]; taken || h == rma.NoHandle {
				return fmt.Errorf("round %d: handle %d is in flight already", round, h)
			}
			expected[h] = round
		}
		if err := r.q.Submit(); err != nil {
			return err
		}
		for h, want := range expected {
			if got, err := r.finish(h); err != nil || got != want {
				return fmt.Errorf("round %d: handle %d saw %d, %v, want %d",
					round, h, got, err, want)
			}
			delete(expected, h)
		}
	}
	return nil
}

// done: an operation is not done before it is submitted, is done after Wait, and its handle stays
// valid.
func done(r *rank) error {
	for target := range r.size {
		h := r.q.FetchAdd(r.w, target, r.me, 7)
		if r.q.Done(h) {
			return fmt.Errorf("an operation is done that was not submitted")
		}
		if err := r.q.Submit(); err != nil {
			return err
		}
		if err := r.q.Wait(r.ctx, h); err != nil {
			return err
		}
		if !r.q.Done(h) {
			return fmt.Errorf("an operation on rank %d is not done after Wait", target)
		}
		if value, err := r.q.Value(h); err != nil || value != 0 {
			return fmt.Errorf("value %d, %v, want 0", value, err)
		}
	}
	return nil
}

// manyWindows keeps a few windows open while others come and go.
func manyWindows(r *rank) error {
	const windows, kept = 100, 3
	var open []rma.Window
	for n := range windows {
		w, err := r.job.NewWindow(r.ctx, rma.Spec{Name: fmt.Sprint("window ", n), Words: 2 + n})
		if err != nil {
			return err
		}
		if err := r.put(w, (r.me+1)%r.size, 1, uint64(n+1)); err != nil {
			return err
		}
		if err := r.barrier(); err != nil {
			return err
		}
		if open = append(open, w); len(open) <= kept {
			continue
		}
		first := n - kept
		for target := range r.size {
			if err := r.expect(open[0], target, 0, 0, uint64(first+1)); err != nil {
				return fmt.Errorf("window %d: %w", first, err)
			}
		}
		if err := open[0].Close(); err != nil {
			return err
		}
		if err := open[0].Close(); err != nil {
			return fmt.Errorf("second Close: %w", err)
		}
		open = open[1:]
	}
	return nil // the job closes the others
}

// closedByOne: the others keep a window that a rank has closed, its segment too, also when a new
// one is made, which is when engines free windows.
func closedByOne(r *rank) error {
	const words = 1 << 17
	w, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "closed by one", Words: words})
	if err != nil {
		return err
	}
	if err := r.put(w, r.me, words-1, uint64(r.me+1)); err != nil {
		return err
	}
	if err := r.barrier(); err != nil {
		return err
	}
	if r.me == 0 {
		if err := w.Close(); err != nil {
			return err
		}
	}
	next, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "made afterwards", Words: words})
	if err != nil {
		return err
	}
	if err := r.put(next, r.me, words-1, ^uint64(0)); err != nil {
		return err
	}
	if err := r.barrier(); err != nil || r.me == 0 {
		return err
	}
	for target := range r.size {
		if err := r.expect(w, target, words-1, uint64(target+1)); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), next.Close())
}
