// Package variant has choices between versions of a table that give the same answers. Experiments
// compare them, and users need not know of them: they come with the context in which a table is
// made.
package variant

import "context"

// Set is a version of a set.
type Set struct {
	// WordHomes has searches begin at any bucket, as in paper OP, and not at cache lines. Every
	// rank chooses the same.
	WordHomes bool
	// Kernel is the loop for batches over memory; empty: the fastest that runs here.
	Kernel string
}

type setKey struct{}

// WithSet is ctx with a version of the sets that are made with it.
func WithSet(ctx context.Context, s Set) context.Context {
	return context.WithValue(ctx, setKey{}, s)
}

// SetOf is the version that WithSet has put into ctx.
func SetOf(ctx context.Context) (s Set, given bool) {
	s, given = ctx.Value(setKey{}).(Set)
	return s, given
}
