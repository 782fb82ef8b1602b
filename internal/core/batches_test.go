package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

const (
	kindSum uint32 = iota // answers the sum of the operation's words
	kindFail
	kindLose
	kindForget // leaves out the last answer
	kindGarble
	kindAdd    // adds an answer
	kindRefuse // has the rank that asked carry out the first operation
)

// office answers sums, and counts what it answers.
type office struct{ answered, refused atomic.Int64 }

// answer is sent operations of some words, each led by their number.
func (o *office) answer(kind uint32, n int, request, answer []uint64) (int, error) {
	if kind == kindFail {
		return 0, errors.New("no sums today: " + strings.Repeat("ü", 40))
	}
	if kind == kindLose {
		return 0, fmt.Errorf("on the way: %w", &rma.RankError{Rank: 7})
	}
	for i := range n {
		words, sum := request[0], uint64(0)
		for _, word := range request[1 : 1+words] {
			sum += word
		}
		answer[i] = sum
		request = request[1+words:]
	}
	if len(request) != 0 {
		return 0, fmt.Errorf("%d words are left over", len(request))
	}
	o.answered.Add(int64(n))
	switch kind {
	case kindForget:
		n--
	case kindGarble:
		answer[0] = garbled
	case kindAdd:
		answer[n] = 0
		n++
	case kindRefuse:
		answer[0] = refused
		o.refused.Add(1)
	}
	return n, nil
}

// These are no sums.
const (
	garbled = 1<<64 - 1
	refused = 1<<64 - 2
)

// sums is a batch of operations of random lengths for random ranks, and what came of each.
type sums struct {
	kind   uint32
	owners []int
	words  [][]uint64
	got    []uint64
	direct int // operations run by Direct
	queued int // by Queued
	leaves int // every so many-th operation Direct leaves; 0: none
	room   int // words that each answer takes at most; 0: 1
	wholes int // calls of Direct with the whole batch
}

func newSums(rng *rand.Rand, kind uint32, n, ranks, maxWords int) *sums {
	b := &sums{kind: kind, got: make([]uint64, n)}
	for range n {
		b.owners = append(b.owners, rng.IntN(ranks))
		words := make([]uint64, rng.IntN(maxWords+1))
		for i := range words {
			words[i] = rng.Uint64()
		}
		b.words = append(b.words, words)
	}
	return b
}

func (s *sums) want(i int) (sum uint64) {
	for _, word := range s.words[i] {
		sum += word
	}
	return sum + 1
}

func (s *sums) Kind() uint32 { return s.kind }

func (s *sums) Owners(owners []int32) {
	for i, rank := range s.owners {
		owners[i] = int32(rank)
	}
}

func (s *sums) Direct(at, left []int) ([]int, error) {
	if at == nil {
		s.wholes++
	}
	for _, i := range s.numbers(at) {
		if s.leaves > 0 && i%s.leaves == 0 {
			left = append(left, i)
			continue
		}
		s.got[i] += s.want(i)
		s.direct++
	}
	return left, nil
}

func (s *sums) Queued(at []int) error {
	for _, i := range s.numbers(at) {
		s.got[i] += s.want(i)
		s.queued++
	}
	return nil
}

func (s *sums) numbers(at []int) []int {
	if at != nil {
		return at
	}
	for i := range s.words {
		at = append(at, i)
	}
	return at
}

func (s *sums) Size(i int) (request, answer int) { return 1 + len(s.words[i]), max(1, s.room) }

func (s *sums) Pack(i int, to []uint64) {
	to[0] = uint64(len(s.words[i]))
	copy(to[1:], s.words[i])
}

func (s *sums) Unpack(_, i int, from []uint64) (words int, again bool, err error) {
	switch from[0] {
	case garbled:
		return 0, false, core.ErrDisorder
	case refused:
		return 1, true, nil
	}
	s.got[i] += from[0] + 1
	return 1, false, nil
}

func (s *sums) check() error {
	for i, got := range s.got {
		if got != s.want(i) {
			return fmt.Errorf("operation %d of %d was not done once: %d, not %d", i, len(s.got),
				got, s.want(i))
		}
	}
	return nil
}

