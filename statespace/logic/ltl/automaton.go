package ltl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/statespace/logic"
)

// Automaton is a generalised Büchi automaton, whose transitions are in the sets.
type Automaton struct {
	// Atoms are the largest parts of the formula that do not look along paths, and each Exists and
	// Forall; up to MaxAtoms.
	Atoms  []*logic.Formula
	States [][]Transition // by state; the first one is the initial state
	Sets   int            // of transitions that a run must take again and again
}

// Transition may be taken where the atoms in True are true and those in False are not.
type Transition struct {
	True, False uint64 // a bit for each of Atoms
	To          int
	Sets        uint64 // a bit for each set that it is in
}

// MaxAtoms and MaxStates are how many atoms and states an automaton has at most.
const (
	MaxAtoms  = 64
	MaxStates = 64
)

// TooLargeError says that an automaton would have too many states or sets.
type TooLargeError struct{}

func (*TooLargeError) Error() string {
	return fmt.Sprintf("its automaton would have more than %d states", MaxStates)
}

// unmerged is how many states there may be before equal ones are merged.
const unmerged = 1 << 10

// way is an alternative of what must hold now and next.
type way struct {
	yes, no  uint64 // atoms
	next     formula
	promises uint64
}

// translator translates a formula.
type translator struct {
	*builder
	promise map[formula]int // the set of an Until
	ways    map[formula][]way
}

// Translate returns the automaton of the words of which a formula is true.
func Translate(path *logic.Formula) (*Automaton, error) {
	b := &builder{}
	f := b.normal(path)
	if len(b.atoms) > MaxAtoms {
		return nil, errors.New("the formula is too large")
	}
	t := &translator{b, map[formula]int{}, map[formula][]way{}}
	numbers := map[formula]int{f: 0}
	all := []formula{f}
	var states [][]way
	for i := 0; i < len(all); i++ {
		ways, err := t.expand(all[i])
		if err != nil {
			return nil, err
		}
		states = append(states, ways)
		for _, w := range ways {
			if _, old := numbers[w.next]; !old {
				numbers[w.next] = len(all)
				all = append(all, w.next)
			}
		}
		if len(all) > unmerged {
			return nil, &TooLargeError{}
		}
	}
	a := &Automaton{Atoms: b.atoms, Sets: len(t.promise)}
	every := ^uint64(0) >> (64 - a.Sets) // of no sets 0
	for _, ways := range states {
		var out []Transition
		for _, w := range ways {
			out = append(out, Transition{w.yes, w.no, numbers[w.next], every &^ w.promises})
		}
		a.States = append(a.States, out)
	}
	a.prune()
	a.merge()
	if len(a.States) > MaxStates {
		return nil, &TooLargeError{}
	}
	return a, nil
}

// maxWays is how many alternatives a formula has at most.
const maxWays = 1 << 12

