// Package explore counts the states that a transition system reaches. All ranks of a job search
// together, with one visited set in the memory of all of them.
//
// [Run] takes a [Model], whose states are packed into a fixed number of words, and searches it
// breadth first or in any order:
//
//	res, err := explore.Run(ctx, job, model, explore.Options{Trace: []int{explore.Deadlock}})
//
// The result has the number of states, arcs, levels and deadlocks, what the model has noted about
// its states (findings), and a shortest way to a deadlock or to a state that shows a finding.
// Package petri/packing makes models of Petri nets, package check models of Go programs.
//
// # Guarantees
//
//   - Counts of a complete result are exact, and the same for every number of ranks,
//     order, encoding and engine. Depth and trace are as of breadth first search. With
//     fingerprints a state may be missed, with the probability Result.Missed.
//   - Liveness is certain where it is known. It is asked of complete searches alone.
//   - A result that is not complete says so and why. Its counts are of what was found
//     before the search stopped.
//   - Every rank gets the same result. When a model fails, panics or breaks its contract on
//     one rank, every rank gets an error that says which; when its packing was too small,
//     every rank gets an *OverflowError.
//   - When a rank is lost the others do not hang: they end with [RankLost], and the result
//     names the rank, its host and the checkpoint to resume from. If the engine keeps the memory
//     of the rank, and the rank died after its last state, the result is complete.
//   - A cancelled context of any rank ends the search on all ranks, between blocks.
//
// # Limits
//
// A model has 1 to 512 words of 64 bits a state. There are at most 2^36 states that
// are kept as elements, and 2^31 nodes of trees. A state is expanded by one rank at a time, and
// a block by one; a level below some hundred states keeps few ranks busy. What a model allocates
// while it expands is not part of the memory plan, and where a state has more than half
// as many successors again as any before, neither is the batch while it grows. Without
// MemWhole budgets of less than about 64 MiB are below what the program itself takes, every
// rank takes about 0.4 MiB beside the plan, and a Go runtime as well where it is a process:
// hundreds of ranks need a budget to match.
//
// # Memory
//
// [Options].Mem is for everything: table, arenas, frontier, the log for traces and liveness, and
// 48 MiB (at most a quarter) for the program. With [Options].MemWhole the program gets what
// it takes instead: the memory of each process is measured when the search begins, with net and
// model, and the ranks' buffers are added. The resident memory then stays within Mem. If it
// cannot, the error says how much is needed. Frontier and log are outside the Go heap, so
// that no garbage gathers beside them. The table begins with 65536 buckets or fewer, and grows
// while it is used (package set), to twice as many at load 0.8. Old and new buckets are there at
// once while it grows: 30 bytes a state at that moment for words and roots of trees, 10 to 20 bytes
// afterwards. The nodes of trees add 0.2 to 9 bytes a state. An element of n words takes n*8 bytes
// beside its bucket. A waiting state takes 9 bytes, with fingerprints n*8+1; [Plan] counts them for
// half of the states.
//
// Tables, frontiers and logs share what there is. The plan limits the tables, so that the last
// ones leave room for the rest. A table asks before it grows (set.Config.MayGrow): a word of rank 0
// has what the tables take, and each rank publishes what its frontier and its log take. Where
// windows take their memory at once, each table has its part, and nothing is asked.
//
// When the set is full, or the frontiers have used up what the tables leave, the search stops with
// [MemoryFull], and Result.NeedMem says what to try next. On several hosts each rank has its share
// of what the tables leave.
//
// # Findings
//
// The expander of a rank notes findings: numbers that begin at 0 and never fall, such as the most
// tokens in a place, or 1 once a property is violated. Each rank publishes its findings; the
// search has the largest of each. The state whose expansion changes a finding from 0 is its
// witness. Then the rank publishes findings and witness, reads the findings of all ranks, and asks
// the model whether they decide everything (Model.Decided). If so, all ranks stop. Of ranks that
// find something at the same time the last to publish reads what all have found.
//
// A state is examined when it is expanded, not when it is found: it is unpacked then, and its
// successors are known. So what the last level would show is known up to one level later.
//
// # Coverage
//
// With [Options].Coverage a rank whose expander is a [Namer] counts for each action the arcs, and
// the states that were found by them, where it inserts the successors. So the counts are of what
// was searched, also where the search has ended early. Ranks number actions as they meet them; in
// the end they exchange names and counts. Without it nothing is counted.
//
// # Walks
//
// With [Options].Walk each rank spends a share of its time on random walks, if its expander is a
// [Walker]: a millisecond at a time, between blocks, from the tenth millisecond on at a share of a
// tenth. Walks are not in the visited set, and not counted. A finding of a walk has for its
// witness the number and the length of the walk, by which the model repeats it.
//
// # Liveness
//
// [Options].Live asks a further question of a complete search: is from every state a state reached
// that shows a finding, for each of some findings? The log names the states. A set of words has the
// tasks of the states that are known to be live, and each rank a bit for each state in its log. The
// ranks repeat:
//
//  1. Take a state that is not known to be live: the first deadlock, or the initial state, and
//     afterwards one of the highest level that has any.
//  2. Search from there until all the findings are found, with a visited set of its own. If one is
//     missing, the findings are not live, and this state is stranded. From the initial state the
//     search itself has been.
//  3. That state is live, and so are all that lead to it. In a sweep each rank expands its states
//     that are not known to be live; each that has a live successor becomes live at once, for all
//     ranks. Sweeps go through the logs upwards and downwards in turn, so that one follows a path
//     back as far as its levels fall, or rise. They end with one that finds nothing.
//
// There are as many rounds as parts of the graph that nothing leads out of, and few more. A sweep
// takes at most as long as the search. No arcs are stored: a state takes 11.4 bytes beside
// the log. Where memory does not suffice, the answer is unknown.
//
// # Words of states
//
// [Options].After gets the [States] of a complete search, which have some words each, for
// whatever is to be found out about them: package temporal answers CTL and LTL so. In a sweep
// each rank expands the states that it has logged and that are still open, and a [Visitor]
// changes the words of a state, given the words of its successors. Sweeps go through the logs
// upwards and downwards in turn. They repeat until one changes nothing. Changes that only ever
// add bits then have a result that does not depend on ranks and order.
//
// The first sweep remembers arcs, as far as there is memory: 8 bytes each and 8 a state. Later ones
// that need no more than words do not expand states whose arcs are known ([States.SweepWords]). If
// all arcs of a rank are, it also notes which of its states lead to each, 4 bytes an arc and 17 to
// 23 a state. Where a state changes, these are visited again in the same sweep. So one rank needs
// no second sweep. Several ranks repeat it until none changes anything. Each lists the numbers of
// the states that it has changed in a sweep, 8 bytes a state, and reads the lists of the others:
// then it visits the states alone that lead there.
//
// Where ranks are on several hosts, a list has the words as well, and each rank keeps the words of
// its states and of those that its arcs lead to. A sweep then sends nothing but lists, and what it
// has changed is in the window once it is published ([States.Publish]).
//
// The states are numbered by a set of elements of 8 bytes, their names, whose references are the
// numbers. It takes 19 bytes a state, and a list of numbers 8. States that are elements have
// numbers already. The words are in a window, at the numbers. One rank alone writes the words of
// a state.
//
// # Trace
//
// With [Options].Trace each rank logs its tasks by level, 8 bytes a state. When the
// search is over the ranks agree on a witness of the lowest level. From there they go back level
// by level: they expand the states again that they inserted one level earlier, until one of them
// leads to the present state. That takes at most as long as the search, and needs neither a
// reference to the predecessor of each state nor transitions that fire backwards.
//
// With [Options].TraceEach there is a way to each target that was found, one after the other. The
// witness of a finding is the state that changed it from 0. For the largest value of one that has
// risen further the ranks expand their logs again, from the initial states on, with expanders whose
// findings begin at 0, until one has come to that value.
//
// Fingerprints do not give states back. There the log has the fingerprint of each state, and before
// the states that were inserted after one state the fingerprint of that one: 8 to 16 bytes a state.
// The ranks go back by fingerprints, and then each goes forward by them from an initial state.
//
// # Checkpoints
//
// With Options.Checkpoint a rank whose block is not done asks for a checkpoint when it is due: such
// a block keeps the search from ending. All ranks pause between two states, when
// nothing is in flight into the set. They write into one file of checksummed blocks: the states
// found, the states that wait (the rest of the present block, the lists, the blocks in the
// exchange), the level, and the sums of all counters. The file replaces the one before when it is
// complete. So a search killed at any moment leaves a complete checkpoint, and perhaps a file
// PATH.partial, which the next search that saves there uses. Any other file of that name is
// refused. Resuming verifies the file first. States and waiting states are distributed over
// the ranks, however many there are, and rank 0 takes over the counters. A checkpoint has the
// states found as fingerprints if the set has, and is then resumed with fingerprints alone.
//
// When a rank is lost, the states that waited in its program are lost too, and on several
// hosts its part of the set. So nothing can be saved any more, and the search can only be
// resumed from the last checkpoint. Ranks on several hosts need a folder that
// they share: before they search they make sure that each can write the same file there.
//
// # Fingerprints
//
// With [EncodingFingerprint] the set keeps 63 bits of a hash (xxh3) of each state that is longer,
// and no part of the state. A state whose fingerprint another state has is taken for that one and
// is missed, and perhaps others that are reached by it alone. Result.Missed is the probability of
// that, if fingerprints are random, for n distinct states among g that were generated (the initial
// states and the ends of all arcs): the lesser of
//
//	n(n-1) / 2^64    the expected pairs of equal fingerprints (the birthday bound)
//	n(g-n) / 2^63    as TLC has it: each of g-n was taken for one of n known states
//
// A million states have 5e-8, a billion 0.05. The fingerprint is the name of a state, in witnesses
// and in the log.
//
// # Work
//
// A state goes into the visited set (package set) when it is found. Exactly one rank gets
// the answer Inserted. That rank owns the state, so each state is expanded once. Owned
// states wait in a frontier, a list of blocks of 128 tasks. A task is one word that
// names a state: the state itself where it fits into 63 bits, else the root of its tree, or the
// reference of its element in the set. With fingerprints a task is the whole state.
//
// # Successors
//
// A rank expands its blocks oldest first. Successors are gathered and put into the
// set in batches, so that many requests are in flight at once. Several arcs lead to most states,
// often from states that are expanded one soon after the other. So a rank remembers states that it
// has inserted, 2^14 words, and does not insert them again.
//
// Between hosts batches are larger and are shipped to the states' owners where that takes less
// time ([Options].Access). Then up to 64 blocks are expanded together, but at most half of the
// blocks that a rank has; the next batch is gathered while one is shipped; and a rank remembers
// 2^16 words.
//
// To compare a revision with the work tree on two hosts, as root: scripts/bench-hosts REVISION.
//
// # Sharing
//
// Each rank has four exchange slots in memory that all ranks reach. A rank with two
// blocks or more puts one into each slot of its own that is empty, or between hosts up to 16, but
// at most half of those that it has left. A rank without work claims a slot of any rank, by one
// compare-and-swap on its header:
//
//	header 0        empty: the owner may fill it
//	header 1..      that many words of tasks: any rank may claim it
//	header 1<<63    being read by the rank that claimed it
//
// The owner does nothing when its blocks are taken. When it has no others left, it claims its own
// back.
//
// # Levels and the end
//
// There is no coordinator. Each rank publishes, in words that only it writes, how many states
// it has created and how many it has done. Levels of even and odd number have separate words.
// A state is counted as created before its predecessor is counted as done. Done is published
// once per block.
//
// A rank without work adds up all done words, then all created words. Both only grow,
// and done never exceeds created; so equal sums mean that at a moment between the two
// readings nothing was waiting or being expanded. Then the level is over, and no more
// states of it can come. Any rank that finds this moves the level word on by one
// compare-and-swap, or marks the end when the next level is empty by the same sums: it gets no
// more states then. With [AnyOrder] there is one level, which ends with the search.
//
// A level of a single state costs its rank a few loads and one compare-and-swap. The
// other ranks read the words at growing intervals, of up to a millisecond. Where reading takes
// messages, a rank looks into the slots of 8 ranks at a time, and of more than 8 ranks about one at
// a time adds up the words.
//
// # Commands
//
// What all ranks do together is one word, changed by compare-and-swap, so that two
// commands never compete:
//
//   - run: nothing special.
//   - save: all ranks write a checkpoint, then the first that is done makes the word say run with
//     the next generation.
//   - stop: all ranks publish their counts and end, with the reason in the word.
//
// Ranks read the word between blocks, and while they wait for room.
//
// # Trees
//
// A longer state is kept as a binary tree ([EncodingTree]). The leaves are equal parts of the
// state, 2 to 64 of them, of 32 to 64 bits. Parts, and pairs of references to nodes, are elements
// of 8 bytes in one [set.Elements], equal ones once. The root is a pair of references (31 and 32
// bits) in a [set.Set] of words:
//
//	state   | part 0 | part 1 | part 2 | part 3 |
//	nodes     r0       r1       r2       r3         references of parts
//	          r4 = (r0, r1)     r5 = (r2, r3)       references of pairs
//	root      (r4, r5)                              in the set of words
//
// A node has one reference wherever it occurs, so two states are equal exactly where their roots
// are, and the answer for the root is the answer for the state. Each rank keeps 16384 nodes with
// their references at hand and asks the table of nodes for the others alone. States differ from
// their predecessors in a few places, so most nodes are at hand, and nodes are far fewer than
// states. Where they are not, as with parts that are random numbers, a state of n words takes up
// to 2n nodes of 17 to 23 bytes, more than as an element: [EncodingElement] is for that, for
// states of more than 64 words, and for more than 2^31 nodes.
//
// # Layers
//
// One file is one layer. Calls run down this list, except that an answer about liveness calls Run:
//
//	explore.go      Run, its result, progress
//	options.go      Options, and whether all ranks have the same
//	liveness.go     after the search: is a finding still reached from every state
//	states.go       after the search: words for each state, and sweeps that change them
//	arcs.go         the arcs that sweeps remember
//	trace.go        after the search: a shortest way to a state
//	worker.go       the search of a rank: take a block, expand it, insert what it leads to
//	walk.go         random walks beside the search
//	coverage.go     how often each action was taken
//	commands.go     what all ranks do together: stop, save
//	checkpoint.go   the search in a file
//	memory.go       the budget
//	control.go      the window through which ranks agree: counters, levels, commands
//	model.go        Model, its contract, its findings
//	exchange.go     blocks for ranks without work
//	frontier.go     lists of a rank: states that wait, states inserted lately, the log
//	visited.go      the set of states: trees, fingerprints, elements, words
//	padded.go       trees of states that end in zeros
package explore
