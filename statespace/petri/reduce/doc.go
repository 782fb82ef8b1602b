// Package reduce makes a Petri net smaller for one question, which has the same answer there.
//
//	r := reduce.For(net, asked)    // nil: the net stays as it is
//	search := packing.NewSearch(r.Net, r.Property)
//	// ... the search leads to a marking that answers r.Property, by some firings
//	expanded, marking, err := r.Replay(firings)
//
// A question is whether a formula holds in all reachable markings or in one of them, what the
// largest value of a sum of tokens is, or whether there is a deadlock. The places that it names
// stay. A formula that asks for a deadlock and for something else is not reduced, nor is one that
// looks along paths.
//
// # Rules
//
// They are applied until none changes anything. Each has its condition, and why it is right, in a
// comment.
//
//	dead.go         transitions that never fire
//	relevant.go     transitions and places that no answer needs: the cone of influence
//	redundant.go    places that keep no transition from firing: constant, implied, never needed
//	duplicate.go    transitions that another one can replace, or that change nothing
//	agglomerate.go  places between transitions that then fire together: post, pre, free
//
// A formula may want more tokens in a place, or fewer, or either (question.go). A transition that
// only takes tokens from a place of which more are wanted is no help, and the rules know that.
//
// # Guarantees
//
//   - Each run of the reduced net is one of the given net, with the firings that its transitions
//     stand for. The places that are left have the same tokens in both.
//   - Replay fires these on the given net. An answer that a marking shows does not rest on the
//     rules alone.
//   - The reduced net has no more reachable markings than the given one. Their number says nothing
//     about the given net.
//
// # Limits
//
//   - Nets with inhibitor or reset arcs, or with more than 2^30 tokens in a place or such a weight,
//     are left as they are.
//   - The rules take a number of steps; a net with millions of arcs is reduced in part.
//   - An agglomeration makes at most 24 transitions of several producers and several consumers. A
//     transition stands for at most 4096 firings.
//
// # Literature
//
//   - G. Berthelot: Transformations and decompositions of nets. Advances in Petri Nets 1986,
//     LNCS 254.
//   - T. Murata: Petri nets: properties, analysis and applications. Proceedings of the IEEE 77(4),
//     1989.
//   - Y. Thierry-Mieg: Structural reductions revisited. Petri Nets 2020, LNCS 12152.
package reduce
