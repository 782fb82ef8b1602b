//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

// Ranks answer each other, also while they compute and when they give up an answer.
func TestShip(t *testing.T) {
	for _, c := range []struct{ role, argument string }{
		{"shipAll", "hidden"}, {"shipAll", "pairs"}, {"shipAll", "hosts"},
		{"shipCompute", "hosts"}, {"shipCancel", "hosts"}, {"shipCancel", "hidden"},
	} {
		out, err := find(t, ask().kind).play(t, 3, c.role+":"+c.argument)
		expect(t, out, err, true, 3, "all is answered")
	}
}

// A rank that is killed while it works on a request ends the job.
func TestShipKilled(t *testing.T) {
	begin := time.Now()
	out, err := find(t, ask().kind).play(t, 3, "shipDie:hosts")
	expect(t, out, err, false, 0)
	if time.Since(begin) > jobLimit || strings.Contains(out, "does not end") {
		t.Errorf("the job had to be ended; it said:\n%s", out)
	}
}

// Where the program has initialised MPI for less than MPI_THREAD_MULTIPLE, and where no thread owns
// it, nothing is shipped.
func TestNotShipped(t *testing.T) {
	for _, c := range []struct{ role, says string }{
		{"serves:", "serves true, swaps true"}, {"serves:hidden", "serves true, swaps false"},
		{"servesIn:2", "serves false, swaps false"},
		{"servesIn:passive", "serves false, swaps false"},
	} {
		how := c.role
		if how == "serves:" {
			how = "serves:hosts"
		}
		out, err := find(t, ask().kind).play(t, 2, how, oscVariable+"="+oscChoice())
		expect(t, out, err, true, 2, c.says)
	}
}

// shipped has ranks serve a window and act on it.
func shipped(argument string, serve func(job rma.Job) rma.Handler,
	act func(ctx context.Context, job rma.Job, w rma.Window) error) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		w.(rma.Server).Serve(serve(job))
		err := job.Barrier(ctx)
		if err == nil {
			err = act(ctx, job, w)
		}
		if err == nil {
			fmt.Println("all is answered")
		}
		return errors.Join(err, job.Barrier(ctx))
	})
}

// mixed is a word of the answer to a request of a rank: everything about it counts.
func mixed(from, to, at int, word uint64) uint64 {
	return (word ^ uint64(from)<<56 ^ uint64(to)<<48 ^ uint64(at)) * 0x9e3779b97f4a7c15
}

// mixer is a handler: the first word of a request says how long an answer it wants.
func mixer(job rma.Job) rma.Handler {
	return func(from int, request, answer []uint64) int {
		words := int(request[0])
		for i := range words {
			answer[i] = mixed(from, job.Rank(), i, request[i%len(request)])
		}
		return words
	}
}

// shipAll has four goroutines of all ranks ship to all, and add in their memory by messages too.
func shipAll(argument string) error {
	const goroutines, rounds = 4, 20
	return shipped(argument, mixer, func(ctx context.Context, job rma.Job, w rma.Window) error {
		var group sync.WaitGroup
		errs := make([]error, goroutines)
		for i := range errs {
			group.Go(func() { errs[i] = shipRounds(ctx, job, w, i, rounds) })
		}
		group.Wait()
		if err := errors.Join(append(errs, job.Barrier(ctx))...); err != nil {
			return err
		}
		cells, err := rma.NewCells(job, w)
		if err != nil {
			return err
		}
		sum, err := cells.Load(ctx, job.Rank(), 0)
		if want := uint64(goroutines * rounds * job.Size()); err == nil && sum != want {
			err = fmt.Errorf("the ranks have added %d here, want %d", sum, want)
		}
		return errors.Join(err, job.Barrier(ctx))
	})
}

// shipRounds ships requests of random sizes to all ranks, a few at once, and checks the answers.
func shipRounds(ctx context.Context, job rma.Job, w rma.Window, seed, rounds int) error {
	const depth = 7
	random := rand.New(rand.NewPCG(uint64(seed), uint64(job.Rank())))
	queue, err := job.NewQueue(depth + job.Size())
	if err != nil {
		return err
	}
	q := queue.(rma.Carrier)
	buf, err := q.Alloc(2 * depth * rma.MaxShipWords)
	if err != nil {
		return err
	}
	size := func() int { return min(1+int(random.ExpFloat64()*600), rma.MaxShipWords) }
	for range rounds {
		var requests, answers [depth]rma.Buf
		var handles [depth]rma.Handle
		var adds []rma.Handle
		var to [depth]int
		before, bytes := *q.Stats(), 8*job.Size() // of the atomics
		for i := range depth {
			at, room := 2*i*rma.MaxShipWords, size()
			requests[i], to[i] = buf[at:at+size()], random.IntN(job.Size())
			answers[i] = buf[at+rma.MaxShipWords : at+rma.MaxShipWords+room]
			for j := range requests[i] {
				requests[i][j] = random.Uint64()
			}
			requests[i][0] = uint64(random.IntN(room + 1))
			handles[i] = q.Ship(requests[i], answers[i], w, to[i])
			bytes += 8 * (len(requests[i]) + int(requests[i][0]))
		}
		for rank := range job.Size() {
			adds = append(adds, q.FetchAdd(w, rank, 0, 1))
		}
		if err := finishAll(ctx, q, adds); err != nil {
			return err
		}
		for i, h := range handles {
			words, err := result(ctx, q, h)
			if err != nil || words != requests[i][0] {
				return fmt.Errorf("an answer of %d words, want %d: %v", words, requests[i][0], err)
			}
			for j := range int(words) {
				want := mixed(job.Rank(), to[i], j, requests[i][j%len(requests[i])])
				if answers[i][j] != want {
					return fmt.Errorf("word %d of %d from rank %d is %x, want %x", j, words, to[i],
						answers[i][j], want)
				}
			}
		}
		if s := q.Stats().Since(before); s.Ships != depth || s.Bytes != uint64(bytes) {
			return fmt.Errorf("%d requests of %d bytes are counted as %+v", depth, bytes, s)
		}
	}
	return q.Close()
}

