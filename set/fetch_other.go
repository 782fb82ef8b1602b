//go:build !amd64

package set

import "sync/atomic"

// fetch loads the given words for their lines' sake.
func fetch(at []*uint64) {
	for _, p := range at {
		atomic.LoadUint64(p)
	}
}
