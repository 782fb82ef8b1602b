package limit

// swapAhead does a compare-and-swap of flat[at[i]] for n numbers, and prefetches
// so many before. at has as many numbers more.
//
//go:noescape
func swapAhead(flat, at *uint64, n, ahead int)

// swapAheadWrite does the same with PREFETCHW.
//
//go:noescape
func swapAheadWrite(flat, at *uint64, n, ahead int)

// readAhead adds up flat[at[i]] in the same way.
//
//go:noescape
func readAhead(flat, at *uint64, n, ahead int) uint64

// readAheadWrite does the same with PREFETCHW.
//
//go:noescape
func readAheadWrite(flat, at *uint64, n, ahead int) uint64
