//go:build !amd64

package cache

import (
	"sync/atomic"
	"unsafe"
)

// prefetch loads each of n words for its line's sake.
func prefetch(at **uint64, n, _ int) {
	for _, p := range unsafe.Slice(at, n) {
		atomic.LoadUint64(p)
	}
}