// expand lists the alternatives of a formula.
func (t *translator) expand(f formula) (ways []way, err error) {
	if ways, ok := t.ways[f]; ok {
		return ways, nil
	}
	n := t.nodes[f]
	var parts [2][]way
	if n.op != opNext {
		for i, arg := range n.args {
			if parts[min(i, 1)], err = t.expand(arg); err != nil {
				return nil, err
			}
			switch {
			case n.op == opAnd && i == 0, n.op == opOr:
				ways = append(ways, parts[min(i, 1)]...)
			case n.op == opAnd:
				ways, err = t.both(ways, parts[1])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	again := []way{{next: f}}
	switch n.op {
	case opTrue:
		ways = []way{{next: f}}
	case opAtom:
		ways = []way{{yes: 1 << n.atom, next: t.truth(true)}}
	case opNotAtom:
		ways = []way{{no: 1 << n.atom, next: t.truth(true)}}
	case opNext:
		ways = []way{{next: n.args[0]}}
	case opUntil:
		set, known := t.promise[n.args[1]]
		if !known {
			set = len(t.promise)
			t.promise[n.args[1]] = set
		}
		if set >= 64 {
			return nil, &TooLargeError{}
		}
		again[0].promises = 1 << set
		ways, err = t.both(parts[0], again)
		ways = append(slices.Clone(parts[1]), ways...)
	case opRelease:
		if ways, err = t.both(parts[1], append(again, parts[0]...)); err != nil {
			return nil, err
		}
	}
	if err == nil && len(ways) > maxWays {
		err = &TooLargeError{}
	}
	ways = t.thin(ways)
	t.ways[f] = ways
	return ways, err
}

// both are the ways in which two things hold.
func (t *translator) both(some, others []way) (all []way, err error) {
	for _, v := range some {
		for _, w := range others {
			yes, no := v.yes|w.yes, v.no|w.no
			if yes&no != 0 {
				continue
			}
			all = append(all, way{yes, no, t.and(v.next, w.next), v.promises | w.promises})
		}
	}
	if all = t.thin(all); len(all) > maxWays {
		return nil, &TooLargeError{}
	}
	return all, nil
}

// thin drops ways that lead nowhere, and those beside which another asks for no more.
func (t *translator) thin(ways []way) []way {
	var kept []way
	for i, w := range ways {
		if t.isFalse(w.next) || len(ways) <= maxWays && slices.ContainsFunc(ways, func(v way) bool {
			return v != w && v.next == w.next && v.yes&^w.yes == 0 && v.no&^w.no == 0 &&
				v.promises&^w.promises == 0
		}) || slices.Contains(ways[:i], w) {
			continue
		}
		kept = append(kept, w)
	}
	return kept
}

// reached is, for each state, a set of the states that are reached from it.
func (a *Automaton) reached() [][]bool {
	all := make([][]bool, len(a.States))
	for s := range a.States {
		seen := make([]bool, len(a.States))
		todo := []int{s}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, t := range a.States[at] {
				if !seen[t.To] {
					seen[t.To] = true
					todo = append(todo, t.To)
				}
			}
		}
		all[s] = seen
	}
	return all
}

// prune drops transitions from which no accepting run begins. Those that no run takes again are in
// no set, as it does not matter.
func (a *Automaton) prune() {
	reached := a.reached()
	every := ^uint64(0) >> (64 - a.Sets)
	fair := make([]bool, len(a.States)) // it is in a part that has transitions of all sets
	for s, ts := range a.States {
		for i := range ts {
			if !reached[ts[i].To][s] {
				ts[i].Sets = 0
			}
		}
	}
	for s := range a.States {
		sets, inside := uint64(0), false
		for u, ts := range a.States {
			if u != s && !(reached[s][u] && reached[u][s]) {
				continue
			}
			for _, t := range ts {
				if reached[t.To][u] && (t.To == s || reached[t.To][s]) {
					sets, inside = sets|t.Sets, true
				}
			}
		}
		fair[s] = inside && sets == every
	}
	for s, ts := range a.States {
		a.States[s] = slices.DeleteFunc(ts, func(t Transition) bool {
			for u := range fair {
				if fair[u] && (t.To == u || reached[t.To][u]) {
					return false
				}
			}
			return true
		})
	}
}

// merge merges states with the same transitions, by refining a partition, and drops those that are
// not reached from the first.
func (a *Automaton) merge() {
	class := make([]int, len(a.States))
	for count := 1; ; {
		numbers := map[string]int{}
		next := make([]int, len(a.States))
		for s := range a.States {
			key := fmt.Sprint(class[s], a.mapped(s, class))
			if _, old := numbers[key]; !old {
				numbers[key] = len(numbers)
			}
			next[s] = numbers[key]
		}
		class = next
		if len(numbers) == count {
			break
		}
		count = len(numbers)
	}
	states := make([][]Transition, slices.Max(class)+1)
	for s := range a.States {
		states[class[s]] = a.mapped(s, class)
	}
	a.States = states
	a.renumber()
}

// mapped are the transitions of a state to classes, each once and in order.
func (a *Automaton) mapped(s int, class []int) []Transition {
	ts := slices.Clone(a.States[s])
	for i := range ts {
		ts[i].To = class[ts[i].To]
	}
	slices.SortFunc(ts, func(t, u Transition) int {
		return cmp.Or(t.To-u.To, cmp.Compare(t.True, u.True), cmp.Compare(t.False, u.False),
			cmp.Compare(t.Sets, u.Sets))
	})
	return slices.Compact(ts)
}

// renumber keeps the states that are reached from the first, which stays the first.
func (a *Automaton) renumber() {
	numbers := map[int]int{0: 0}
	order := []int{0}
	for i := 0; i < len(order); i++ {
		for _, t := range a.States[order[i]] {
			if _, old := numbers[t.To]; !old {
				numbers[t.To] = len(order)
				order = append(order, t.To)
			}
		}
	}
	var states [][]Transition
	for _, s := range order {
		ts := a.States[s]
		for i := range ts {
			ts[i].To = numbers[ts[i].To]
		}
		states = append(states, ts)
	}
	a.States = states
}