// asker ships words that a mixer answers.
type asker struct {
	q       rma.Carrier
	w       rma.Window
	request rma.Buf
	answer  rma.Buf
	handles []rma.Handle // of start
}

func newAsker(job rma.Job, w rma.Window, depth int) (*asker, error) {
	q, err := job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	buf, err := q.Alloc(depth + 2)
	if err != nil {
		return nil, err
	}
	buf[0] = 1
	return &asker{q: q.(rma.Carrier), w: w, request: buf[:2], answer: buf[2:]}, nil
}

// post ships one request whose answer is a word.
func (a *asker) post(i, rank int) rma.Handle {
	return a.q.Ship(a.request, a.answer[i:i+1], a.w, rank)
}

// ask does so and waits.
func (a *asker) ask(ctx context.Context, rank int) error {
	return errors.Join(a.start(1, rank), a.finish(ctx, rank))
}

// start ships some.
func (a *asker) start(n, rank int) error {
	a.handles = nil
	for i := range n {
		a.handles = append(a.handles, a.post(i, rank))
	}
	return a.q.Submit()
}

// finish checks their answers.
func (a *asker) finish(ctx context.Context, rank int) error {
	for i, h := range a.handles {
		words, err := result(ctx, a.q, h)
		if err != nil {
			return err
		}
		if want := mixed(a.w.Rank(), rank, 0, 1); words != 1 || a.answer[i] != want {
			return fmt.Errorf("%d words from rank %d, the first %x, want %x", words, rank,
				a.answer[i], want)
		}
	}
	return nil
}

// shipCompute has the last rank compute on all the processors that Go has, which is one, until
// it has answered the others.
func shipCompute(argument string) error {
	const each = 10
	var answered atomic.Int64
	serve := func(job rma.Job) rma.Handler {
		answer := mixer(job)
		return func(from int, request, answers []uint64) int {
			defer answered.Add(1)
			return answer(from, request, answers)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		if job.Rank() == last {
			runtime.GOMAXPROCS(1)
			for int(answered.Load()) < each*last {
				spun++
			}
			return nil
		}
		k, err := newAsker(job, w, 1)
		for i := 0; i < each && err == nil; i++ {
			err = k.ask(ctx, last)
		}
		return err
	})
}

// shipCancel has ranks give up requests that the last rank holds up, more than it takes at once:
// their queue closes before they are answered. What was asked before and what is asked later is
// answered.
func shipCancel(argument string) error {
	const kept, givenUp = 6, 11 // the former are more than may be on their way
	proceed := make(chan struct{})
	serve := func(job rma.Job) rma.Handler {
		return func(from int, request, answer []uint64) int {
			if job.Rank() == job.Size()-1 {
				<-proceed
			}
			return mixer(job)(from, request, answer)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		var before, after *asker
		if job.Rank() < last {
			var err error
			if before, err = newAsker(job, w, kept); err != nil {
				return err
			}
			if after, err = newAsker(job, w, 1); err != nil {
				return err
			}
			err = errors.Join(before.start(kept, last), giveUp(ctx, job, w, last, givenUp),
				after.start(1, last))
			if err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		close(proceed)
		k, err := newAsker(job, w, 1)
		for rank := range job.Size() {
			err = errors.Join(err, k.ask(ctx, rank))
		}
		if job.Rank() == last || err != nil {
			return err
		}
		if !after.q.Done(after.handles[0]) { // requests leave in order
			return errors.New("a request waits, and one that came after is answered")
		}
		return errors.Join(before.finish(ctx, last), after.finish(ctx, last))
	})
}

func giveUp(ctx context.Context, job rma.Job, w rma.Window, rank, depth int) error {
	k, err := newAsker(job, w, depth)
	if err != nil {
		return err
	}
	if err := k.start(depth, rank); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := k.q.Wait(short, k.handles[0]); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("waiting for a rank that does not answer: %v", err)
	}
	return k.q.Close()
}

// shipDie has the last rank killed in a handler while the others wait for its answers.
func shipDie(argument string) error {
	serve := func(job rma.Job) rma.Handler {
		return func(from int, request, answer []uint64) int {
			if job.Rank() == job.Size()-1 {
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			}
			return mixer(job)(from, request, answer)
		}
	}
	return shipped(argument, serve, func(ctx context.Context, job rma.Job, w rma.Window) error {
		k, err := newAsker(job, w, 1)
		if err != nil {
			return err
		}
		return k.ask(ctx, job.Size()-1)
	})
}

// serves prints what a window of a job offers.
func serves(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		_, server := w.(rma.Server)
		fmt.Printf("serves %v, swaps %v\n", server, w.CPUAtomicsCoherent())
		return job.Barrier(ctx)
	})
}
