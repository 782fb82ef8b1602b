// Package ltl translates formulas of linear temporal logic to automata.
//
//	// each 0 is followed by a 1
//	f := logic.Of(logic.Globally, logic.Of(logic.Or, logic.Of(logic.Not, logic.Leaf(0)),
//		logic.Of(logic.Finally, logic.Leaf(1))))
//	a, err := ltl.Translate(logic.Of(logic.Not, f)) // the ways to violate it
//
// The automaton reads infinite words: which of Automaton.Atoms are true now, then next, and so on.
// It accepts those of which the formula is true. It is a generalised Büchi automaton whose
// acceptance is on transitions: a run is accepting if for each number below Automaton.Sets it takes
// transitions of that number again and again.
//
// # Formulas
//
// Formulas are first brought into negation normal form: Not is pushed down to the atoms, by the
// duals And and Or, Until and Release, Next and itself. Equal formulas are one. Formulas
// are simplified as they are made, by the rules for eventual and universal ones (Etessami and
// Holzmann, Optimizing Büchi automata, CONCUR 2000): one that is both, such as "again and again p",
// is as true now as later.
//
// # Translation
//
// The translation is the tableau with promises (Couvreur, On-the-fly verification of linear
// temporal logic, FM 1999). A state of the automaton is a formula: what is still to hold. It is
// expanded to alternatives of what must hold now and what must hold next:
//
//	a U b  =  b  or  a and next (a U b), and promise b
//	a R b  =  b and a  or  b and next (a R b)
//
// Each Until has a set of its own, which has the transitions that do not promise its right side:
// who promises for ever does not keep it. States with the same transitions are then merged, also
// where the transitions are the same only once their ends are merged.
package ltl