// onRanks runs fn on ranks whose memory is hidden and which carry requests.
func onRanks(t *testing.T, n int, fn func(job rma.Job, w rma.Window) error) {
	t.Helper()
	err := local.RunWith(local.Options{Hidden: true, Carries: true}, n, func(job rma.Job) error {
		w, err := job.NewWindow(context.Background(), rma.Spec{Name: "test", Words: 16})
		if err != nil {
			return err
		}
		return fn(job, w)
	})
	if err != nil {
		t.Error(err)
	}
}

// onBatches runs fn on ranks whose batches ship everything.
func onBatches(t *testing.T, n int, o *office,
	fn func(ctx context.Context, job rma.Job, c *core.Batches) error) {
	t.Helper()
	onRanks(t, n, func(job rma.Job, w rma.Window) error {
		ctx := context.Background()
		var c core.Batches
		err := c.Open(ctx, job, w, core.Config{Access: rma.Shipped, Answer: o.answer,
			Closed: errClosed})
		if err != nil {
			return err
		}
		return errors.Join(fn(ctx, job, &c), job.Barrier(ctx))
	})
}

var errClosed = errors.New("test: closed")

// Every operation of a batch is done once, whatever its length and its owner.
func TestEachOnce(t *testing.T) {
	for _, kind := range []uint32{kindSum, kindRefuse} {
		var o office
		var sent, local atomic.Int64
		onBatches(t, 4, &o, func(ctx context.Context, job rma.Job, c *core.Batches) error {
			rng := rand.New(rand.NewPCG(1, uint64(job.Rank())))
			for _, size := range []struct{ n, maxWords, room int }{{0, 1, 1}, {1, 1, 1}, {3, 0, 1},
				{5000, 3, 1}, {300, 500, 1}, {40, rma.MaxShipWords + 40, 1},
				{9, 10 * rma.MaxShipWords, 1}, {600, 3, 500}, {9, 3, rma.MaxShipWords}} {
				s := newSums(rng, kind, size.n, job.Size(), size.maxWords)
				s.room = size.room
				if _, err := c.Run(ctx, size.n, s); err != nil {
					return err
				}
				if err := s.check(); err != nil {
					return fmt.Errorf("%d of up to %d words: %w", size.n, size.maxWords, err)
				}
				sent.Add(int64(size.n))
				local.Add(int64(s.direct + s.queued))
			}
			return nil
		})
		if kind == kindRefuse {
			local.Add(-o.refused.Load()) // these were answered and run here
		}
		if answered := o.answered.Load(); answered+local.Load() != sent.Load() || answered == 0 {
			t.Errorf("%d operations: %d answered by others, %d done by their ranks", sent.Load(),
				answered, local.Load())
		}
	}
}

// Memory that can be addressed is worked on directly, and what a direct loop leaves goes through
// the queue. Where all memory is in one piece nothing is divided.
func TestDirect(t *testing.T) {
	for _, options := range []local.Options{{}, {Hosts: 2}, {Hosts: 2, Carries: true}} {
		err := local.RunWith(options, 4, func(job rma.Job) error {
			ctx := context.Background()
			w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 16})
			if err != nil {
				return err
			}
			var o office
			var c core.Batches
			if err := c.Open(ctx, job, w, core.Config{Answer: o.answer}); err != nil {
				return err
			}
			s := newSums(rand.New(rand.NewPCG(4, 4)), kindSum, 1000, 4, 3)
			s.leaves = 3
			if _, err := c.Run(ctx, 1000, s); err != nil {
				return err
			}
			if whole := options == (local.Options{}); whole != (c.Whole != nil) || whole != c.All {
				return fmt.Errorf("Whole is %v and All %v", c.Whole, c.All)
			}
			if s.direct < 300 || s.queued < 300 {
				return fmt.Errorf("%d operations were direct and %d queued", s.direct, s.queued)
			}
			return errors.Join(s.check(), job.Barrier(ctx), c.Close(), job.Barrier(ctx))
		})
		if err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

