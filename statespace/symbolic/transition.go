package symbolic

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Transition names a transition that a store knows: where each vector entry of its steps is large
// enough, they change together.
type Transition int

// Step is what a transition does at one level.
type Step struct {
	Level  int
	Need   uint32 // the entry must be so large
	Change int64  // and is larger by so much then; -Need or more
	Below  uint32 // the entry must be smaller than this, unless it is 0
	Set    bool   // the entry becomes Change, whatever it was
}

// ErrValue is the error for an entry of more than 32 bits.
var ErrValue = errors.New("symbolic: an entry becomes larger than 2^32-1")

// transition has steps at all levels from top to bottom; at some they need and change nothing.
type transition struct {
	top, bottom int
	steps       []step
}

type step struct {
	need, below uint32 // as in Step
	change      int64
	set         *values // what the entry becomes; nil: it changes by change
}

// values are the numbers from low to high, at least one. Only the way back has several: an entry
// that was set may have been any.
type values struct{ low, high uint32 }

// blocked is a step that no entry can take.
var blocked = step{need: 1, below: 1}

// fits reports whether an entry can take the step.
func (st step) fits(value uint32) bool { return value >= st.need && !st.exceeds(value) }

// exceeds reports whether an entry is too large for the step. It never is if below is 0.
func (st step) exceeds(value uint32) bool {
	return value > st.below-1
}

// step is what the transition does at a level up to bottom.
func (t *transition) step(level int) step {
	if level < t.top {
		return step{}
	}
	return t.steps[level-t.top]
}

// after is an entry after the transition, if it is not set.
func (st step) after(value uint32) uint32 {
	after := int64(value) + st.change
	if after > math.MaxUint32 {
		panic(stop{ErrValue})
	}
	return uint32(after)
}

// NewTransition adds a transition to what the store knows. The steps are in any order, at most one
// for each level.
func (s *Store) NewTransition(steps ...Step) (Transition, error) {
	if len(steps) == 0 {
		return 0, errors.New("symbolic: a transition has one step at least")
	}
	steps = slices.Clone(steps)
	slices.SortFunc(steps, func(a, b Step) int { return a.Level - b.Level })
	t := transition{top: steps[0].Level, bottom: steps[len(steps)-1].Level}
	if t.top < 0 || t.bottom >= s.levels {
		return 0, fmt.Errorf("symbolic: levels of steps are %d to %d, and a vector has %d", t.top,
			t.bottom, s.levels)
	}
	t.steps = make([]step, t.bottom-t.top+1)
	for i, st := range steps {
		switch {
		case i > 0 && steps[i-1].Level == st.Level:
			return 0, fmt.Errorf("symbolic: two steps are at level %d", st.Level)
		case st.Change < -int64(st.Need) || st.Change > math.MaxUint32:
			return 0, fmt.Errorf("symbolic: the step at level %d needs %d and changes by %d",
				st.Level, st.Need, st.Change)
		case st.Set && st.Change < 0:
			return 0, fmt.Errorf("symbolic: the step at level %d sets an entry to %d", st.Level,
				st.Change)
		}
		at := &t.steps[st.Level-t.top]
		*at = step{need: st.Need, below: st.Below, change: st.Change}
		if st.Set {
			at.change, at.set = 0, &values{uint32(st.Change), uint32(st.Change)}
		}
		if st.Below > 0 && st.Below <= st.Need {
			*at = blocked
		}
	}
	s.transitions = append(s.transitions, t)
	return Transition(len(s.transitions) - 1), nil
}

// Steps is what a transition does at all levels from its first to its last one, in their order. It
// is none that Reversed has made of one that sets an entry.
func (s *Store) Steps(t Transition) (steps []Step) {
	x := &s.transitions[t]
	for i, st := range x.steps {
		step := Step{Level: x.top + i, Need: st.need, Change: st.change, Below: st.below}
		if st.set != nil {
			step.Set, step.Change = true, int64(st.set.low)
		}
		steps = append(steps, step)
	}
	return steps
}

