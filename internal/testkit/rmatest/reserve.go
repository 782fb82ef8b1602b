package rmatest

import (
	"fmt"
	"math"

	"github.com/farhash/farhash/rma"
)

const (
	reservedWords = min(1<<33, math.MaxInt/64) // 64 GiB, where memory can be taken in parts
	committed     = 1 << 18                    // 2 MiB
)

// reserved makes windows larger than memory. Each rank commits memory of the next one, far from the
// beginning and across huge pages, and the owner of the memory uses it.
func reserved(r *rank) error {
	words := 4 * committed
	if rma.Reserves(r.job) {
		words = reservedWords
	}
	w, err := r.job.NewWindow(r.ctx, rma.Spec{Name: "reserved", Words: words, Reserve: true})
	if err != nil {
		return err
	}
	off := words - 2*committed - 12345
	next, previous := (r.me+1)%r.size, (r.me+r.size-1)%r.size
	for range 2 { // the second time there is nothing to do
		if err := commit(w, next, off, committed); err != nil {
			return err
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	for _, at := range []int{off, off + committed/2, off + committed - 2} {
		if err := r.expect(w, r.me, at, 0, 0); err != nil {
			return err
		}
		if err := r.put(w, r.me, at, uint64(at), uint64(r.me)); err != nil {
			return err
		}
	}
	if err := r.barrier(); err != nil {
		return err
	}
	if err := commit(w, r.me, off-1, committed+2); err != nil { // what is there stays
		return err
	}
	for _, at := range []int{off, off + committed/2, off + committed - 2} {
		if err := r.expect(w, previous, at, uint64(at), uint64(previous)); err != nil {
			return err
		}
	}
	if err := r.expect(w, r.me, off-1, 0); err != nil {
		return err
	}
	if _, ok := w.(rma.Committer); ok && !panics(func() { _ = commit(w, r.me, words-1, 2) }) {
		return fmt.Errorf("a Commit of words outside the segment does not panic")
	}
	if err := r.barrier(); err != nil {
		return err
	}
	return w.Close()
}

// commit is Commit of windows that have it.
func commit(w rma.Window, rank, off, words int) error {
	if c, ok := w.(rma.Committer); ok {
		return c.Commit(rank, off, words)
	}
	return nil
}
