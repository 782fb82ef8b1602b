// Package variant has choices between versions of a table that give the same answers. Experiments
// compare them, and users need not know of them: a configuration takes them from packages of this
// module alone.
package variant

// Set is a version of a set.
type Set struct {
	// WordHomes has searches begin at any bucket, as in paper OP, and not at cache lines. Every
	// rank chooses the same.
	WordHomes bool
	// Kernel is the loop for batches over memory; empty: the fastest that runs here.
	Kernel string
}
