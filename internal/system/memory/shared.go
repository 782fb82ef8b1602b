package memory

import "sync/atomic"

// StoreWords copies own words to memory that others may read at the same time. They may read any
// mixture of old and new words, and must verify what they have read.
func StoreWords(shared, own []uint64) {
	if !RaceEnabled {
		copy(shared, own)
		return
	}
	for i, word := range own {
		atomic.StoreUint64(&shared[i], word)
	}
}

// LoadWords copies from memory that others may write at the same time. The words may be any
// mixture of old and new ones, and must be verified.
func LoadWords(own, shared []uint64) {
	if !RaceEnabled {
		copy(own, shared)
		return
	}
	for i := range own {
		own[i] = atomic.LoadUint64(&shared[i])
	}
}
