package spread

import (
	"errors"
	"math"
	"slices"

	"github.com/farhash/farhash/statespace/symbolic"
)

// A term is two words: what is to be made of the vectors of a node, and the node.
const (
	same  = 0 // nothing
	fires = 1 // and more: the rest of a transition, plus fires
	// relates is the rest of a relation: its plan is in bits 32 to 61, its list in bits 0 to 31.
	relates = 1 << 62
)

// item is an entry of what a term makes: a value, and a term for what follows it.
type item struct {
	value      uint32
	what, node uint64
}

// terms are the transitions and relations of a diagram. Each rank has all of them.
type terms struct {
	levels    int
	last      int        // the last level at which one begins
	beginning [][]uint64 // by level: the first halves of the terms that begin there

	transitions []transition
	plans       []plan // of relations
	cells       []cell // of relations' lists; down and right are numbers in cells, plus firstNode
}

type transition struct {
	top, bottom int
	steps       []symbolic.Step // of the levels from top to bottom
}

// plan is what a relation does from a level on.
type plan struct {
	access symbolic.Access
	next   uint64 // another plan; 0: the rest stays
}

func (t *terms) open(levels int) {
	t.levels, t.last, t.beginning = levels, -1, make([][]uint64, levels)
	t.plans = make([]plan, 1)
}

func (t *terms) begins(level int, what uint64) {
	t.beginning[level] = append(t.beginning[level], what)
	t.last = max(t.last, level)
}

// AddTransitions adds transitions that a store of each rank knows.
func (d *Diagram) AddTransitions(store *symbolic.Store, all ...symbolic.Transition) {
	for _, x := range all {
		steps := store.Steps(x)
		t := transition{steps[0].Level, steps[len(steps)-1].Level, steps}
		d.terms.transitions = append(d.terms.transitions, t)
		d.terms.begins(t.top, fires+uint64(len(d.terms.transitions)-1))
	}
}

// AddRelations adds relations that a store of each rank knows.
func (d *Diagram) AddRelations(store *symbolic.Store, all ...symbolic.Relation) error {
	for _, r := range all {
		if err := d.terms.relation(store, r); err != nil {
			return err
		}
	}
	return nil
}

func (t *terms) relation(store *symbolic.Store, r symbolic.Relation) error {
	vectors, access := store.Related(r)
	top, next, first := -1, uint64(0), uint64(0)
	for level, a := range slices.Backward(access) {
		if next > 0 || a != symbolic.Keep {
			t.plans = append(t.plans, plan{a, next})
			next = uint64(len(t.plans) - 1)
		}
		if a != symbolic.Keep {
			top, first = level, next
		}
	}
	if top < 0 || vectors == symbolic.Empty { // nothing follows, or what was there already
		return nil
	}
	known := map[symbolic.Node]uint64{symbolic.Empty: empty, symbolic.Unit: unit}
	err := eachNode(store, vectors, known, func(c cell) (uint64, error) {
		t.cells = append(t.cells, c)
		return uint64(len(t.cells)-1) + firstNode, nil
	})
	if len(t.plans) > 1<<30 || uint64(len(t.cells)) > math.MaxUint32-firstNode {
		return errors.New("spread: the relations are too large")
	}
	t.begins(top, relatesBy(first, known[vectors]))
	return err
}

func relatesBy(plan, list uint64) uint64 {
	if plan == 0 {
		return same
	}
	return relates | plan<<32 | list
}

// follow appends to items what a term makes of a list at a level.
func (t *terms) follow(items []item, what uint64, list []*cell, level int) ([]item, error) {
	switch {
	case what >= relates:
		return t.relate(items, what, list), nil
	case what >= fires:
		return t.fire(items, what, list, level)
	}
	for _, c := range list {
		items = append(items, item{c.value, same, c.down})
	}
	return items, nil
}

func (t *terms) fire(items []item, what uint64, list []*cell, level int) ([]item, error) {
	x := &t.transitions[what-fires]
	st := x.steps[level-x.top]
	if level == x.bottom {
		what = same
	}
	for _, c := range list {
		if c.value < st.Need || st.Below > 0 && c.value >= st.Below {
			continue
		}
		after := st.Change
		if !st.Set {
			after += int64(c.value)
		}
		if after > math.MaxUint32 {
			return nil, symbolic.ErrValue
		}
		items = append(items, item{uint32(after), what, c.down})
	}
	return items, nil
}

func (t *terms) relate(items []item, what uint64, cells []*cell) []item {
	p, list := t.plans[what&^relates>>32], what&math.MaxUint32
	switch p.access {
	case symbolic.Keep:
		for _, c := range cells {
			items = append(items, item{c.value, relatesBy(p.next, list), c.down})
		}
		return items
	case symbolic.Write:
		for _, c := range cells {
			items = t.become(items, list, p.next, c.down)
		}
		return items
	}
	for len(cells) > 0 && list > unit {
		switch c, of := cells[0], &t.cells[list-firstNode]; {
		case c.value < of.value:
			cells = cells[1:]
		case c.value > of.value:
			list = of.right
		default:
			if p.access == symbolic.Read {
				items = append(items, item{c.value, relatesBy(p.next, of.down), c.down})
			} else {
				items = t.become(items, of.down, p.next, c.down)
			}
			cells, list = cells[1:], of.right
		}
	}
	return items
}

// become appends an item for each entry that a relation writes.
func (t *terms) become(items []item, list, next, down uint64) []item {
	for list > unit {
		of := &t.cells[list-firstNode]
		items = append(items, item{of.value, relatesBy(next, of.down), down})
		list = of.right
	}
	return items
}

// sortItems sorts items by value, then by term.
func sortItems(items []item) {
	if len(items) > 12 {
		slices.SortFunc(items, func(a, b item) int {
			switch {
			case a.less(&b):
				return -1
			case b.less(&a):
				return 1
			}
			return 0
		})
		return
	}
	for i := 1; i < len(items); i++ {
		for k := i; k > 0 && items[k].less(&items[k-1]); k-- {
			items[k], items[k-1] = items[k-1], items[k]
		}
	}
}

func (a *item) less(b *item) bool {
	switch {
	case a.value != b.value:
		return a.value < b.value
	case a.what != b.what:
		return a.what < b.what
	}
	return a.node < b.node
}
