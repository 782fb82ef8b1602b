//go:build race

package index

// slow: the race detector makes everything slow.
const slow = true
