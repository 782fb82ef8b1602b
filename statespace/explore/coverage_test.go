package explore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/statespace/explore"
)

// naming is a graph whose arcs have actions: the lowest bits of where they lead.
type naming struct {
	*graph
	wrong func(actions []uint32) []uint32 // nil: right
}

const namedBits = 2

func nameOf(to uint64) string { return fmt.Sprintf("to %d", to%(1<<namedBits)) }

func (n naming) NewExpander() explore.Expander {
	return &namer{walker: &walker{graph: n.graph}, of: n, names: []string{"nowhere"},
		numbers: map[string]uint32{}}
}

// namer numbers actions as it meets them, in another order on each rank.
type namer struct {
	*walker
	of      naming
	names   []string
	numbers map[string]uint32
}

func (n *namer) ActionNames() []string { return n.names }

func (n *namer) ExpandNamed(state, out []uint64, actions []uint32) ([]uint64, []uint32, error) {
	out, err := n.Expand(state, out)
	for _, to := range n.buf { // successors as they are
		name := nameOf(to)
		number, known := n.numbers[name]
		if !known {
			number = uint32(len(n.names))
			n.names, n.numbers[name] = append(n.names, name), number
		}
		actions = append(actions, number)
	}
	if n.of.wrong != nil {
		actions = n.of.wrong(actions)
	}
	return out, actions, err
}

// covered are the actions of a graph up to a depth, by their names.
func covered(g *graph, last uint64) map[string]naive.Action {
	all, _ := naive.Actions([]uint64{0}, func(s uint64, emit func(string, uint64)) {
		for _, to := range g.next(s, nil) {
			emit(nameOf(to), to)
		}
	}, last)
	all["nowhere"] = naive.Action{}
	return all
}

func mustCover(t *testing.T, s setting, m naming, last uint64) {
	t.Helper()
	s.opts.Coverage = true
	out, err := searchModel(s, func(int) explore.Model { return m })
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	for rank, o := range out {
		want := covered(m.graph, last)
		var arcs, states uint64
		for _, a := range o.res.Coverage {
			if (naive.Action{Arcs: a.Arcs, States: a.States}) != want[a.Name] {
				t.Errorf("%v, rank %d: %+v, want %+v", s, rank, a, want[a.Name])
			}
			delete(want, a.Name)
			arcs, states = arcs+a.Arcs, states+a.States
		}
		if len(want) > 0 || arcs != o.res.Arcs || states != o.res.States-1 {
			t.Errorf("%v, rank %d: no %v; %d arcs of %d, %d states of %d", s, rank, want, arcs,
				o.res.Arcs, states, o.res.States)
		}
	}
}

// Arcs and new states are counted by actions, whatever their numbers are on a rank.
func TestCoverage(t *testing.T) {
	const all = 1 << 20
	bits := 11
	if testing.Short() {
		bits = 9
	}
	for _, s := range settings(1, 2, 4) {
		mustCover(t, s, naming{graph: doubling(bits)}, all)
		mustCover(t, s, naming{graph: star(700)}, all)
		if s.opts.Order == explore.BreadthFirst {
			s.opts.MaxDepth = 6
			mustCover(t, s, naming{graph: doubling(bits)}, 6)
		}
	}
	for _, words := range []int{2, 5} {
		for _, encoding := range []explore.Encoding{explore.EncodingAuto,
			explore.EncodingFingerprint} {
			mustCover(t, setting{ranks: 2, opts: explore.Options{Encoding: encoding,
				Trace: []int{explore.Deadlock}}}, naming{graph: doubling(9).long(words)}, all)
		}
	}
	for _, access := range []rma.Access{rma.OneSided, rma.Shipped} {
		mustCover(t, setting{ranks: 3, hosts: 2, opts: explore.Options{Access: access}},
			naming{graph: doubling(12)}, all)
	}
}

// Actions are not counted unless that is asked for.
func TestCoverageOff(t *testing.T) {
	r := mustSearchModel(t, setting{ranks: 2}, naming{graph: doubling(5)})
	if r.Coverage != nil {
		t.Errorf("%+v", r.Coverage)
	}
}

func TestCoverageRefused(t *testing.T) {
	short := func(actions []uint32) []uint32 { return actions[:len(actions)-1] }
	for says, c := range map[string]struct {
		m      explore.Model
		resume string
	}{
		"actions are to be counted, and *explore_test.walker is no Namer": {m: doubling(3)},
		"a resumed search cannot count actions": {m: naming{graph: doubling(3)},
			resume: "none"},
		"action for 2 successors": {m: naming{doubling(3), short}},
		"action 9, and there are": {m: naming{doubling(3),
			func(actions []uint32) []uint32 { return append(actions[:len(actions)-1], 9) }}},
	} {
		s := setting{ranks: 2, opts: explore.Options{Coverage: true, Resume: c.resume}}
		_, err := searchModel(s, func(int) explore.Model { return c.m })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	s := setting{ranks: 2}
	_, err := search(s, func(ctx context.Context, job rma.Job, opts explore.Options) (
		*explore.Result, error) {
		opts.Coverage = job.Rank() == 1
		return explore.Run(ctx, job, naming{graph: doubling(3)}, opts)
	})
	if err == nil || !strings.Contains(err.Error(), `another coverage (here "`) {
		t.Error(err)
	}
}
