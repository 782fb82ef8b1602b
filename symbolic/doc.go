// Package symbolic holds sets of vectors of numbers as list decision diagrams, and computes with
// whole sets: what transitions make of them, and all that is reachable. A set of 3^1000 vectors may
// take a few thousand nodes. Package petri/diagram uses it for nets.
//
//	s, err := symbolic.New(ctx, symbolic.Config{Levels: 2})
//	...
//	from, err := s.Vector([]uint32{3, 0})
//	move, err := s.NewTransition(symbolic.Step{Level: 0, Need: 1, Change: -1},
//		symbolic.Step{Level: 1, Change: 1}) // one less in the first entry, one more in the second
//	...
//	all, err := s.Reach(from, []symbolic.Transition{move}, symbolic.Saturation)
//	s.Count(all) // 4: (3,0), (2,1), (1,2), (0,3)
//
// # Guarantees
//
//   - All answers are exact: no two sets are taken for the same. Equal sets have the same [Node].
//   - What a node names does not change, and is there as long as the node is held ([Store.Hold]),
//     or until the next operation. An operation keeps the nodes that it is given.
//   - After an error the store is as before: one of memory ([FullError]), of entries beyond 32
//     bits, or of lists so long that an operation would take too much of the stack. When the
//     context of New has ended all operations fail.
//
// A store is for one goroutine.
//
// # Diagrams
//
// List decision diagrams are of Blom and van de Pol (Symbolic Reachability for Process Algebras
// with Recursive Data Types, ICTAC 2008). A node is an entry of a list: a value, the set of what
// may follow it (down), and the rest of the list (right), whose values are larger. So a list is a
// set of vectors: those that begin with one of its values and continue in the set below. A node is
// stored once, whatever number of lists it is in.
//
//	{(0,1), (0,2), (3,1), (3,2), (4,2)}     0 ------> 3 ------> 4
//	                                        |         |         |
//	                                        +---------+         |
//	                                        1 ----------------> 2
//
// # Layout
//
// A node is two words in a set of 16 bytes an element ([set.Elements]), in memory that this process
// addresses; [Node] is the reference of the element, plus 2. [set.Pairs] find or insert it.
//
//	| value, low bits (28)  | down (36)  |    | value, high bits (4) | right (36) |
//	 63                   36 35         0      39                  36 35         0
//
// A full store has 25 bytes a node: 16, and 8 for each bucket of a table that is 0.9 full. It
// begins with 65,536 buckets and grows as the set does.
//
// # Operations and their cache
//
// An operation on two lists calls itself for the lists below and to the right, and keeps results in
// a cache: four words for an operation with its arguments and the result. A result takes the place
// of another one. The cache begins with 4096 entries and grows where results are replaced, up to an
// eighth of MaxBytes.
//
// Package cache is for values of any size that several processes share. A get of 24 bytes takes 220
// to 240 ns there, as it is copied and verified; here a whole operation takes 60 to 210.
//
// Firing has operations of its own: the change of an entry is known, and the order of a list is the
// same afterwards. So a transition is never a diagram. The way back is a transition
// as well ([Store.Reversed]).
//
// # Relations
//
// A relation ([Store.NewRelation]) says which vectors follow which, and is a set of vectors
// itself: at each level of the store it has no entry, one or two ([Access]). Where it keeps an
// entry or only reads it, the order of a list is the same afterwards. Where it writes, its own
// list has the order of the result. Several entries of a set may become the same one, so what
// follows them is united: before the image is taken where the entry is not read, and else one
// image after the other with the union so far. [Store.Image], [Store.Preimage] and [Store.ReachBy]
// are for relations what Fire, Reversed and Reach are for transitions.
//
// Relations are held for ever. What the entries of a relation mean from a level on is a plan, which
// has a number. Relations that end alike share plans, and results in the cache.
//
// # Strategies
//
// The order of firing decides how large the sets are on the way: 1000 philosophers take 0.28
// million operations by [Saturation], and 190 million by [Chaining]. Saturation completes the lists
// of the last level first, and never fires from a list whose lists below are not complete. [Loops]
// does so as well, with whole sets where Saturation has entries. Neither is always the better one.
// Chaining and [BreadthFirst] are there to compare.
//
// # Garbage
//
// Garbage is collected within an operation, where the next node is to be inserted: when there are
// 2^20 nodes, or four times as many as were in use at the last collection, and when the set has no
// memory for more. The roots are what is held, a stack on which operations push what they need
// after a call, and the rows, lists that Saturation is making. What they reach is marked, a bit for
// each reference; the set then collects by reference, and results that have a removed node are
// removed from the cache. The nodes that stay keep their references.
//
// Where a collection of a full store frees less than an eighth of the nodes, the operation ends
// with a [FullError].
//
// # Invariants
//
//   - Values ascend along a list, and down is never Empty. So there is one list for each set.
//   - All lists of a level have the same length below them: the vectors of a store have one length.
//     So a node tells its level, and the cache needs none.
//   - A node in the cache, on the stack, in an open row or below a root is in the set.
//   - A node that a comparison needs after a call is pushed before it, even if only its name is
//     compared: after a collection another set could have the name.
package symbolic
