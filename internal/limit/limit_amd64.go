package limit

// swapAhead does a compare-and-swap of flat[at[i]] for n numbers, and prefetches
// aheadWords before. at has as many numbers more.
//
//go:noescape
func swapAhead(flat, at *uint64, n int)

// readAhead adds up flat[at[i]] in the same way.
//
//go:noescape
func readAhead(flat, at *uint64, n int) uint64
