// Package statespace is the folder of model checking, an application of the tables: it has no code
// of its own.
//
//	check      properties of models in Go: states are Go values, properties functions
//	explore    parallel search of a state space that a program packs into words
//	petri      place/transition nets: PNML, formulas, packed markings, sets of markings, walks
//	symbolic   sets of vectors as decision diagrams, and models of other tools in that form
//	logic      formulas and verdicts; automata; CTL* on the states that a search has stored
//	report     results as pages, traces and graphs for other tools
//
// Most programs need check alone; docs/check.md begins with an empty folder. The command farhash
// explore is for nets; docs/explore.md is its manual.
package statespace
