//go:build !amd64

package memory

import "sync/atomic"

// Prefetch loads the given words for their lines' sake; of the lines after them it knows
// nothing.
func Prefetch(at []*uint64, _ int) {
	for _, p := range at {
		atomic.LoadUint64(p)
	}
}

// PrefetchWrite does nothing.
func PrefetchWrite(*uint64) {}
