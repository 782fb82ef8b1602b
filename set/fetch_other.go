//go:build !amd64

package set

import "sync/atomic"

// fetchHomes computes the home of each word and loads its bucket, so that the
// line is there when it is needed: independent loads overlap.
func fetchHomes(t *table, words, homes []uint64) {
	for i, word := range words {
		homes[i] = t.home(hashWord(word))
	}
	fetchBuckets(t.flat, homes)
}

// fetchBuckets loads the given words of flat for their lines' sake.
func fetchBuckets(flat, at []uint64) {
	for _, i := range at {
		atomic.LoadUint64(&flat[i])
	}
}
