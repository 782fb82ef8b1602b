package explore

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// Namer is what an Expander may be as well: it says which action leads to each successor, for
// Options.Coverage.
type Namer interface {
	Expander
	// ExpandNamed appends to out what Expand does, and to actions the number of an action for each
	// successor.
	ExpandNamed(state, out []uint64, actions []uint32) (nextOut []uint64, nextActions []uint32,
		err error)
	// ActionNames has the names of the actions by number, also of those that have led nowhere
	// yet. ExpandNamed may append to them. The same name is the same action on all ranks.
	ActionNames() []string
}

// Action is how often an action was taken.
type Action struct {
	Name string
	Arcs uint64
	// States is how many states were found by it: of the arcs that lead to a state one has found
	// it. Which one it is depends on ranks and order, unless all are of one action.
	States uint64
}

// named is a rank's expander where actions are counted.
type named struct {
	Namer
	taken  []uint32 // by the state expanded last
	counts []Action // by number, without names
}

// origin is where successors come from: each list is as long as they are, or empty.
type origin struct {
	from    []uint64 // the names of the states before, where the log wants them
	actions []uint32 // where they are counted
}

// admitNamer refuses to count actions where that is not possible.
func (s *search) admitNamer(o *Options) error {
	_, names := s.expander.(Namer)
	switch {
	case !o.Coverage:
	case !names:
		return fmt.Errorf("explore: actions are to be counted, and %T is no Namer", s.expander)
	case o.Resume != "":
		return errors.New("explore: a resumed search cannot count actions: a checkpoint does not " +
			"have those that were taken before; search from the beginning")
	}
	return nil
}

// nameActions has actions counted.
func (w *worker) nameActions() {
	if w.opts.Coverage {
		w.named = &named{Namer: w.expander.(Namer)}
		w.search.expander = w.named
	}
}

// Expand keeps which actions were taken.
func (e *named) Expand(state, out []uint64) (_ []uint64, err error) {
	out, e.taken, err = e.ExpandNamed(state, out, e.taken[:0])
	return out, err
}

// dropNamed is recent.drop for the successors of a state, with their actions.
func (w *worker) dropNamed(g *successors, given int) error {
	taken, words := w.named.taken, w.words
	successors := g.batch[given:]
	if len(taken)*words != len(successors) {
		return w.broken(breachActions, "%s for %s", plural.Of(len(taken), "action"),
			plural.Of(len(successors)/words, "successor"))
	}
	names := len(w.named.ActionNames())
	g.taken, g.batch = append(g.taken, taken...), g.batch[:given]
	for i, action := range taken {
		if int(action) >= names {
			return w.broken(breachActions, "action %d, and there are %d", action, names)
		}
		n := len(g.batch)
		g.batch = w.recent.drop(append(g.batch, successors[i*words:(i+1)*words]...), n)
		if len(g.batch) > n {
			g.actions = append(g.actions, action)
		}
	}
	return nil
}

// arcs counts arcs by their actions.
func (e *named) arcs(taken []uint32) {
	for _, action := range taken {
		e.count(action).Arcs++
	}
}

func (e *named) count(action uint32) *Action {
	for len(e.counts) <= int(action) {
		e.counts = append(e.counts, Action{})
	}
	return &e.counts[action]
}

// cut divides after n successors.
func (o origin) cut(n int) (first, rest origin) {
	from, actions := min(n, len(o.from)), min(n, len(o.actions))
	return origin{o.from[:from], o.actions[:actions]}, origin{o.from[from:], o.actions[actions:]}
}

// move puts what is known of one successor in place of another.
func (o origin) move(to, at int) {
	if len(o.from) > 0 {
		o.from[to] = o.from[at]
	}
	if len(o.actions) > 0 {
		o.actions[to] = o.actions[at]
	}
}

// coverage adds up the actions of all ranks, in the order in which the ranks have them; nil where
// they are not counted, and where a rank is lost. Collective.
func (s *search) coverage(ctx context.Context) ([]Action, error) {
	if !s.opts.Coverage {
		return nil, nil
	}
	all, err := s.shareActions(ctx)
	if s.missing(err) {
		return nil, nil
	}
	return all, err
}

// shareActions adds up the actions of all ranks. Collective.
func (s *search) shareActions(ctx context.Context) ([]Action, error) {
	mine, err := s.worker.named.packed()
	lengths, err := s.share(ctx, uint64(len(mine)), err)
	if err != nil {
		return nil, err
	}
	words := int(slices.Max(lengths)+7) / 8
	w, err := s.job.NewWindow(ctx, rma.Spec{Name: "explore: coverage", Words: words})
	if err != nil {
		return nil, err
	}
	cells, err := rma.NewCells(s.job, w)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	all, err := s.gatherActions(ctx, cells, words, mine, lengths)
	return all, errors.Join(err, cells.Close(), w.Close())
}

// gatherActions adds up what the ranks have counted, each so many bytes in so many words.
func (s *search) gatherActions(ctx context.Context, cells *rma.Cells, words int, mine []byte,
	lengths []uint64) (all []Action, err error) {
	packed := make([]uint64, words)
	copy(bytesOf(packed), mine)
	for i, word := range packed {
		if err := cells.Store(ctx, s.job.Rank(), i, word); err != nil {
			return nil, err
		}
	}
	if err := s.job.Barrier(ctx); err != nil {
		return nil, err
	}
	at := map[string]int{}
	err = cells.Gather(ctx, 0, words, func(rank int, words []uint64, err error) error {
		if err != nil {
			return err
		}
		var of []Action
		from := bytes.NewReader(bytesOf(words)[:lengths[rank]])
		if err := gob.NewDecoder(from).Decode(&of); err != nil {
			return fmt.Errorf("explore: the actions of rank %d: %w", rank, err)
		}
		for _, a := range of {
			i, known := at[a.Name]
			if !known {
				i, at[a.Name] = len(all), len(all)
				all = append(all, Action{Name: a.Name})
			}
			all[i].Arcs += a.Arcs
			all[i].States += a.States
		}
		return nil
	})
	return all, errors.Join(err, s.job.Barrier(ctx)) // nobody closes what others still read
}

// packed is what this rank has counted, as bytes.
func (e *named) packed() ([]byte, error) {
	names := e.ActionNames()
	mine := make([]Action, len(names))
	copy(mine, e.counts)
	for i := range mine {
		mine[i].Name = names[i]
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(mine)
	return b.Bytes(), err
}
