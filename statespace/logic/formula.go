// Package logic has the formulas that statespace answers, and the verdicts on them.
//
// A [Formula] is a tree of operators over atoms. The package that a formula is about says what an
// atom is: package petri/property compares tokens and asks for transitions, package check asks
// functions of states. Package logic/temporal answers formulas that look along paths, and package
// logic/ltl translates these to automata.
package logic

import (
	"reflect"
	"slices"
)

// Op is what a formula does.
type Op int

// The operators.
const (
	And  Op = iota // of Args; true if there are none
	Or             // of Args; false if there are none
	Not            // of the only one of Args
	Iff            // both of Args are true, or none
	Atom           // Formula.Atom is true of this state

	// What follows looks along paths.
	Exists   // the only one of Args is true of a path from here
	Forall   // the only one of Args is true of all paths from here
	Next     // the only one of Args is true from the next state of the path on
	Finally  // it is true from some state of the path on
	Globally // it is true from each state of the path on
	Until    // the second of Args is true from some state on, and the first one until then
)

// Formula is true or false of a state, or, within Exists and Forall, of a path.
type Formula struct {
	Op   Op
	Args []*Formula
	Atom any // of the operator Atom
}

// Of is the formula of an operator.
func Of(op Op, args ...*Formula) *Formula { return &Formula{Op: op, Args: args} }

// Leaf is the formula of an atom.
func Leaf(atom any) *Formula { return &Formula{Op: Atom, Atom: atom} }

// Truth is a formula that is always true, or always false.
func Truth(yes bool) *Formula {
	if yes {
		return Of(And)
	}
	return Of(Or)
}

// Constant reports whether a formula is one of Truth.
func (f *Formula) Constant() bool { return f.Op <= Or && len(f.Args) == 0 }

// Looks reports whether a formula looks along paths.
func (f *Formula) Looks() bool {
	return f.Op >= Exists || slices.ContainsFunc(f.Args, (*Formula).Looks)
}

// OfState reports whether a formula is of a state: nothing of it is of a path.
func (f *Formula) OfState() bool {
	ofPath := func(arg *Formula) bool { return !arg.OfState() }
	return f.Op < Next && (f.Op >= Atom || !slices.ContainsFunc(f.Args, ofPath))
}

// Index is where a list has a formula like f; -1 if it has none.
func Index(list []*Formula, f *Formula) int {
	return slices.IndexFunc(list, func(g *Formula) bool { return reflect.DeepEqual(f, g) })
}
