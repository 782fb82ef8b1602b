package direct

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

// newGroups returns the views of all ranks, joined; ranks of which dead is set have
// died.
func newGroups(size int) (groups []*Group, dead []atomic.Bool) {
	words := make([]uint64, size*LineWords)
	dead = make([]atomic.Bool, size)
	for rank := range size {
		g := NewGroup(rank, size, words, func(rank int) bool { return !dead[rank].Load() })
		g.SetState(rank, Joined)
		groups = append(groups, g)
	}
	return groups, dead
}

// onAll runs fn for every rank at once and returns the errors.
func onAll(groups []*Group, fn func(rank int, g *Group) error) []error {
	errs := make([]error, len(groups))
	var wg sync.WaitGroup
	for rank, g := range groups {
		wg.Go(func() { errs[rank] = fn(rank, g) })
	}
	wg.Wait()
	return errs
}

// Ranks exchange values and meet at barriers in a random order that is the same for
// all, some ranks ahead of others. Nobody sees a value of another round.
func TestExchange(t *testing.T) {
	for _, size := range []int{1, 2, 3, 7} {
		groups, _ := newGroups(size)
		errs := onAll(groups, func(rank int, g *Group) (err error) {
			defer func() {
				if err != nil {
					g.Close() // the others do not wait for this rank
				}
			}()
			plan, pace := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(2, uint64(rank)))
			for round := range uint64(500) {
				if pace.IntN(50) == 0 {
					time.Sleep(time.Duration(pace.IntN(300)) * time.Microsecond)
				}
				if plan.IntN(3) == 0 {
					if err := g.Barrier(t.Context()); err != nil {
						return err
					}
					continue
				}
				var mine Values
				for i := range mine {
					mine[i] = round<<16 | uint64(rank)<<8 | uint64(i)
				}
				all, err := g.Exchange(t.Context(), mine)
				if err != nil {
					return err
				}
				for from, values := range all {
					for i, got := range values {
						if want := round<<16 | uint64(from)<<8 | uint64(i); got != want {
							return fmt.Errorf("round %d: value %d of rank %d is %#x, want %#x",
								round, i, from, got, want)
						}
					}
				}
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%d ranks: %v", size, err)
		}
	}
}

// A line has room for what it holds.
func TestLine(t *testing.T) {
	if end := wordExchange + 2*ValueWords; end > LineWords {
		t.Errorf("a line has %d words, %d are used", LineWords, end)
	}
}

// What becomes of a rank is known to the others.
func TestStates(t *testing.T) {
	groups, dead := newGroups(4)
	groups[1].Close()
	dead[1].Store(true) // it ended after it had left
	var gone *rma.RankError
	if err := groups[0].gone(1); !errors.As(err, &gone) || gone.Rank != 1 || !gone.Left {
		t.Errorf("rank 1: %v", err)
	}
	dead[2].Store(true)
	groups[0].SetState(3, Failed)
	if got := fmt.Sprint(groups[0].Failed()); got != "[2 3]" {
		t.Errorf("Failed() = %s, want [2 3]", got)
	}
	for rank, blamed := range map[int]int{1: 2, 2: 2, 3: 3} {
		if err := groups[0].gone(rank); !errors.As(err, &gone) || gone.Left ||
			gone.Rank != blamed || !strings.Contains(err.Error(), fmt.Sprint("rank ", blamed)) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if err := groups[0].gone(0); err != nil {
		t.Error(err)
	}
	if groups[1].Failed() != nil {
		t.Error("a rank that has left still reads the words of the others")
	}
}

// A rank that has failed stays so when its job is closed.
func TestCloseAfterFailure(t *testing.T) {
	groups, _ := newGroups(2)
	groups[0].SetState(0, Failed)
	groups[0].Close()
	groups[0].Close()
	groups[0].SetState(0, Left) // too late: it does not read the words any more
	if got := fmt.Sprint(groups[1].Failed()); got != "[0]" {
		t.Errorf("Failed() = %s, want [0]", got)
	}
}

// A rank that comes to a barrier and then dies or leaves has come, for all others.
func TestGoneAfterArrival(t *testing.T) {
	for _, die := range []bool{false, true} {
		groups, dead := newGroups(3)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// It gives up at once, but it has come.
		if err := groups[2].Barrier(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if dead[2].Store(die); !die {
			groups[2].Close()
		}
		errs := onAll(groups[:2], func(_ int, g *Group) error { return g.Barrier(t.Context()) })
		if err := errors.Join(errs...); err != nil {
			t.Errorf("at the barrier where it was: %v", err)
		}
		for rank, g := range groups[:2] { // rank 0 does not wait for rank 1 first
			var gone *rma.RankError
			err := g.Barrier(t.Context())
			if !errors.As(err, &gone) || gone.Rank != 2 || gone.Left == die {
				t.Errorf("rank %d at the next barrier: %v", rank, err)
			}
			if again := g.Barrier(t.Context()); again != err {
				t.Errorf("rank %d at the barrier after: %v, want %v", rank, again, err)
			}
		}
	}
}

// A rank that has come and gone is no reason not to wait for one that is late.
func TestGoneWhileAnotherIsLate(t *testing.T) {
	words := make([]uint64, 3*LineWords)
	checks := make(chan bool, 1000)
	alive := func(rank int) bool {
		if rank == 2 {
			select {
			case checks <- true:
			default:
			}
		}
		return rank != 2
	}
	var groups []*Group
	for rank := range 3 {
		groups = append(groups, NewGroup(rank, 3, words, alive))
		groups[rank].SetState(rank, Joined)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := groups[2].Barrier(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	errs := onAll(groups[:2], func(rank int, g *Group) error {
		if rank == 1 {
			<-checks // rank 0 waits, and learns that rank 2 is dead
		}
		return g.Barrier(t.Context())
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// A rank that has left because another one had died is not blamed.
func TestDeadBeforeLeft(t *testing.T) {
	for what, wait := range map[string]func(g *Group) error{
		"barrier": func(g *Group) error { return g.Barrier(t.Context()) },
		"joining": func(g *Group) error {
			atomic.StoreUint64(g.word(3, wordState), uint64(Absent))
			return g.Join(t.Context(), time.Hour)
		},
	} {
		groups, dead := newGroups(4)
		dead[2].Store(true)
		groups[0].Close()
		var gone *rma.RankError
		if err := wait(groups[1]); !errors.As(err, &gone) || gone.Rank != 2 || gone.Left {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Waiting to meet ends when somebody has gone, with time, and with the context.
func TestJoin(t *testing.T) {
	words := make([]uint64, 3*LineWords)
	alive := func(int) bool { return true }
	groups := []*Group{NewGroup(0, 3, words, alive), NewGroup(1, 3, words, alive)}
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	err := groups[0].Join(ctx, time.Hour)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "[1 2]") {
		t.Errorf("cancelled: %v", err)
	}
	err = groups[0].Join(t.Context(), time.Nanosecond)
	if err == nil || !strings.Contains(err.Error(), "never arrived: [1 2]") {
		t.Errorf("no time: %v", err)
	}
	groups[0].Close()
	err = groups[1].Join(t.Context(), time.Hour)
	var gone *rma.RankError
	if !errors.As(err, &gone) || gone.Rank != 0 || !strings.Contains(err.Error(), "[2]") {
		t.Errorf("rank 0 has gone: %v", err)
	}
}