// What an owner cannot do is an error with its words, a rank that it misses one that errors.As
// finds, and an answer in disorder one too; what a rank does itself is done.
func TestErrors(t *testing.T) {
	for kind, right := range map[uint32]func(owner int, err error) bool{
		kindFail: func(owner int, err error) bool {
			var remote *rma.RemoteError
			return errors.As(err, &remote) && remote.Rank == owner &&
				remote.Text == "no sums today: "+strings.Repeat("ü", 40)
		},
		kindLose: func(_ int, err error) bool {
			var gone *rma.RankError
			return errors.As(err, &gone) && gone.Rank == 7 && !gone.Left
		},
		kindForget: func(_ int, err error) bool { return errors.Is(err, core.ErrDisorder) },
		kindGarble: func(_ int, err error) bool { return errors.Is(err, core.ErrDisorder) },
		kindAdd:    func(_ int, err error) bool { return errors.Is(err, core.ErrDisorder) },
	} {
		var o office
		onBatches(t, 2, &o, func(ctx context.Context, job rma.Job, c *core.Batches) error {
			one := newSums(rand.New(rand.NewPCG(2, 2)), kind, 1, 2, 3)
			one.owners[0] = 1 - job.Rank()
			if _, err := c.Run(ctx, 1, one); !right(1-job.Rank(), err) {
				return fmt.Errorf("a batch of one of kind %d gives %v", kind, err)
			}
			s := newSums(rand.New(rand.NewPCG(2, 2)), kind, 100, 2, 3)
			if _, err := c.Run(ctx, 100, s); !right(1-job.Rank(), err) {
				return fmt.Errorf("a batch of kind %d gives %v", kind, err)
			}
			for i, owner := range s.owners {
				if owner == job.Rank() && s.got[i] != s.want(i) {
					return errors.New("what the rank could do itself was not done")
				}
			}
			return nil
		})
	}
}

// The part of a rank that has closed its table is done one-sided.
func TestOwnerHasClosed(t *testing.T) {
	var o office
	onBatches(t, 3, &o, func(ctx context.Context, job rma.Job, c *core.Batches) error {
		if job.Rank() == 1 {
			if err := c.Close(); err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		if job.Rank() != 1 {
			s := newSums(rand.New(rand.NewPCG(3, 3)), kindSum, 3000, 3, 3)
			if _, err := c.Run(ctx, 3000, s); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			if s.queued <= 3000/3 {
				return fmt.Errorf("only %d operations were done one-sided", s.queued)
			}
		}
		return nil
	})
}

// A batch says what its own requests took, and a rank sends itself none.
func TestRequestsAreCounted(t *testing.T) {
	var o office
	for _, ranks := range []int{1, 2} {
		onBatches(t, ranks, &o, func(ctx context.Context, job rma.Job, c *core.Batches) error {
			for range 3 {
				s := newSums(rand.New(rand.NewPCG(5, 5)), kindSum, 100, ranks, 3)
				requests, err := c.Run(ctx, 100, s)
				if err != nil || requests.Ships != uint64(ranks-1) {
					return fmt.Errorf("%d ranks: %d requests, error %v", ranks, requests.Ships, err)
				}
				if err := s.check(); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// A table whose loops need all memory in one piece is given the whole batch only there.
func TestInOnePiece(t *testing.T) {
	err := local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 16})
		if err != nil {
			return err
		}
		for _, inOnePiece := range []bool{false, true} {
			for _, pieces := range []int{1, 2} {
				c := core.Batches{Regions: core.OnePiece(2, make([]uint64, 32)),
					InOnePiece: inOnePiece}
				if pieces > 1 {
					c.Whole = nil
				}
				if err := c.Open(ctx, job, w, core.Config{}); err != nil {
					return err
				}
				s := newSums(rand.New(rand.NewPCG(6, 6)), kindSum, 100, 2, 3)
				if err := errors.Join(c.Own(100, s), s.check()); err != nil {
					return err
				}
				if whole := !inOnePiece || pieces == 1; whole != (s.wholes == 1) {
					return fmt.Errorf("in one piece %v, pieces %d: Direct had %d whole batches",
						inOnePiece, pieces, s.wholes)
				}
			}
		}
		return job.Barrier(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// apart is a window whose memory only queues reach.
type apart struct{ rma.Window }

func (apart) CPUAtomicsCoherent() bool { return false }

// Regions that were found before Open are not found again in the window that owners are asked
// about, which may be another one: also where there are none.
func TestRegionsBeforeOpen(t *testing.T) {
	err := local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 16})
		if err != nil {
			return err
		}
		b := core.Batches{Regions: core.NewRegions(apart{w})}
		if err := b.Open(ctx, job, w, core.Config{}); err != nil {
			return err
		}
		if b.Any || b.At(0) != nil {
			return errors.New("memory that only queues reach is taken for addressable")
		}
		return job.Barrier(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}
