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
//	n, err := s.Count(all) // 4: (3,0), (2,1), (1,2), (0,3)
//
// # Guarantees
//
//   - All answers are exact: no two sets are taken for the same. Equal sets have the same [Node].
//   - What a node names does not change, and is there as long as the node is held ([Store.Hold]),
//     or until the next operation. An operation keeps the nodes that it is given.
//   - After an error the store is as before: one of memory ([FullError]), of entries beyond 32
//     bits, or of lists so long that an operation would take too much of the stack. When the
//     context of New has ended all operations fail, and what walks over nodes, as Count does; what
//     is in progress ends soon.
//
// One goroutine at a time calls a store. Others may help with an operation that takes a while
// ([Config].Goroutines).
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
// A node is two words in a set of 16 bytes an element ([set.Bytes]), in memory that this process
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
// eighth of MaxBytes. A large one takes long to clear and to read, so it grows later, and latest
// where most lookups find nothing.
//
// Most lookups that find nothing read one byte, a fingerprint of the entry: all fingerprints take a
// 32nd part of the memory of the entries, and so they are in the caches of a processor when entries
// are not.
//
// Where several goroutines run, an entry is claimed by a compare-and-swap of its first word, and
// carries a version there: who reads the same first word before and after the others has read an
// entry that is whole. A result whose entry is being written is not kept. The swap would wait for
// the line of the entry, so a lookup that finds nothing asks for the line without waiting.
//
// Package cache is for values of any size that several processes share. A get of 24 bytes takes 220
// to 240 ns there, as it is copied and verified; here a whole operation takes 50 to 210.
//
// Firing has operations of its own: the change of an entry is known, and the order of a list is the
// same afterwards. So a transition is never a diagram. The way back is a transition
// as well ([Store.Reversed]). A step may also set an entry, whatever it was: then what follows the
// entries of a list is united before it is fired. On the way back the entry may have been any
// number up to a given one.
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
// The order of firing decides how large the sets are on the way: Kanban-20 (package petri) takes
// 0.29 million operations by [Saturation], and 6.0 million where all transitions fire from what was
// new in the step before. Saturation completes the lists of the last level first, and never fires
// from a list whose lists below are not complete. [Loops] does so as well, with whole sets where
// Saturation has entries. Neither is always the better one.
//
// Both visit the lists above the first level of a transition or relation once for all that begin
// below them, not once for each: what begins at a level or below it is one operation.
//
// Saturation and Loops come to the same lists one after the other: a list of the last level is
// complete first, then one of the level above it, and so on. How many levels have one is how far a
// strategy has come ([Store.Saturated]). The set that is found of such a list, or of the one above
// it, is part of the result: so there are as many vectors at least ([Store.Least]).
//
// # Goroutines
//
// The goroutines of an operation are workers. Before a worker calls an operation on the list to the
// right it makes the call on the list below a task (fork), and after it makes that call, unless
// another worker has (join). Tasks cost a few writes, as they are private. A worker that has none
// sets a bit that all read when an operation begins; one of them then offers its oldest task, most
// often the largest, and takes its next one when it needs the result of a task that is not done.
// The results of tasks are the same nodes: the set of nodes is for all, each worker has [set.Pairs]
// of its own. The other goroutines start after 4096 operations, so that small operations have none.
//
// Two workers often need the same result at the same time: lists of different entries have lists in
// common. In the same order they would both make each call on the way to it. So every other worker
// is mirrored: it begins below an entry and has the rest of the list as a task, where others do it
// the other way round. They meet in the middle, and take each other's results from the cache. With
// that, two goroutines make 2 % more calls than one for Kanban-50 by Loops; without it, 62 %. The
// transitions that begin at a level are tasks as well by Saturation, for each entry. An operation
// takes longer with two workers, as what one has written comes from the cache of the other's core.
// eval/docs/benchmarks.md says what they gain.
//
// What is done for all (collecting garbage, growing the cache, [Config].Progress) one worker does
// while it is alone.
// The others stop where an operation begins: there all that they need is reachable from roots.
// After an error of one worker all end.
//
// # Why the state space is not sliced
//
// A store is in the memory of one process. Several could hold a slice each, the vectors with
// certain entries at certain levels, and send each other what leaves it. But the largest of four
// slices has 0.34 to 1.0 of the nodes of the whole set on 14 nets, 0.6 at the median, with the
// levels chosen after the set is known; and by levels chosen before that, only two of the nets
// need less than half of the memory in each of four processes. Where entries count things, slices
// have most lists in common, and each process makes them again, with up to eight times the
// operations in sum. So the ranks of a job take different orders in place of slices (package
// petri/diagram). Where the memory of one is too small they share one diagram, node by node
// (package spread).
//
// # Garbage
//
// Garbage is collected within an operation, where the next node is to be inserted: when there are
// 2^20 nodes, or four times as many as were in use at the last collection, and when the set has no
// memory for more. The roots are what is held, and of each worker a stack on which operations push
// what they need after a call, the rows, lists that Saturation is making, and results of its tasks.
// What they reach is marked, a bit for each reference; the set then collects by reference, and
// results that have a removed node are removed from the cache. The nodes that stay keep their
// references.
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
