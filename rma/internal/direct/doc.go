// Package direct is what the engines share whose windows are plain memory of
// this process: a [Window] over one slice, a [Queue] that works on it with CPU
// atomics, and a [Group] that lets ranks meet.
//
// A queue defers everything to Submit, though it could act at once, so that a
// protocol that forgets to submit or to wait fails here and not on a network.
//
// A Group is a block of words that all ranks map, one line of 16 words each:
//
//	word 0      state: absent, joined, left, failed
//	word 1      barriers arrived at
//	words 2-8   values of an exchange, even rounds
//	words 9-15  values of an exchange, odd rounds
//
// Each word is written by its rank alone (a local engine also marks failed
// ranks). A rank is never more than one barrier ahead of another, so two banks
// of values are enough: a rank writes a bank again only after a barrier at which
// everybody had arrived, hence had read it. A rank that gives up waiting at a
// barrier would be out of step, so it never comes to another one.
package direct
