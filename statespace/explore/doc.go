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
// Package petri/packing makes models of Petri nets, package check models of Go programs. [Options]
// ask for more:
//
//   - Trace and TraceEach: shortest ways to states.
//   - Walk: a share of the time goes to random walks, if the expander is a [Walker].
//   - Coverage: how often each action was taken, if the expander is a [Namer].
//   - Live: whether from every state a state is reached that shows a finding.
//   - After: the [States] of a complete search, with words for each, and sweeps that change them.
//   - Checkpoint: the search is saved to a file, and continued by any number of ranks.
//   - Encoding: words, trees, elements or fingerprints. A search with [EncodingFingerprint] keeps
//     63 bits of a hash of each state. It may miss states, with the probability Result.Missed:
//     5e-8 for a million states, 0.05 for a billion.
//   - Access: whether batches are shipped between hosts ([rma.Access]).
//
// # Guarantees
//
//   - Counts of a complete result are exact, and the same for every number of ranks, order,
//     encoding and engine. Depth and trace are as of breadth first search. With fingerprints a
//     state may be missed.
//   - Liveness is certain if it is known. It is asked of complete searches alone.
//   - A result that is not complete says so and why. It counts the states that were found before
//     the search stopped.
//   - Every rank gets the same result. If a model fails, panics or breaks its contract on one
//     rank, every rank gets an error that says which. If its packing was too small, every rank
//     gets an *OverflowError.
//   - If a rank is lost the others do not hang: they end with [RankLost], and the result names the
//     rank, its host and the checkpoint to resume from. If the engine keeps the memory of the
//     rank, and the rank died after its last state, the result is complete.
//   - A cancelled context of any rank ends the search on all ranks, between blocks.
//
// # Limits
//
// A model has 1 to 512 words of 64 bits a state. There are at most 2^36 states that are kept as
// elements, and 2^31 nodes of trees. One rank expands a state, and a block of 128: a level below
// some hundred states keeps few ranks busy. Ranks on several hosts need a folder that they share
// for checkpoints.
//
// [Options].Mem is for everything: table, arenas, frontier, log, and 48 MiB (at most a quarter)
// for the program. With [Options].MemWhole the program gets as much as it takes: the memory of
// each process is measured when the search begins, and its resident memory stays within Mem. An
// error says how much is needed if that is too little. Not in the plan is memory that a model
// allocates while it expands; nor is a batch while it grows, if a state has half as many
// successors again as any before. Without MemWhole, budgets of less than about 64 MiB are below
// the need of the program itself. Each rank takes about 0.4 MiB beside the plan, and a Go runtime
// if it is a process.
//
// If memory is full the search stops with [MemoryFull], and Result.NeedMem says what to try next.
// On several hosts each rank has its share. [Plan] says how many states fit.
//
// DESIGN.md describes how ranks share the work, how they agree without a coordinator, and how the
// questions after a search are answered.
package explore
