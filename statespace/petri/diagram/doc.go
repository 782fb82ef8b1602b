// Package diagram explores nets as sets of markings: list decision diagrams (package symbolic),
// where package packing has each marking in a table. Of many nets a set of 10^400 markings takes
// thousands of nodes; of others a million markings take more memory than in a table.
//
//	res, err := diagram.Explore(ctx, net, diagram.Options{})
//	res.States // 3^1000, of 1000 philosophers
//
// # What is answered
//
// The numbers of states, deadlocks and, where that does not take long, arcs; the most tokens of a
// place and of a marking; all properties but formulas of LTL and CTL*. All answers are exact. There
// are no levels of a search, so no depth. The answer to a formula that does not look along paths
// has a marking that shows it, and Options.Witness asks for a firing sequence there, which is not
// always a shortest one.
//
// # How
//
// A level of the diagram is a place. The order of places decides how large diagrams are: Choose
// takes, of the orders that Orders finds, the one whose transitions extend over the fewest levels.
// Two strategies run at the same time, on one goroutine and with half of the memory each, and the
// first that has the answer ends the other: neither is always the faster one, and which is ahead
// does not tell. Loops takes the chosen order, and Saturation the same from the other end: one end
// may need 70 times as many operations as the other (Kanban-100), and the spans hardly differ.
//
// The ranks of a job explore together (ExploreTogether): each by another order and strategy, best
// spans first, until one has the answer. Ranks 0 and 1 do what the two strategies of one rank do.
// They share no nodes, only a word that says who has it. Ranks that have no processor of their own
// wait for the others, as they would slow these down (Divide). Where the memory of one rank is too
// small, ExploreSpread has one diagram in the memory of all (package symbolic/spread).
//
// The largest sum is found by one pass over the nodes. A formula becomes a set: those reachable
// markings for which it is true, found by filters of sums, by what transitions cannot fire from,
// and by union and difference. A comparison that the extremes of places decide needs no filter.
// Deadlocks are what no transition can fire from. Arcs are counted for each transition over the
// levels that it extends over, up to a number of steps.
//
// A formula of CTL is answered inner operators first, each as the set of markings where it is true
// (ctl.go): EF and EU by the transitions reversed, within the markings that the path may pass; EG
// by taking markings out until all that are left have a successor there, or none at all; those of
// all paths by the markings from which one path is otherwise.
//
// A net is live where each part of the graph that nothing leads out of has a marking for each
// transition. From a marking, the initial one first, follow those that are reachable and do not
// lead back, until there are none: that is such a part. All markings that lead there are done, of
// most nets all there are. They are found by the transitions reversed, within the reachable
// markings (symbolic.Store.ReachWithin).
//
// An inhibitor arc is one more condition of a transition, and a reset arc sets an entry. Backwards
// the place that it empties had any number of tokens, up to the most that it has in a reachable
// marking.
//
// A trace is found by steepest descent where that leads there: its goal is the marking that is
// nearest to the initial one, and each transition is the one that comes nearest to it. Where none
// comes nearer, the trace is found backwards: the markings that one reversed transition leads to
// from all that were found so far are a part, as often as that is new, until a part has the initial
// marking. From there each part leads by its transition to one before it. It is fired on the net
// itself.
//
// The ideas are of Ciardo, Luettgen and Siminiceanu (saturation, TACAS 2001), and of van Dijk and
// van de Pol (Sylvan, STTT 2017).
package diagram
