//go:build !race && !invariants

package cache

// streamCalls is how long a stream can be.
const streamCalls = 60