// Reversed adds the transition that leads back: what it does to a set of vectors is to find their
// predecessors. An entry that t sets may have been any before: predecessors have no larger one than
// high, by level. Such a transition cannot be reversed again.
func (s *Store) Reversed(t Transition, high []uint32) (Transition, error) {
	x := &s.transitions[t]
	back := transition{top: x.top, bottom: x.bottom, steps: make([]step, len(x.steps))}
	for i, st := range x.steps {
		if st.set != nil {
			if st.set.low != st.set.high {
				return 0, errors.New("symbolic: the way back of a transition that sets an entry " +
					"cannot be reversed")
			}
			back.steps[i] = st.unset(high[x.top+i])
			continue
		}
		need, below := int64(st.need)+st.change, int64(st.below)+st.change
		if need > math.MaxUint32 {
			return 0, ErrValue
		}
		if st.below == 0 || below > math.MaxUint32 {
			below = 0
		}
		back.steps[i] = step{need: uint32(need), below: uint32(below), change: -st.change}
	}
	s.transitions = append(s.transitions, back)
	return Transition(len(s.transitions) - 1), nil
}

// unset is the way back of a step that sets an entry, to entries up to a largest one.
func (st step) unset(largest uint32) step {
	before := &values{st.need, min(largest, st.below-1)}
	if before.high < before.low {
		return blocked
	}
	return step{need: st.set.low, below: st.set.low + 1, set: before} // below may become 0: any
}

// enough is the part of a list whose first entry is need or more.
func (w *worker) enough(n Node, need uint32) (rest Node, value uint32, down, right Node) {
	for n != Empty {
		if value, down, right = w.at(n); value >= need {
			return n, value, down, right
		}
		n = right
	}
	return Empty, 0, Empty, Empty
}

// fire is the union of with and what transition t makes of the vectors of n, whose first entry is
// at a level.
func (w *worker) fire(n Node, t Transition, level int, with Node) Node {
	// terminal
	x := &w.transitions[t]
	if n == Empty {
		return with
	}
	if level > x.bottom {
		return w.union(n, with)
	}
	st := x.step(level)
	n, value, down, right := w.enough(n, st.need)
	if n == Empty || st.exceeds(value) {
		return with
	}
	// cache
	k := keyOf(opFire, n, uint64(t), uint64(with))
	if n, ok := w.begin(&k); ok {
		return n
	}
	// recurse
	if st.set != nil {
		return w.end(&k, w.fireSet(n, t, level, with))
	}
	value = st.after(value)
	result, first, withDown, withRight := with, value, Empty, with
	if with != Empty {
		if v, d, r := w.at(with); v <= value {
			first, withDown, withRight = v, d, r
		}
	}
	if first < value {
		if rest := w.fire(n, t, level, withRight); rest != withRight {
			result = w.node(first, withDown, rest)
		}
		return w.end(&k, result)
	}
	var below, rest Node
	if w.mirrored {
		below, rest = w.both(call{opFire, level + 1, down, uint64(t), uint64(withDown)},
			call{opFire, level, right, uint64(t), uint64(withRight)})
	} else {
		forked := w.fork(opFire, down, uint64(t), uint64(withDown), level+1)
		w.push(w.fire(right, t, level, withRight))
		var ok bool
		if below, ok = w.join(forked); !ok {
			below = w.fire(down, t, level+1, withDown)
		}
		rest = w.pop()
	}
	if below != withDown || rest != withRight {
		result = w.node(value, below, rest)
	}
	// store
	return w.end(&k, result)
}

// fireSet is fire at a level whose entry is set, from the first entry on that is large enough.
func (w *worker) fireSet(n Node, t Transition, level int, with Node) Node {
	st := w.transitions[t].step(level)
	all := w.allBelow(n, st)
	w.push(all)
	below := w.fire(all, t, level+1, Empty)
	w.pop()
	w.push(below)
	list := Empty
	for v := st.set.high; below != Empty; v-- {
		if list = w.node(v, below, list); v == st.set.low {
			break
		}
	}
	w.pop()
	w.push(list)
	with = w.union(list, with)
	w.pop()
	return with
}

// allBelow is what follows the entries of a list that can take a step.
func (w *worker) allBelow(n Node, st step) Node {
	all := Empty
	for n != Empty {
		value, down, right := w.at(n)
		if st.exceeds(value) {
			break
		}
		if value >= st.need {
			w.push(all)
			all = w.union(all, down)
			w.pop()
		}
		n = right
	}
	return all
}
