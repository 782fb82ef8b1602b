// Package spread holds the nodes of a decision diagram (package symbolic) in the memory of all
// ranks of a job, and finds all vectors that transitions or relations reach. It is for sets that
// are too large for one host: each rank has its part of the nodes, and of the work. Where one host
// has room enough, package symbolic is many times faster.
//
//	d, err := spread.New(ctx, job, spread.Config{Levels: 2}) // every rank does so
//	...
//	d.AddTransitions(store, transitions...) // what a store of this rank knows
//	from, err := d.Import(store, initial)
//	...
//	all, err := d.Reach(ctx, from)
//	counted, err := d.Count(ctx, all) // the same on every rank
//
// All calls are collective. All answers are exact.
//
// # Nodes
//
// A node is as in package symbolic: two words, an element of 16 bytes of a [set.Bytes], which all
// ranks find, insert and read in batches. So there is one node for each set on all ranks together.
// The rank that makes a node has it in its own memory. Requests are divided by a hash, so the
// ranks make equally many.
//
// # Requests
//
// Reach is saturation (package symbolic) without recursion. A request is a set of terms at a level.
// A term is a node with what is to be made of its vectors: nothing, or the rest of a transition or
// relation that has begun above. The answer is the union of what all terms make, closed under all
// transitions that begin at this level or below. The rank that a hash of the terms names finds it:
//
//  1. It reads the lists of the terms, and divides what the terms make by the value of the first
//     entry. For each value, a request of the next level asks for what follows it.
//  2. The answers are a row: values, each with a closed set. The transitions that begin at this
//     level fire from the entries that have changed. What they make is united with the entry that
//     they lead to, by requests again, until no entry changes.
//  3. The row becomes nodes, from its end, and the first of them is the answer.
//
// So a request unites any number of sets at once, where an operation of package symbolic unites
// two, and takes as much time as several operations.
//
// Who asks the same later gets the same answer: answers are kept while there is memory, by the rank
// that has found them and by those that have asked it. A closed set is also kept as the answer for
// itself.
//
// # Rounds
//
// A rank works on the requests that it has until it waits for others, or for a while. Then all
// ranks exchange requests and answers, in one round: a barrier, and a read of what each other rank
// has for this one. A set of n levels takes 2n rounds at least, most take many more, and in a round
// all ranks wait for the slowest. That is the cost of one memory: on one host a round takes a few
// microseconds, between hosts as long as their messages.
//
// # Memory
//
// Half of the memory is for nodes, an eighth for requests; the rest is for copies: of what grows,
// of messages, of lists that were read. When requests fill their part, answers are forgotten.
// Garbage is collected when there are four times as many nodes as were in use the last time, or
// when no more fit: each rank marks its own nodes, on requests of the others, and gets the marks of
// all, a bit for each node. The roots are what requests in progress name.
package spread
