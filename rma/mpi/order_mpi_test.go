//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
)

func init() {
	roles["inOrder"] = inOrder
	roles["long"] = long
	roles["closedByOne"] = closedByOne
}

// Operations on the same words take effect in the order in which they were posted, in the window
// that they name, with more in flight than a message or a call of MPI has.
func TestInOrder(t *testing.T) {
	for _, how := range []string{"hosts", "hidden", "pairs", "hosts by messages",
		"pairs by messages"} {
		out, err := find(t, ask().kind).play(t, 3, "inOrder:"+how)
		expect(t, out, err, true, 3, "all in order")
	}
}

// ordered is a queue and the windows that it uses in turn.
type ordered struct {
	q        rma.Queue
	windows  [2]rma.Window
	puts     rma.Buf
	gets     rma.Buf
	last     rma.Buf               // one word, put again
	expected map[rma.Handle]uint64 // what atomics see
}

// orderedWords is how many words of each rank every rank has for itself.
const orderedWords = 200

func inOrder(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		second, err := job.NewWindow(ctx, rma.Spec{Name: "second", Words: w.Len()})
		if err != nil {
			return err
		}
		q, err := job.NewQueue(6 * orderedWords)
		if err != nil {
			return err
		}
		buf, err := q.Alloc(2*orderedWords + 1)
		if err != nil {
			return err
		}
		o := &ordered{q: q, windows: [2]rma.Window{w, second}, puts: buf[:orderedWords],
			gets: buf[orderedWords : 2*orderedWords], last: buf[2*orderedWords:]}
		for round := range 5 {
			for rank := range job.Size() {
				if err := o.round(ctx, job.Rank(), rank, round); err != nil {
					return fmt.Errorf("round %d at rank %d: %w", round, rank, err)
				}
			}
		}
		fmt.Println("all in order")
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

// round submits all at once: each word is put, added to twice with many others in between, swapped
// and got.
func (o *ordered) round(ctx context.Context, me, rank, round int) error {
	o.expected = map[rma.Handle]uint64{}
	place := func(i int) (rma.Window, int) { return o.windows[i%2], me*orderedWords + i }
	for i := range o.puts {
		o.puts[i] = rmatest.Mixed(me, rank, i, uint64(round))
		w, off := place(i)
		o.expected[o.q.Put(o.puts[i:i+1], w, rank, off)] = 0
	}
	for again := range uint64(2) {
		for i, put := range o.puts {
			w, off := place(i)
			o.expected[o.q.FetchAdd(w, rank, off, 5)] = put + 5*again
		}
	}
	for i, put := range o.puts {
		w, off := place(i)
		o.expected[o.q.CompareAndSwap(w, rank, off, put+10, put+uint64(11+i))] = put + 10
	}
	o.last[0] = uint64(round)
	w, off := place(0) // the put waits for atomics, and a get for the put
	o.expected[o.q.Put(o.last, w, rank, off)] = 0
	for i := range o.gets {
		w, off := place(i)
		o.expected[o.q.Get(o.gets[i:i+1], w, rank, off)] = 0
	}
	if err := o.q.Submit(); err != nil {
		return err
	}
	for h, want := range o.expected {
		if seen, err := remote.Result(ctx, o.q, h); err != nil || seen != want {
			return fmt.Errorf("operation %d saw %#x, want %#x: %v", h, seen, want, err)
		}
	}
	for i, got := range o.gets {
		want := o.puts[i] + uint64(11+i)
		if i == 0 {
			want = o.last[0]
		}
		if got != want {
			return fmt.Errorf("word %d is %#x, want %#x", i, got, want)
		}
	}
	return nil
}

// Operations that are longer than a message are whole, and in order with others on their words.
func TestLong(t *testing.T) {
	for _, how := range []string{"hosts", "hosts by messages", "hidden by messages"} {
		out, err := find(t, ask().kind).play(t, 2, "long:"+how)
		expect(t, out, err, true, 2, "all are whole")
	}
}

func long(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, _ rma.Window) error {
		const words = 5*rma.MaxShipWords + 77
		w, err := job.NewWindow(ctx, rma.Spec{Name: "long", Words: 2 * words})
		if err != nil {
			return err
		}
		q, err := job.NewQueue(4)
		if err != nil {
			return err
		}
		buf, err := q.Alloc(2 * words)
		if err != nil {
			return err
		}
		puts, gets := buf[:words], buf[words:]
		rank, from := 1-job.Rank(), job.Rank()*words
		for i := range puts {
			puts[i] = rmatest.Mixed(job.Rank(), rank, 0, uint64(i))
		}
		last := words - 1
		handles := []rma.Handle{q.Put(puts, w, rank, from), q.FetchAdd(w, rank, from+last, 3),
			q.CompareAndSwap(w, rank, from, puts[0], 9), q.Get(gets, w, rank, from)}
		if err := finishAll(ctx, q, handles); err != nil {
			return err
		}
		puts[last] += 3
		puts[0] = 9
		for i, got := range gets {
			if got != puts[i] {
				return fmt.Errorf("word %d is %#x, want %#x", i, got, puts[i])
			}
		}
		fmt.Println("all are whole")
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

// A window that a rank has closed is served by that rank no more, and by the others as before.
func TestClosedByOne(t *testing.T) {
	out, err := find(t, ask().kind).play(t, 3, "closedByOne:hosts")
	expect(t, out, err, true, 3, "the others answer")
}

func closedByOne(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		served := w.(rma.Server)
		served.Serve(rmatest.Mixer(job.Rank()))
		if job.Rank() == 0 {
			if err := w.Close(); err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		if job.Rank() > 0 {
			k, err := rmatest.NewAsker(ctx, job, w, 1)
			if err != nil {
				return err
			}
			for rank := 1; rank < job.Size(); rank++ {
				if err := k.Ask(rank); err != nil {
					return err
				}
			}
			if err := k.Ask(0); !errors.Is(err, rma.ErrNotServed) {
				return fmt.Errorf("a request for a window that is closed there: %v", err)
			}
		}
		fmt.Println("the others answer")
		return job.Barrier(ctx)
	})
}
