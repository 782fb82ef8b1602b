package check

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/temporal"
)

const (
	// walkShare is the share of the time for walks that look for violations along paths.
	walkShare = 0.1

	// A walk takes shortWalk steps at first, twice as many after every walksEach for each property,
	// and 1<<longWalk at most.
	shortWalk, longWalk = 8, 15
	walksEach           = 4

	// The number of a walk has the property, the rank, and how many walks there were before.
	propertyBits, rankBits = 16, 16
)

// tour is the walks of an expander.
type tour[S any] struct {
	*pathStates[S]
	walkers map[int]*temporal.Walker // by property
	at      *temporal.Walker         // nil between walks
	number  uint64
	begun   uint64 // walks
	left    int    // steps of this one
	length  int
}

func (m *system[S]) newTour() *tour[S] {
	t := &tour[S]{pathStates: &pathStates[S]{expander: m.NewExpander().(*expander[S])},
		walkers: map[int]*temporal.Walker{}}
	for i, p := range m.Properties {
		if !p.Kind.alongPaths() {
			continue
		}
		if w := temporal.NewWalker(formulaOf(p.Kind, i), t); w != nil {
			t.walkers[i] = w
		}
	}
	return t
}

var _ explore.Walker = (*expander[uint8])(nil)

// Walk walks on, to find violations along paths. A model that fails on a walk ends the walks: it is
// the search that reports it, with the way there.
func (e *expander[S]) Walk(rank int, known []uint64, steps int) (at explore.Walk, more bool) {
	defer func() {
		if recover() != nil {
			at, more = explore.Walk{}, false
		}
	}()
	if e.tour == nil {
		e.tour = e.newTour()
	}
	t := e.tour
	for ; steps > 0; steps-- {
		if t.at == nil {
			number, ok := t.next(rank, known)
			if !ok {
				return at, false
			}
			t.begin(number)
		}
		lasso, err := t.step()
		if err != nil {
			return at, false
		}
		if lasso != nil {
			e.find(findingProperties + t.property())
			return explore.Walk{Number: t.number, Length: t.length}, true
		}
	}
	return at, true
}

// next is the number of the next walk; it reports false if all properties are known.
func (t *tour[S]) next(rank int, known []uint64) (number uint64, ok bool) {
	for range t.Properties {
		i := int(t.begun % uint64(len(t.Properties)))
		number = t.begun<<(propertyBits+rankBits) | uint64(rank)<<propertyBits | uint64(i)
		t.begun++
		if t.walkers[i] != nil && known[findingProperties+i] == 0 {
			return number, true
		}
	}
	return 0, false
}

func (t *tour[S]) property() int { return int(t.number & (1<<propertyBits - 1)) }

// begin begins a walk.
func (t *tour[S]) begin(number uint64) {
	t.number, t.length = number, 0
	round := number >> (propertyBits + rankBits) / uint64(len(t.Properties))
	t.left = 1 << min(shortWalk+round/walksEach, longWalk)
	drawn := rand.NewPCG(number, 1).Uint64()
	n := t.StateWords()
	first := int(drawn % uint64(len(t.first)/n))
	t.at = t.walkers[t.property()]
	t.at.Begin(t.first[first*n:][:n:n], number>>propertyBits+round)
}

// step takes a step, which may end the walk.
func (t *tour[S]) step() (*temporal.Lasso, error) {
	t.length++
	t.left--
	lasso, over, err := t.at.Step(context.Background())
	if over || t.left == 0 {
		t.at = nil
	}
	return lasso, err
}

// errNoWalk means that a walk cannot be repeated.
var errNoWalk = errors.New("check: a walk does not lead again to what it has found; have Next, " +
	"given a state, always emit the same states in the same order")

// takeWalks takes over which properties walks have shown to be violated, and their paths. Every
// rank repeats the walks.
func (m *system[S]) takeWalks(r *Result[S]) error {
	for i := range r.Properties {
		v := &r.Properties[i]
		if !v.Kind.alongPaths() || r.Findings[findingProperties+i] == 0 {
			continue
		}
		v.Verdict = logic.False
		var lasso *temporal.Lasso
		if at, ok := r.Walks[findingProperties+i]; ok {
			var err error
			if lasso, err = m.walked(at); err != nil {
				return err
			}
		}
		if err := m.showLasso(r, v.Name, lasso); err != nil {
			return err
		}
	}
	return nil
}

// walked repeats a walk.
func (m *system[S]) walked(at explore.Walk) (lasso *temporal.Lasso, err error) {
	t := m.newTour()
	t.begin(at.Number)
	for t.at != nil && lasso == nil && err == nil {
		lasso, err = t.step()
	}
	if lasso == nil && err == nil {
		err = errNoWalk
	}
	return lasso, err
}
