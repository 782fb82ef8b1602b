//go:build amd64 && !race

package kv

import "unsafe"

// loadBytes fills to with what lies in words that others may write meanwhile. It may be any mixture
// of old and new words. What is loaded afterwards is loaded later: this processor loads in order.
func loadBytes(to []byte, words []uint64) {
	copy(to, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words)))
}
