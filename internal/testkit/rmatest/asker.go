package rmatest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/farhash/farhash/rma"
)

// Mixed is a word of the answer of a [Mixer]: everything about the request counts.
func Mixed(from, to, at int, word uint64) uint64 {
	return (word ^ uint64(from)<<56 ^ uint64(to)<<48 ^ uint64(at)) * 0x9e3779b97f4a7c15
}

// Mixer is a handler of a rank: the first word of a request says how long an answer it wants.
func Mixer(me int) rma.Handler {
	return func(from int, request, answer []uint64) int {
		words := int(request[0])
		for i := range words {
			answer[i] = Mixed(from, me, i, request[i%len(request)])
		}
		return words
	}
}

// ShipRounds ships requests of random sizes to all ranks, which answer by a [Mixer], a few at once,
// and checks the answers. With each few it adds 1 to word 0 of every rank.
func ShipRounds(ctx context.Context, job rma.Job, w rma.Window, seed, rounds int) error {
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
		var handles, adds []rma.Handle
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
			handles = append(handles, q.Ship(requests[i], answers[i], w, to[i]))
			bytes += 8 * (len(requests[i]) + int(requests[i][0]))
		}
		for rank := range job.Size() {
			adds = append(adds, q.FetchAdd(w, rank, 0, 1))
		}
		for _, h := range adds {
			if _, err := finish(ctx, q, h); err != nil {
				return err
			}
		}
		for i, h := range handles {
			words, err := finish(ctx, q, h)
			if err != nil || words != requests[i][0] {
				return fmt.Errorf("an answer of %d words, want %d: %v", words, requests[i][0], err)
			}
			if err := mixedBy(job.Rank(), to[i], requests[i], answers[i][:words]); err != nil {
				return err
			}
		}
		if s := q.Stats().Since(before); s.Ships != depth || s.Bytes != uint64(bytes) {
			return fmt.Errorf("%d requests of %d bytes are counted as %+v", depth, bytes, s)
		}
	}
	return q.Close()
}

func mixedBy(from, to int, request, answer []uint64) error {
	for i, word := range answer {
		if want := Mixed(from, to, i, request[i%len(request)]); word != want {
			return fmt.Errorf("word %d of %d from rank %d is %x, want %x", i, len(answer), to, word,
				want)
		}
	}
	return nil
}

// Asker ships requests that a [Mixer] answers by one word each.
type Asker struct {
	Queue   rma.Carrier
	Request rma.Buf      // two words; the first is 1
	Handles []rma.Handle // of Start
	ctx     context.Context
	w       rma.Window
	answers rma.Buf
}

// NewAsker makes one for depth requests at once.
func NewAsker(ctx context.Context, job rma.Job, w rma.Window, depth int) (*Asker, error) {
	q, err := job.NewQueue(depth)
	if err != nil {
		return nil, err
	}
	buf, err := q.Alloc(depth + 2)
	if err != nil {
		return nil, err
	}
	buf[0] = 1
	return &Asker{Queue: q.(rma.Carrier), Request: buf[:2], ctx: ctx, w: w, answers: buf[2:]}, nil
}

// Post ships the i-th request.
func (a *Asker) Post(i, rank int) rma.Handle {
	return a.Queue.Ship(a.Request, a.answers[i:i+1], a.w, rank)
}

// Ask ships one request and waits for its answer.
func (a *Asker) Ask(rank int) error {
	if err := a.Start(1, rank); err != nil {
		return err
	}
	return a.Finish(rank)
}

// Start ships n requests.
func (a *Asker) Start(n, rank int) error {
	a.Handles = nil
	for i := range n {
		a.Handles = append(a.Handles, a.Post(i, rank))
	}
	return a.Queue.Submit()
}

// Finish waits for their answers and checks them.
func (a *Asker) Finish(rank int) error {
	for i, h := range a.Handles {
		words, err := finish(a.ctx, a.Queue, h)
		if err != nil {
			return err
		}
		if words != 1 {
			return fmt.Errorf("%d words from rank %d, want 1", words, rank)
		}
		if err := mixedBy(a.w.Rank(), rank, a.Request, a.answers[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}
