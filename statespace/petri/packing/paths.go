package packing

import (
	"context"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/logic/temporal"
	"github.com/farhash/farhash/statespace/petri/property"
)

// Questions that look along paths are answered by package temporal, after the search.

// askPaths has a question be asked of package temporal.
func (p *Packing) askPaths(at *question) {
	f := p.alongPaths(at.Formula)
	if err := temporal.Refused(f); err != nil {
		at.refused = err.Error()
		return
	}
	at.paths = f
}

// alongPaths is a formula whose parts that do not look along paths are simplified. The others stay:
// which operators stand together is a part of their meaning in a deadlock.
func (p *Packing) alongPaths(f *logic.Formula) *logic.Formula {
	if !f.Looks() {
		return p.simplify(f)
	}
	g := logic.Of(f.Op)
	for _, arg := range f.Args {
		g.Args = append(g.Args, p.alongPaths(arg))
	}
	return g
}

// pathAnswers are the answers to the questions of a packing that look along paths.
type pathAnswers []temporal.Answer

// paths are the formulas of the questions that look along paths.
func (p *Packing) paths() (all []*logic.Formula) {
	for i := range p.questions.list {
		if f := p.questions.list[i].paths; f != nil {
			all = append(all, f)
		}
	}
	return all
}

// afterwards is explore.Options.After; nil if nothing is asked. With show it finds a path for each
// formula of LTL that is false.
func (p *Packing) afterwards(answers *pathAnswers, show bool) func(context.Context,
	*explore.States) error {
	formulas := p.paths()
	if len(formulas) == 0 {
		return nil
	}
	return func(ctx context.Context, states *explore.States) (err error) {
		atoms := newPathAtoms(p, formulas)
		for _, f := range formulas {
			atoms.shows = append(atoms.shows, show && isLTL(f))
		}
		*answers, err = temporal.Solve(ctx, states, atoms, formulas)
		return err
	}
}

// isLTL reports whether a formula says of all paths what is said of a path alone. A lone X is left
// out: a deadlock has it mean another thing in CTL.
func isLTL(f *logic.Formula) bool {
	var quantified func(f *logic.Formula) bool
	quantified = func(f *logic.Formula) bool {
		return f.Op == logic.Exists || f.Op == logic.Forall ||
			slices.ContainsFunc(f.Args, quantified)
	}
	return f.Op == logic.Forall && !f.Args[0].OfState() && f.Args[0].Op != logic.Next &&
		!quantified(f.Args[0])
}

// note makes verdicts findings, and paths traces.
func (p *Packing) note(res *explore.Result, answers pathAnswers) {
	for i := range p.questions.list {
		q := &p.questions.list[i]
		if q.paths == nil || len(answers) == 0 {
			continue
		}
		res.Findings[q.finding] = uint64(answers[0].Verdict)
		if l := answers[0].Lasso; l != nil {
			res.Traces = append(res.Traces, explore.Trace{Target: q.finding, Steps: l.Steps,
				Back: l.Back + 1})
		}
		answers = answers[1:]
	}
}

// pathAtoms evaluates the parts of formulas that do not look along paths.
type pathAtoms struct {
	p       *Packing
	places  []int
	marking []int64 // their tokens, and the number of successors after all places
	shows   []bool  // by formula: a path is to be shown if it is false
}

// Conditions are none: each path counts.
func (a *pathAtoms) Conditions() (weak, strong int) { return 0, 0 }

func (a *pathAtoms) Shows(number int) bool { return a.shows[number] }

func newPathAtoms(p *Packing, formulas []*logic.Formula) *pathAtoms {
	a := &pathAtoms{p: p, marking: make([]int64, len(p.net.Places)+1)}
	for _, f := range formulas {
		property.Places(f, p.net, func(place int) {
			if place < len(p.net.Places) {
				a.places = append(a.places, place)
			}
		})
	}
	slices.Sort(a.places)
	a.places = slices.Compact(a.places)
	return a
}

func (a *pathAtoms) See(state []uint64, successors int) {
	for _, place := range a.places {
		a.marking[place] = a.p.tokens(state, place)
	}
	a.marking[len(a.marking)-1] = int64(successors)
}

func (a *pathAtoms) Holds(f *logic.Formula) bool { return property.Holds(f, a.p.net, a.marking) }
