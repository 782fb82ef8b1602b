// Package packing packs the markings of a Petri net into few bits, and fires
// transitions on the packed form.
//
// A [Search] counts the markings that a net reaches, and answers questions about them, with the
// packing that it makes. A [Packing] is an explore.Model: [New] analyses the structure of the net
// once, and expanders then add and compare machine words.
//
// # Bounds
//
// A P-semiflow is a weighting y >= 0 of the places that no transition changes:
// y*C = 0, where C is the incidence matrix. The weighted token sum is then the
// same in all reachable markings, and a place p has at most y*m0 / y(p) tokens.
// The package computes semiflows of minimal support with the algorithm of
// Farkas. A net can have exponentially many, so the work is capped. A cap costs
// bits, it never makes a bound wrong.
//
// Transitions that the bounds or the invariants keep from ever firing are taken
// out, and the analysis is repeated without them. A place that no semiflow
// contains may still be bounded by a weighting that no transition increases.
//
// A reset arc takes any number of tokens, so no semiflow contains its place. A
// weighting that no transition increases may. Inhibitor arcs only take firings
// away: all that holds without them holds.
//
// A place without a bound gets as many bits as Options.GuessBits says. A [Search] begins with 1 to
// 8: the most that take no more words than the fewest that random walks do not outgrow. A firing
// that puts more tokens there gives an *explore.OverflowError; the caller
// retries with a wider guess. With 32 bits a place holds up to 2^31 tokens, and
// more is a plain error.
//
// # Layout
//
// Each place is one of four kinds:
//
//   - Constant: no firing changes it. It takes no bits.
//   - Implied: a linear function of stored places. It takes no bits.
//   - Counted: stored in a field of bits.Len(bound) bits.
//   - Grouped: stored with others of which at most one is marked, and that with
//     one token. The field of a group holds the number of the marked place, 0
//     if none is: n places take bits.Len(n) bits.
//
// Which places are implied is a choice. The rows of C that span all others are
// the bases of a matroid, so that taking the cheapest independent place first
// stores the fewest bits.
//
// Fields of 64 bits or less in all fill one word from the lowest bit without
// gaps. A longer marking has several words, and no field crosses from one word
// to the next.
//
//	bit 63                                                      bit 0
//	+---------+-----------------+---------+-----+-----------------+
//	| 0 ... 0 | count of p9     | group   | p5  | count of p1     |
//	+---------+-----------------+---------+-----+-----------------+
//	  unused    bound 12: 4 bits  p6,p7,p8  1     bound 5: 3 bits
//	                              2 bits
//
// A dining philosopher has four places with one token, and shares two forks.
// Three places make a group of 2 bits. The fourth and the forks are implied. So
// 13 philosophers with 65 places take 26 bits.
//
// # Firing
//
// A packed marking is a linear function of the marking, so a transition adds the
// same number to it whenever it fires. All fields of the sum are in range, so
// that nothing is carried between them in the end. Places that a transition empties
// have fields of their own, which are cleared then.
//
// The tests for enabledness are linear too. Each condition of a transition gets
// a lane, which is a few bits of a word. The lane holds a weighted token sum
// plus a bias, and its top bit says whether the condition holds. That a place has few
// tokens is a condition on those that it can still get. Small nets add
// up the lanes of all transitions from tables, one row for some bits of the
// packed marking. Large nets add up the entries of the fields that are not zero.
//
// Where the tables are smaller for it, a transition that needs so many tokens of places with fields
// of their own has one bit and no lane. Rows then begin with these bits, which are combined by and:
// a row takes the bit away where one of its places has too few tokens. One more bit says that no
// place without a bound is so full that a firing could overflow it. So a net of 27 places and 260
// transitions has rows of 12 words, where lanes of 8 bits alone take 76.
//
// # Properties
//
// Options.Properties are answered by the findings of expanders (package explore): a formula has
// one finding, 1 when a marking has decided it; a bound has its largest value, and whether that is
// the most that the invariants allow; where it matters, each transition has one that says that
// it was enabled. Liveness has one for deadlocks, and explore.Options.Live asks for the
// transitions. What bounds, invariants and dead transitions decide is folded before the search.
// Open formulas read the tokens of the places that they need from the packed marking; decided
// ones cost nothing.
//
// With explore.Options.Walk expanders also walk at random (package petri/randomwalk) towards a
// question that is open, or a transition that has not been enabled yet. A walk's number has its
// goal, and so each rank can repeat the walks of the others.
//
// # Invariants
//
//   - Every reachable marking that fits has exactly one packed form, and two
//     markings never share one.
//   - Bits that belong to no field are zero.
//   - Packing rejects a marking that contradicts an invariant of the net.
//   - Expand gives one successor for each enabled transition.
//
// # Limits
//
// A packed marking has at most 512 words. A place has at most 2^31 tokens. The
// sums of several tokens in a group are not coded, only single tokens.
//
// # Layers
//
// One file is one layer. Calls run down this list:
//
//	search.go      Search: widens the guess until a search fits; the firings of a trace
//	expander.go    the successors of a marking
//	coverage.go    the transitions that lead to them
//	examine.go     what a marking shows about properties
//	peaks.go       the most tokens that an expander has seen
//	walk.go        random walks to what is not answered yet
//	packing.go     Packing: New, markings to packed ones and back
//	questions.go   properties: what findings they need, and what findings answer
//	simplify.go    what bounds and invariants decide of a formula
//	program.go     tests for enabledness and firings, compiled to sums
//	engine.go      these sums, from tables or field by field
//	layout.go      the bits of each place
//	basis.go       which places are implied
//	structure.go   bounds, dead transitions, invariants
//	semiflow.go    semiflows by the algorithm of Farkas
//	sparse.go      vectors with few entries
//
// # Literature
//
//   - J. Farkas: Theorie der einfachen Ungleichungen. Journal für die reine und
//     angewandte Mathematik 124, 1902.
//   - J. Martínez, M. Silva: A simple and fast algorithm to obtain all invariants
//     of a generalised Petri net. Informatik-Fachberichte 52, Springer, 1982.
//   - J. M. Colom, M. Silva: Convex geometry and semiflows in P/T nets. Advances
//     in Petri Nets 1990, LNCS 483.
//   - L. Lamport: Multiple byte processing with full-word instructions.
//     Communications of the ACM 18(8), 1975, for lanes in words.
package packing
