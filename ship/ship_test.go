package ship_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/ship"
)

const (
	kindSum uint32 = iota // answers the sum of the operation's words
	kindFail
	kindLose
	kindForget // leaves out the last answer
	kindGarble
)

// adder answers sums, and counts what it answers.
type adder struct{ answered atomic.Int64 }

// answer gets operations of some words, each led by their number.
func (o *adder) answer(kind uint32, n int, request, answer []uint64) (int, error) {
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
	}
	return n, nil
}

// garbled is no sum.
const garbled = 1<<64 - 1

// sums is a batch of operations of random lengths for random ranks, and what came of each.
type sums struct {
	owners []int
	words  [][]uint64
	got    []uint64
	rest   int
}

func newSums(rng *rand.Rand, n, ranks, most int) *sums {
	b := &sums{got: make([]uint64, n)}
	for range n {
		b.owners = append(b.owners, rng.IntN(ranks))
		words := make([]uint64, rng.IntN(most+1))
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

func (s *sums) batch(kind uint32) *ship.Batch {
	return &ship.Batch{Kind: kind, N: len(s.words),
		Owner: func(i int) int { return s.owners[i] },
		Size:  func(i int) (int, int) { return 1 + len(s.words[i]), 1 },
		Pack: func(i int, to []uint64) {
			to[0] = uint64(len(s.words[i]))
			copy(to[1:], s.words[i])
		},
		Unpack: func(i int, from []uint64) (int, error) {
			if from[0] == garbled {
				return 0, ship.ErrDisorder
			}
			s.got[i] += from[0] + 1
			return 1, nil
		},
		Rest: func(operations []int) error {
			for _, i := range operations {
				s.got[i] += s.want(i)
			}
			s.rest += len(operations)
			return nil
		}}
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

// onLines runs fn on ranks that have opened a line, which ships everything.
func onLines(t *testing.T, n int, o *adder,
	fn func(ctx context.Context, job rma.Job, l *ship.Line) error) {
	t.Helper()
	onRanks(t, n, func(job rma.Job, w rma.Window) error {
		ctx := context.Background()
		l, err := ship.Open(ctx, job, w, ship.Config{Access: ship.Shipped, Answer: o.answer})
		if err != nil {
			return err
		}
		return errors.Join(fn(ctx, job, l), job.Barrier(ctx))
	})
}

// Every operation of a batch is done once, whatever its length and its owner.
func TestEachOnce(t *testing.T) {
	var o adder
	var sent, rest atomic.Int64
	onLines(t, 4, &o, func(ctx context.Context, job rma.Job, l *ship.Line) error {
		rng := rand.New(rand.NewPCG(1, uint64(job.Rank())))
		for _, size := range []struct{ n, most int }{{0, 1}, {1, 1}, {3, 0}, {5000, 3},
			{300, 500}, {40, rma.MaxShipWords + 40}, {9, 10 * rma.MaxShipWords}} {
			s := newSums(rng, size.n, job.Size(), size.most)
			if _, err := l.Run(ctx, s.batch(kindSum)); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return fmt.Errorf("%d of up to %d words: %w", size.n, size.most, err)
			}
			sent.Add(int64(size.n))
			rest.Add(int64(s.rest))
		}
		return nil
	})
	if answered := o.answered.Load(); answered+rest.Load() != sent.Load() || answered == 0 {
		t.Errorf("%d operations: %d answered by others, %d done by their ranks", sent.Load(),
			answered, rest.Load())
	}
}

// What an owner cannot do is an error with its words, a rank that it misses one that errors.As
// finds, and an answer in disorder one too; what a rank does itself is done.
func TestErrors(t *testing.T) {
	for kind, right := range map[uint32]func(owner int, err error) bool{
		kindFail: func(owner int, err error) bool {
			var remote *ship.RemoteError
			return errors.As(err, &remote) && remote.Rank == owner &&
				remote.Text == "no sums today: "+strings.Repeat("ü", 40)
		},
		kindLose: func(_ int, err error) bool {
			var gone *rma.RankError
			return errors.As(err, &gone) && gone.Rank == 7 && !gone.Left
		},
		kindForget: func(_ int, err error) bool { return errors.Is(err, ship.ErrDisorder) },
		kindGarble: func(_ int, err error) bool { return errors.Is(err, ship.ErrDisorder) },
	} {
		var o adder
		onLines(t, 2, &o, func(ctx context.Context, job rma.Job, l *ship.Line) error {
			s := newSums(rand.New(rand.NewPCG(2, 2)), 100, 2, 3)
			if _, err := l.Run(ctx, s.batch(kind)); !right(1-job.Rank(), err) {
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
	var o adder
	onLines(t, 3, &o, func(ctx context.Context, job rma.Job, l *ship.Line) error {
		if job.Rank() == 1 {
			if err := l.Close(); err != nil {
				return err
			}
			s := newSums(rand.New(rand.NewPCG(3, 2)), 1, 1, 3)
			if _, err := l.Run(ctx, s.batch(kindSum)); err == nil {
				return errors.New("a closed line still carries")
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		if job.Rank() != 1 {
			s := newSums(rand.New(rand.NewPCG(3, 3)), 3000, 3, 3)
			if _, err := l.Run(ctx, s.batch(kindSum)); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			if s.rest <= 3000/3 {
				return fmt.Errorf("only %d operations were done one-sided", s.rest)
			}
		}
		return nil
	})
}

// Auto measures, and decides by what it has found; a second line takes that over.
func TestAuto(t *testing.T) {
	var o adder
	onRanks(t, 2, func(job rma.Job, w rma.Window) error {
		ctx := context.Background()
		cfg := ship.Config{Trips: 1.5, Answer: o.answer}
		l, err := ship.Open(ctx, job, w, cfg)
		if err != nil {
			return err
		}
		choice := l.Choice()
		c := choice.Costs
		if c.GetNs <= 0 || c.GetEachNs <= 0 || c.RequestNs <= 0 || c.WordNs < 0 {
			return fmt.Errorf("measured %+v", c)
		}
		if many := 1 << 20; l.Worth(many) != (choice.MinBatch <= many) ||
			!strings.Contains(choice.String(), "a get") {
			return fmt.Errorf("%v is not what it does", choice)
		}
		cfg.Like = l
		other, err := job.NewWindow(ctx, rma.Spec{Name: "other", Words: 1})
		if err != nil {
			return err
		}
		second, err := ship.Open(ctx, job, other, cfg)
		if err != nil {
			return err
		}
		if second.Choice() != choice {
			return fmt.Errorf("%v, after %v", second.Choice(), choice)
		}
		return job.Barrier(ctx)
	})
}

// A rank that gives up while another one measures leaves it one-sided operations.
func TestOwnerGivesUp(t *testing.T) {
	var o adder
	onRanks(t, 2, func(job rma.Job, w rma.Window) error {
		ctx := context.Background()
		if job.Rank() == 1 { // it answers nothing
			return errors.Join(job.Barrier(ctx), job.Barrier(ctx))
		}
		l, err := ship.Open(ctx, job, w, ship.Config{Trips: 1.5, Answer: o.answer})
		if err != nil {
			return err
		}
		if l.Worth(1<<20) || !strings.HasPrefix(l.Choice().String(), "one-sided") {
			return fmt.Errorf("the line says %q", l.Choice())
		}
		return errors.Join(l.Close(), job.Barrier(ctx))
	})
}

// Where all memory is addressable nothing is shipped. Where the engine carries none, it says so.
func TestNothingToShip(t *testing.T) {
	for _, c := range []struct {
		options local.Options
		access  ship.Access
		says    string // of the line; "" is an error
	}{
		{local.Options{}, ship.Shipped, "direct"},
		{local.Options{}, ship.Auto, "direct"},
		{local.Options{Hidden: true}, ship.Auto, "direct"},
		{local.Options{Hidden: true}, ship.Shipped, ""},
		{local.Options{Carries: true}, ship.Auto, "direct: all memory is addressable"},
		{local.Options{Hidden: true, Carries: true}, ship.OneSided, "one-sided, as asked"},
		{local.Options{Hidden: true, Carries: true}, ship.Shipped, "shipped, as asked"},
		{local.Options{Hidden: true, Carries: true}, 7, ""},
	} {
		err := local.RunWith(c.options, 2, func(job rma.Job) error {
			w, err := job.NewWindow(context.Background(), rma.Spec{Name: "test", Words: 1})
			if err != nil {
				return err
			}
			l, err := ship.Open(context.Background(), job, w, ship.Config{Access: c.access})
			if (err != nil) != (c.says == "") {
				return fmt.Errorf("Open says %v", err)
			}
			if err != nil {
				return nil
			}
			if !strings.HasPrefix(l.Choice().String(), c.says) {
				return fmt.Errorf("the line says %q", l.Choice())
			}
			return l.Close()
		})
		if err != nil {
			t.Errorf("%+v, %v: %v", c.options, c.access, err)
		}
	}
}

func TestParse(t *testing.T) {
	for a := ship.Auto; a <= ship.Shipped; a++ {
		if b, err := ship.Parse(a.String()); b != a || err != nil {
			t.Errorf("%v is parsed as %v, %v", a, b, err)
		}
	}
	if _, err := ship.Parse("twosided"); err == nil || !strings.Contains(err.Error(), "twosided") {
		t.Errorf("an unknown name gives %v", err)
	}
}
