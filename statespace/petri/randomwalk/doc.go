// Package randomwalk walks at random through the reachable markings of a Petri net, towards
// markings of which a formula is true.
//
//	m := randomwalk.New(net, nil)
//	goal := m.Goal(formula)
//	w := m.Walker()
//	w.Begin(1, goal)
//	for w.Step() && !w.There() {
//	}
//
// A walk stores nothing but the marking where it is. So it finds what is deep in a state space that
// no memory holds, and never proves that there is nothing to find.
//
// # Distance
//
// A walk is guided by how far a marking is from satisfying the goal. A comparison is as far away as
// its sums differ from what it asks for, an enabled transition as far as tokens are missing. A
// conjunction is as far as its parts together, a disjunction as far as the nearest. Deadlock is as
// far as there are enabled transitions. The distance of the opposite is calculated along with it,
// so that a negation swaps the two.
//
// A step takes one of the enabled transitions at random. If that leads further away, the walk takes
// it back and tries another one, except with a probability that each walk draws when it begins: 1,
// 1/4, 1/16 or 1/64. So some walks are not guided at all, and others rarely turn away from
// their goal.
//
// # Growth
//
// [Map.Growth] looks for a sequence of firings that shows that the net is unbounded: it can be
// repeated for ever, and adds tokens.
//
// # Numbers
//
// A walk is determined by its number and its goal: it is repeated by them. Its length is drawn as
// well. Walks of 2^8 to 2^16 steps are as many times rarer as they are longer, so that each length
// gets the same time.
package randomwalk
