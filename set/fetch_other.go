//go:build !amd64

package set

import "sync/atomic"

// fetchBuckets loads the given words of flat for their lines' sake.
func fetchBuckets(flat, at []uint64) {
	for _, i := range at {
		atomic.LoadUint64(&flat[i])
	}
}
