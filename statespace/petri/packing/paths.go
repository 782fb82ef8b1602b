package packing

import (
	"context"
	"reflect"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic/temporal"
	"github.com/farhash/farhash/statespace/petri/property"
)

// Questions that look along paths are answered by package temporal, after the search.

// askPaths has a question be asked in the terms of package temporal.
func (p *Packing) askPaths(at *question) {
	f := p.alongPaths(at.Formula)
	if err := temporal.Refused(f); err != nil {
		at.refused = err.Error()
		return
	}
	at.paths = f
}

// pathOps are the operators that look along paths.
var pathOps = map[property.Op]temporal.Op{property.Exists: temporal.Exists,
	property.Forall: temporal.Forall, property.Next: temporal.Next,
	property.Finally: temporal.Finally, property.Globally: temporal.Globally,
	property.Until: temporal.Until, property.And: temporal.And, property.Or: temporal.Or,
	property.Not: temporal.Not}

// alongPaths is a formula with formulas of markings as atoms.
func (p *Packing) alongPaths(f *property.Formula) *temporal.Formula {
	if !f.Looks() {
		switch f = p.simplify(f); {
		case same(f, truth(true)):
			return &temporal.Formula{Op: temporal.And}
		case same(f, truth(false)):
			return &temporal.Formula{Op: temporal.Or}
		}
		number := slices.IndexFunc(p.questions.atoms, func(g *property.Formula) bool {
			return reflect.DeepEqual(f, g)
		})
		if number < 0 {
			number = len(p.questions.atoms)
			p.questions.atoms = append(p.questions.atoms, f)
		}
		return &temporal.Formula{Op: temporal.Atom, Atom: number}
	}
	g := &temporal.Formula{Op: pathOps[f.Op]}
	for _, arg := range f.Args {
		g.Args = append(g.Args, p.alongPaths(arg))
	}
	return g
}

// pathAnswers are the answers to the questions of a packing that look along paths.
type pathAnswers []temporal.Answer

// paths are the formulas of the questions that look along paths.
func (p *Packing) paths() (all []*temporal.Formula) {
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
		*answers, err = temporal.Solve(ctx, states, newPathAtoms(p), formulas)
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
		if a := answers[0]; a.Known {
			res.Findings[q.finding] = uint64(False)
			if a.True {
				res.Findings[q.finding] = uint64(True)
			}
		}
		answers = answers[1:]
	}
}

// pathAtoms evaluates the atoms of questions that look along paths.
type pathAtoms struct {
	p       *Packing
	places  []int
	marking []int64 // their tokens, and the number of successors after all places
}

func newPathAtoms(p *Packing) *pathAtoms {
	a := &pathAtoms{p: p, marking: make([]int64, len(p.net.Places)+1)}
	for _, f := range p.questions.atoms {
		f.Places(p.net, func(place int) {
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

func (a *pathAtoms) Holds(atom int) bool {
	return a.p.questions.atoms[atom].Holds(a.p.net, a.marking)
}
