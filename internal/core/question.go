package core

import (
	"context"

	"github.com/farhash/farhash/rma"
)

// Question asks ranks to do their part of something that is divided among them, and asks those
// again that have more to do. A request is one word, and so is its answer: 1 for more, else 0.
type Question struct {
	Kind  uint32 // of the requests
	About uint64 // their word
	// Here does the part of a rank that cannot be asked, as it is this one or nothing is shipped;
	// more as in an answer. nil does nothing.
	Here func(rank int) (more bool, err error)
}

// Ask asks ranks until none has more to do, and returns what the requests took.
func (b *Batches) Ask(ctx context.Context, ranks []int, q Question) (requests rma.Stats,
	err error) {
	for len(ranks) > 0 && err == nil {
		a := asked{q: &q, ranks: ranks}
		took := rma.Stats{}
		took, err = b.ask(ctx, len(ranks), &a)
		requests.Add(took)
		ranks = a.again
	}
	return requests, err
}

// asked is a question to some ranks: the Ops of it.
type asked struct {
	q     *Question
	ranks []int
	again []int // that have more to do
}

// Owners gives the ranks.
func (a *asked) Owners(owners []int32) {
	for i, rank := range a.ranks {
		owners[i] = int32(rank)
	}
}

// Direct has this process do what it cannot ask for.
func (a *asked) Direct(at, left []int) ([]int, error) { return left, a.Queued(at) }

// Queued is Direct. nil is all ranks.
func (a *asked) Queued(at []int) error {
	here := a.ranks
	if at != nil {
		here = make([]int, 0, len(at))
		for _, i := range at {
			here = append(here, a.ranks[i])
		}
	}
	for _, rank := range here {
		if a.q.Here == nil {
			break
		}
		more, err := a.q.Here(rank)
		if err != nil {
			return err
		}
		if more {
			a.again = append(a.again, rank)
		}
	}
	return nil
}

// Kind, Size, Pack and Unpack are of a request and its answer.
func (a *asked) Kind() uint32 { return a.q.Kind }

func (a *asked) Size(int) (request, answer int) { return 1, 1 }

func (a *asked) Pack(_ int, to []uint64) { to[0] = a.q.About }

func (a *asked) Unpack(rank, _ int, from []uint64) (words int, again bool, err error) {
	if from[0] > 1 {
		return 0, false, ErrDisorder
	}
	if from[0] == 1 {
		a.again = append(a.again, rank)
	}
	return 1, false, nil
}
