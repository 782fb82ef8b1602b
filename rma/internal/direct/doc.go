// Package direct is what the engines share whose windows are plain memory of
// this process: a [Window] over one slice, a [Queue] that works on it with CPU
// atomics, and a [Group] for the collective calls of ranks.
//
// A queue defers everything to Submit, though it could act at once, so that a
// protocol that forgets to submit or to wait fails here and not on a network.
//
// A Group is a block of words that all ranks map, 16 words for each rank:
//
//	word 0      state: absent, joined, left, failed
//	word 1      barriers arrived at
//	words 2-8   values of an exchange, even rounds
//	words 9-15  values of an exchange, odd rounds
//
// Only its rank writes a word (rma/local also marks failed ranks). A rank is
// never more than one barrier ahead of another, so two banks of values are
// enough: a rank writes a bank again only after a barrier at which all ranks had
// arrived, and so had read it. A rank that gives up waiting at a barrier is out of
// step, so it takes part in no later one.
package direct
