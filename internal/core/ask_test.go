package core

import (
	"context"
	"fmt"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// question is a single operation for rank 1.
type question struct{ answered, queued bool }

func (q *question) Owners(owners []int32) { owners[0] = 1 }

func (q *question) Direct(at, left []int) ([]int, error) { return append(left, at...), nil }

func (q *question) Queued([]int) error { q.queued = true; return nil }

func (q *question) Kind() uint32 { return 1 }

func (q *question) Size(int) (request, answer int) { return 1, 1 }

func (q *question) Pack(_ int, to []uint64) { to[0] = 41 }

func (q *question) Unpack(_, _ int, from []uint64) (words int, again bool, err error) {
	q.answered = from[0] == 42
	return 1, false, nil
}

// paced is many questions for rank 1, of which few may be in flight.
type paced struct {
	question
	answers int
}

func (p *paced) Owners(owners []int32) {
	for i := range owners {
		owners[i] = 1
	}
}

func (p *paced) AtOnce() int { return 3 }

func (p *paced) Unpack(_, _ int, from []uint64) (words int, again bool, err error) {
	p.answers++
	return 1, false, nil
}

// Of operations that are paced no more are in flight than they say, and all are done.
func TestPaced(t *testing.T) {
	options := local.Options{Hidden: true, Carries: true}
	err := local.RunWith(options, 2, func(job rma.Job) error {
		ctx, most := context.Background(), 0
		w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 1})
		if err != nil {
			return err
		}
		var b Batches
		err = b.Open(ctx, job, w, Config{Access: rma.Shipped,
			Answer: func(_ uint32, n int, request, answer []uint64) (int, error) {
				most = max(most, n)
				return n, nil
			}})
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			var p paced
			requests, err := b.Run(ctx, 20, &p)
			if err != nil || p.answers != 20 || p.queued || requests.Ships != 7 {
				return fmt.Errorf("%d answers to %d requests: %w", p.answers, requests.Ships, err)
			}
		}
		if err := job.Barrier(ctx); most > 3 || err != nil {
			return fmt.Errorf("%d operations were in flight: %w", most, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A question is shipped though a batch of one operation is not; nothing is where nothing is to be.
func TestAsk(t *testing.T) {
	options := local.Options{Hidden: true, Carries: true}
	err := local.RunWith(options, 2, func(job rma.Job) error {
		ctx := context.Background()
		w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 1})
		if err != nil {
			return err
		}
		for _, access := range []rma.Access{rma.Shipped, rma.OneSided} {
			var b Batches
			err := b.Open(ctx, job, w, Config{Access: access,
				Answer: func(_ uint32, _ int, request, answer []uint64) (int, error) {
					answer[0] = request[0] + 1
					return 1, nil
				}})
			if err != nil {
				return err
			}
			if access == rma.Shipped {
				b.line.choice.MinBatch = 100 // as on a fast network
			}
			var asked, run question
			if _, err := b.ask(ctx, 1, &asked); err != nil {
				return err
			}
			if _, err := b.Run(ctx, 1, &run); err != nil {
				return err
			}
			ships := access == rma.Shipped && job.Rank() == 0
			if asked != (question{ships, !ships}) || run != (question{false, true}) {
				return fmt.Errorf("%v, rank %d: the question %+v, a batch %+v", access, job.Rank(),
					asked, run)
			}
			if err := job.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A rank is asked until it has no more to do. If it cannot be asked, its part is done here.
func TestQuestion(t *testing.T) {
	for _, access := range []rma.Access{rma.Shipped, rma.OneSided} {
		options := local.Options{Hidden: true, Carries: true}
		err := local.RunWith(options, 2, func(job rma.Job) error {
			ctx, left := context.Background(), 3 // requests that a rank has to do
			w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 1})
			if err != nil {
				return err
			}
			var b Batches
			err = b.Open(ctx, job, w, Config{Access: access,
				Answer: func(kind uint32, _ int, request, answer []uint64) (int, error) {
					if left--; kind != 7 || request[0] != 41 {
						return 0, ErrDisorder
					}
					answer[0] = uint64(min(left, 1))
					return 1, nil
				}})
			if err != nil {
				return err
			}
			here := map[int]int{}
			if job.Rank() == 0 {
				q := Question{Kind: 7, About: 41, Here: func(rank int) (bool, error) {
					here[rank]++
					return here[rank] < 3, nil
				}}
				if _, err := b.Ask(ctx, []int{0, 1}, q); err != nil {
					return err
				}
				wanted := 0
				if access == rma.OneSided {
					wanted = 3
				}
				if here[1] != wanted {
					return fmt.Errorf("the part of rank 1 was done here %d times", here[1])
				}
			}
			if err := job.Barrier(ctx); err != nil {
				return err
			}
			if done := left == 0; job.Rank() == 1 && done != (access == rma.Shipped) {
				return fmt.Errorf("rank 1 has %d requests left", left)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%v: %v", access, err)
		}
	}
}
