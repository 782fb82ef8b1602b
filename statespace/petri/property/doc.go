// Package property has what can be asked of the reachable markings of a Petri net.
//
// A [Property] is one of four kinds: that a formula holds in all of them ([Always]), that it
// holds in one at least ([Sometimes]), how large a sum of tokens becomes ([Bound]), or that a
// formula of CTL* holds initially, which may look along paths ([Temporal]). A formula
// (package logic) compares sums of tokens ([AtMost]), asks whether transitions are enabled
// ([Enabled]) or whether none is ([Stuck]), and joins formulas by and, or and not. Three further
// kinds ask about the net as a whole: that some place never changes ([Stable]), that every
// transition fires somewhere ([QuasiLive]), and that from every reachable marking each transition
// can fire again ([Live]).
//
// [ReadFile] reads the properties of the Model Checking Contest: the examinations
// ReachabilityCardinality, ReachabilityFireability, UpperBounds, CTLCardinality, CTLFireability,
// LTLCardinality and LTLFireability. [Examination] gives those
// that have no file. [ParseFormula] and [ParseSum] read text:
//
//	tokens(a) + 2*tokens("place b") <= 3 and not enabled(t1)
//	deadlock or tokens(c) = 0 or tokens(a) != tokens(d)
//
//	tokens(a) > 0 => tokens(b) = 0 <=> not enabled(t*)
//
// <=>, =>, or, and, not bind in this order, the last one most. In a name without quotes an asterisk
// stands for any text: tokens(Eat_*) is the sum over all places whose ids begin with Eat_, and
// enabled(t*) is true if one of such transitions is enabled. A name with other characters than
// letters, digits, _ . : - and $ is put in quotes. Places and transitions are named by their ids.
// [ReadFormulas] reads a file of such formulas.
//
// Package petri/packing evaluates properties on packed markings while it explores them.
package property
