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

// afterwards is explore.Options.After; nil if nothing is asked.
func (p *Packing) afterwards(answers *pathAnswers) func(context.Context, *explore.States) error {
	formulas := p.paths()
	if len(formulas) == 0 {
		return nil
	}
	return func(ctx context.Context, states *explore.States) (err error) {
		*answers, err = temporal.Solve(ctx, states, newPathAtoms(p, formulas), formulas)
		return err
	}
}

// note makes verdicts findings.
func (p *Packing) note(res *explore.Result, answers pathAnswers) {
	for i := range p.questions.list {
		q := &p.questions.list[i]
		if q.paths == nil || len(answers) == 0 {
			continue
		}
		res.Findings[q.finding] = uint64(answers[0].Verdict)
		answers = answers[1:]
	}
}

// pathAtoms evaluates the parts of formulas that do not look along paths.
type pathAtoms struct {
	p       *Packing
	places  []int
	marking []int64 // their tokens, and the number of successors after all places
}

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
