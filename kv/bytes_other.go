//go:build !amd64 || race

package kv

import "sync/atomic"

// loadBytes fills to with what lies in words that others may write meanwhile. It may be any mixture
// of old and new words. What is loaded atomically afterwards is loaded later.
func loadBytes(to []byte, words []uint64) {
	for i := 0; len(to) > 0; i++ {
		to = storeWord(to, atomic.LoadUint64(&words[i]))
	}
}
