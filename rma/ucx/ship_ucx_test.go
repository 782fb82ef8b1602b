//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/rma"
)

// ranksWith has ranks serve a window by handlers of their own.
func ranksWith(t *testing.T, ranks int, hidden bool, fn func(job rma.Job, w *window) error) {
	t.Helper()
	err := together(t, ranks, 2, hidden, overrides{transports: transports, atomics: coherent},
		func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "served", Words: 64})
			if err != nil {
				return err
			}
			return fn(job, w.(*window))
		})
	if err != nil {
		t.Error(err)
	}
}

// mixed is a word of the answer to a request of a rank: everything about it counts.
func mixed(from, to, at int, word uint64) uint64 {
	return (word ^ uint64(from)<<56 ^ uint64(to)<<48 ^ uint64(at)) * 0x9e3779b97f4a7c15
}

// mixer is a handler: the first word of a request says how long an answer it wants.
func mixer(me int) rma.Handler {
	return func(from int, request, answer []uint64) int {
		words := int(request[0])
		for i := range words {
			answer[i] = mixed(from, me, i, request[i%len(request)])
		}
		return words
	}
}

// shipAll ships requests of random sizes to all ranks, a few at once, and checks the answers.
func shipAll(ctx context.Context, job rma.Job, w rma.Window, seed, rounds int) error {
	const depth = 7
	random := rand.New(rand.NewPCG(uint64(seed), uint64(job.Rank())))
	queue, err := job.NewQueue(depth)
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
		var to [depth]int
		before, bytes := *q.Stats(), 0
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
		if err := q.Submit(); err != nil {
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

// Many queues ship to all ranks at once, and get the answers to what they have asked.
func TestShip(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		ranksWith(t, 3, hidden, func(job rma.Job, w *window) error {
			w.Serve(mixer(job.Rank()))
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
			var group sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				group.Go(func() { errs[i] = shipAll(t.Context(), job, w, i, 20) })
			}
			group.Wait()
			return errors.Join(append(errs, job.Barrier(t.Context()))...)
		})
	}
}

// asker ships words that a mixer answers.
type asker struct {
	ctx     context.Context
	q       rma.Carrier
	w       rma.Window
	request rma.Buf
	answer  rma.Buf
}

func newAsker(ctx context.Context, job rma.Job, w rma.Window, depth int) (*asker, error) {
	q, err := job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	buf, err := q.Alloc(depth + 2)
	if err != nil {
		return nil, err
	}
	buf[0] = 1
	return &asker{ctx, q.(rma.Carrier), w, buf[:2], buf[2:]}, nil
}

// post ships one request whose answer is a word.
func (a *asker) post(i, rank int) rma.Handle {
	return a.q.Ship(a.request, a.answer[i:i+1], a.w, rank)
}

// ask does so and waits.
func (a *asker) ask(rank int) error {
	words, err := result(a.ctx, a.q, a.post(0, rank))
	if want := mixed(a.w.Rank(), rank, 0, 1); err == nil && (words != 1 || a.answer[0] != want) {
		return fmt.Errorf("%d words from rank %d, the first %x, want %x", words, rank,
			a.answer[0], want)
	}
	return err
}

// refused is an error if a rank answers.
func (a *asker) refused(rank int) error {
	if err := a.ask(rank); !errors.Is(err, rma.ErrNotServed) {
		return fmt.Errorf("rank %d has no handler and answers: %v", rank, err)
	}
	return nil
}

// Requests are answered while their window has a handler, by it, and also while Close
// waits for others.
func TestServe(t *testing.T) {
	ranksWith(t, 3, false, func(job rma.Job, w *window) error {
		a, err := newAsker(t.Context(), job, w, 1)
		if err != nil {
			return err
		}
		other, err := job.NewWindow(t.Context(), rma.Spec{Name: "other", Words: 1})
		if err != nil {
			return err
		}
		step := func(is func(rank int) error) {
			for rank := range job.Size() {
				err = errors.Join(err, is(rank))
			}
			err = errors.Join(err, job.Barrier(t.Context()))
		}
		step(a.refused)
		other.(*window).Serve(func(_ int, _, _ []uint64) int { panic("of another window") })
		w.Serve(mixer(job.Rank()))
		step(func(int) error { return nil })
		step(a.ask)
		other.(*window).Serve(nil)
		w.Serve(nil)
		step(func(int) error { return nil })
		step(a.refused)
		if job.Rank() == 1 {
			w.Serve(mixer(1))
			err = errors.Join(err, w.Close())
			if !panics(func() { w.Serve(mixer(1)) }) {
				t.Error("a closed window is served again")
			}
		}
		if job.Rank() == 2 {
			w.Serve(mixer(2))
		}
		err = errors.Join(err, job.Barrier(t.Context()))
		if job.Rank() == 0 { // the others close the job at the same time
			for range 100 {
				err = errors.Join(err, a.refused(0), a.refused(1), a.ask(2))
			}
		}
		return errors.Join(err, a.q.Close())
	})
}

