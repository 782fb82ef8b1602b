package packing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/property"
)

// onPath is the truth of a formula of a path at each of its markings, after which comes the one of
// that number.
func onPath(f *logic.Formula, net *petri.Net, all [][]int64, next []int) []bool {
	var args [][]bool
	for _, arg := range f.Args {
		args = append(args, onPath(arg, net, all, next))
	}
	truth := make([]bool, len(all))
	for i := range truth { // the greatest fixpoint of Globally begins with true
		truth[i] = f.Op == logic.Globally
	}
	for range len(all) + 1 {
		for i := len(all) - 1; i >= 0; i-- {
			at := func(k int) bool { return args[k][i] }
			switch f.Op {
			case logic.Next:
				truth[i] = args[0][next[i]]
			case logic.Finally:
				truth[i] = at(0) || truth[next[i]]
			case logic.Globally:
				truth[i] = at(0) && truth[next[i]]
			case logic.Until:
				truth[i] = at(1) || at(0) && truth[next[i]]
			case logic.Not:
				truth[i] = !at(0)
			case logic.And:
				truth[i] = !slices.ContainsFunc(args, func(a []bool) bool { return !a[i] })
			case logic.Or:
				truth[i] = slices.ContainsFunc(args, func(a []bool) bool { return a[i] })
			default:
				truth[i] = property.Holds(f, net, all[i])
			}
		}
	}
	return truth
}

// walked is the markings of a trace and what comes after each.
func walked(p *Packing, net *petri.Net, trace explore.Trace) (all [][]int64, next []int,
	err error) {
	firings, err := p.Path(trace)
	if err != nil {
		return nil, nil, err
	}
	m := net.Initial()
	all = append(all, slices.Clone(m))
	for _, t := range firings {
		net.Transitions[t].Fire(m)
		all = append(all, slices.Clone(m))
	}
	for i := range all {
		next = append(next, i+1)
	}
	last := len(all) - 1
	if trace.Back > 0 {
		all, next = all[:last], next[:last]
		if next[last-1] = trace.Back - 1; !slices.Equal(m, all[trace.Back-1]) {
			return nil, nil, fmt.Errorf("the path does not lead back to step %d", trace.Back-1)
		}
		return all, next, nil
	}
	if next[last] = last; !property.Holds(logic.Leaf(property.Stuck{}), net, m) {
		return nil, nil, fmt.Errorf("the path ends where it could go on")
	}
	return all, next, nil
}

// A formula of LTL that is false is shown by a path of the net of which it is false. All answers
// are the same as without paths, also those of formulas for which none is shown.
func TestPathsAreShown(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 32))
	nets, shown := 0, map[bool]int{}
	for i := 0; nets < 60; i++ {
		n := naive.AnyNet(rng, 1+rng.IntN(5), 1+rng.IntN(5))
		all := markings(n, 24)
		if all == nil {
			continue
		}
		nets++
		var properties []property.Property
		for k := range 10 {
			f := randomPaths(rng, n, 1+rng.IntN(4), nil)
			if k > 3 {
				left := 1 + rng.IntN(3)
				f = logic.Of(logic.Forall, randomPaths(rng, n, 1+rng.IntN(4), &left))
			}
			properties = append(properties, property.Property{Kind: property.Temporal,
				Name: fmt.Sprint(k), Formula: f})
		}
		search := NewSearch(n, properties...)
		search.ShowPaths = true
		plain := newPlain(n, all)
		err := local.Run(1+i%3, func(job rma.Job) error {
			res, p, err := search.Run(context.Background(), job, explore.Options{})
			if err != nil || job.Rank() > 0 {
				return err
			}
			for k, a := range p.Answers(res) {
				f := properties[k].Formula
				if want := logic.VerdictOf(plain.truth(f)[0]); a.Verdict != want {
					return fmt.Errorf("%s: %v, want %v", textOf(f), a.Verdict, want)
				}
				q := p.questions.list[k]
				if a.Verdict != logic.False || a.Structural || q.paths == nil || !isLTL(q.paths) {
					continue
				}
				at := slices.IndexFunc(res.Traces, func(t explore.Trace) bool {
					return t.Target == a.Witness
				})
				if a.Witness < 0 || at < 0 {
					return fmt.Errorf("%s: no path is shown", textOf(f))
				}
				path, next, err := walked(p, n, res.Traces[at])
				if err != nil {
					return fmt.Errorf("%s: %w", textOf(f), err)
				}
				if onPath(f.Args[0], n, path, next)[0] {
					return fmt.Errorf("%s: is true of %v, %+v", textOf(f), path, next)
				}
				shown[res.Traces[at].Back > 0]++
			}
			return nil
		})
		if err != nil {
			t.Fatalf("net %d, %+v: %v", i, n, err)
		}
	}
	t.Log(shown)
	if shown[true] < 10 || shown[false] < 10 {
		t.Errorf("few paths are shown: %v repeat, %v end", shown[true], shown[false])
	}
}

// A path that does not lead back to where it says is none of the net.
func TestPathLeadsBack(t *testing.T) {
	n := mustFamily(t, "philosophers", 2)
	p, err := New(n, Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps := []explore.Step{{State: p.initial, Action: -1}}
	out, err := p.NewExpander().Expand(p.initial, nil)
	if err != nil {
		t.Fatal(err)
	}
	steps = append(steps, explore.Step{State: out[:p.words]})
	if _, err := p.Path(explore.Trace{Steps: steps}); err != nil {
		t.Error(err)
	}
	if _, err := p.Path(explore.Trace{Steps: steps, Back: 1}); err == nil {
		t.Error("a path is accepted that does not lead back")
	}
}
