//go:build !amd64

package limit

import (
	"sync/atomic"
	"unsafe"
)

// swapAhead does a compare-and-swap of flat[at[i]] for n numbers. A load so many
// before takes the place of a prefetch. at has as many numbers more.
func swapAhead(flat, at *uint64, n, ahead int) {
	places := unsafe.Slice(at, n+ahead)
	sum := uint64(0)
	for i, place := range places[:n] {
		sum += atomic.LoadUint64(word(flat, places[i+ahead]))
		atomic.CompareAndSwapUint64(word(flat, place), 0, place+1)
	}
	atomic.StoreUint64(&loaded, sum)
}

func swapAheadWrite(flat, at *uint64, n, ahead int) { swapAhead(flat, at, n, ahead) }

// readAhead adds up flat[at[i]] for n numbers; loads do not wait for each other.
func readAhead(flat, at *uint64, n, _ int) uint64 {
	sum := uint64(0)
	for _, place := range unsafe.Slice(at, n) {
		sum += atomic.LoadUint64(word(flat, place))
	}
	return sum
}

func readAheadWrite(flat, at *uint64, n, ahead int) uint64 { return readAhead(flat, at, n, ahead) }

func word(flat *uint64, i uint64) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(flat), i*8))
}

// loaded keeps the loads of swapAhead from being left out.
var loaded uint64