func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}

// Who ends to serve waits for the handler that is under way.
func TestServeWaits(t *testing.T) {
	for _, end := range []func(w *window){func(w *window) { w.Serve(nil) },
		func(w *window) { _ = w.Close() }} {
		ranksWith(t, 2, true, func(job rma.Job, w *window) error {
			if job.Rank() == 1 {
				a, err := newAsker(t.Context(), job, w, 1)
				if err != nil {
					return err
				}
				err = job.Barrier(t.Context())
				return errors.Join(err, a.ask(0), job.Barrier(t.Context()), a.q.Close())
			}
			begun, proceed, ended := make(chan struct{}), make(chan struct{}), atomic.Bool{}
			w.Serve(func(from int, request, answer []uint64) int {
				close(begun)
				<-proceed
				defer ended.Store(true)
				return mixer(0)(from, request, answer)
			})
			err := job.Barrier(t.Context())
			<-begun
			time.AfterFunc(20*time.Millisecond, func() { close(proceed) })
			if end(w); !ended.Load() {
				err = errors.Join(err, errors.New("a handler outlives its window's service"))
			}
			return errors.Join(err, job.Barrier(t.Context()))
		})
	}
}

// A rank gets no more requests than it has room for: what else is shipped waits, and holds up
// neither other operations nor requests to others. (What is sent beyond is refused.)
func TestBackPressure(t *testing.T) {
	const depth = 40
	ranksWith(t, 3, true, func(job rma.Job, w *window) error {
		proceed := make(chan struct{})
		w.Serve(func(from int, request, answer []uint64) int {
			if job.Rank() == 0 {
				<-proceed
			}
			return mixer(job.Rank())(from, request, answer)
		})
		err := job.Barrier(t.Context())
		if err != nil || job.Rank() == 0 {
			for at := 1; err == nil && at < job.Size(); at++ {
				err = awaitWord(t.Context(), job, w, at)
			}
			close(proceed)
			return errors.Join(err, job.Barrier(t.Context()))
		}
		one, errOne := newAsker(t.Context(), job, w, depth)
		two, errTwo := newAsker(t.Context(), job, w, depth)
		if err := errors.Join(errOne, errTwo); err != nil {
			return err
		}
		var handles []rma.Handle
		for i := range depth - 1 {
			handles = append(handles, one.post(i, 0), two.post(i, 0))
		}
		err = errors.Join(two.q.Submit(), one.ask(3-job.Rank()))
		_, addErr := result(t.Context(), one.q, one.q.FetchAdd(w, 0, job.Rank(), 1))
		err = errors.Join(err, addErr)
		for i, h := range handles {
			q := []rma.Queue{one.q, two.q}[i%2]
			words, failed := uint64(0), q.Wait(t.Context(), h)
			if failed == nil {
				words, failed = q.Value(h)
			}
			if failed != nil || words != 1 {
				err = errors.Join(err, fmt.Errorf("answer %d of %d words: %v", i, words, failed))
			}
		}
		return errors.Join(err, one.q.Close(), two.q.Close(), job.Barrier(t.Context()))
	})
}

// awaitWord waits until a word of this rank is not zero any more.
func awaitWord(ctx context.Context, job rma.Job, w rma.Window, at int) error {
	cells, err := rma.NewCells(job, w)
	pace := backoff.Backoff{Job: job}
	for err == nil {
		var word uint64
		if word, err = cells.Load(ctx, job.Rank(), at); word != 0 {
			break
		}
		pace.Pause()
	}
	return err
}
