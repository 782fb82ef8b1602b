package naive_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

func net(initial []int64, transitions ...petri.Transition) *petri.Net {
	n := &petri.Net{}
	for i, tokens := range initial {
		id := string(rune('a' + i))
		n.Places = append(n.Places, petri.Place{ID: id, Name: id, Initial: tokens})
	}
	for i, t := range transitions {
		t.ID = string(rune('A' + i))
		t.Name = t.ID
		n.Transitions = append(n.Transitions, t)
	}
	return n
}

func one(place int) []petri.Arc { return []petri.Arc{{Place: place, Weight: 1}} }

func TestExplore(t *testing.T) {
	move := petri.Transition{In: one(0), Out: one(1)}
	for _, c := range []struct {
		name string
		net  *petri.Net
		want naive.Result
	}{
		{"nothing", net(nil),
			naive.Result{States: 1, Widest: 1, Deadlocks: 1, Complete: true}},
		{"self loop", net([]int64{200}, petri.Transition{In: one(0), Out: one(0)}),
			naive.Result{States: 1, Arcs: 1, Widest: 1, MaxTokensPlace: 200, MaxTokensMarking: 200,
				Complete: true}},
		{"parallel firings count twice", net([]int64{2, 0}, move, move),
			naive.Result{States: 3, Arcs: 4, Depth: 2, Widest: 1, Deadlocks: 1, DeadlockDepth: 2,
				MaxTokensPlace: 2, MaxTokensMarking: 2, Complete: true}},
		{"weights and widths", net([]int64{3, 0, 0}, move,
			petri.Transition{In: []petri.Arc{{Place: 0, Weight: 3}},
				Out: []petri.Arc{{Place: 2, Weight: 300}}}),
			naive.Result{States: 5, Arcs: 4, Depth: 3, Widest: 2, Deadlocks: 2, DeadlockDepth: 1,
				MaxTokensPlace: 300, MaxTokensMarking: 300, Complete: true}},
	} {
		got, err := naive.Explore(c.net, 100)
		if err != nil || got != c.want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

func TestExploreLimit(t *testing.T) {
	line := net([]int64{9, 0}, petri.Transition{In: one(0), Out: one(1)})
	if got, err := naive.Explore(line, 10); err != nil || !got.Complete || got.States != 10 {
		t.Errorf("10 states, limit 10: got %+v, %v", got, err)
	}
	if got, err := naive.Explore(line, 9); err != nil || got.Complete || got.States != 9 {
		t.Errorf("10 states, limit 9: got %+v, %v", got, err)
	}
	unbounded := net([]int64{0}, petri.Transition{Out: one(0)})
	if got, err := naive.Explore(unbounded, 500); err != nil || got.Complete || got.States != 500 {
		t.Errorf("unbounded: got %+v, %v", got, err)
	}
}

func TestExploreErrors(t *testing.T) {
	if _, err := naive.Explore(net(nil), 0); err == nil {
		t.Error("limit 0 gives no error")
	}
	if _, err := naive.Explore(net([]int64{-1}), 1); err == nil {
		t.Error("a net that fails Check gives no error")
	}
	full := net([]int64{petri.MaxTokens}, petri.Transition{Out: one(0)})
	if _, err := naive.Explore(full, 10); !errors.Is(err, naive.ErrTokens) {
		t.Errorf("overfull place: got %v", err)
	}
}

// TestRandomNet wants the nets to be valid, repeatable and various: some with
// deadlocks, some without, some too large and most with a choice of states.
func TestRandomNet(t *testing.T) {
	var valid, large, dead, live, small int
	for seed := range uint64(400) {
		places, transitions := int(seed%9), int(seed%11)
		make := func() *petri.Net {
			return naive.RandomNet(rand.New(rand.NewPCG(seed, 1)), places, transitions)
		}
		n := make()
		if !reflect.DeepEqual(n, make()) {
			t.Fatalf("seed %d gives two nets", seed)
		}
		if len(n.Places) != places || len(n.Transitions) != transitions {
			t.Fatalf("seed %d gives %d places and %d transitions, not %d and %d", seed,
				len(n.Places), len(n.Transitions), places, transitions)
		}
		res, err := naive.Explore(n, 2000)
		if err != nil {
			t.Fatal(err)
		}
		valid++
		switch {
		case !res.Complete:
			large++
		case res.Deadlocks > 0:
			dead++
		default:
			live++
		}
		if res.States < 3 {
			small++
		}
	}
	t.Logf("of %d nets %d are large, %d have deadlocks, %d have none, %d have 1 or 2 states",
		valid, large, dead, live, small)
	if large < 20 || large > valid/2 || dead < 50 || live < 50 || small > valid*2/3 {
		t.Error("the nets are not various enough")
	}
}
