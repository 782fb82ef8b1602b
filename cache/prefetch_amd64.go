package cache

// prefetch asks the memory for some lines from each of n words on.
//
//go:noescape
func prefetch(at **uint64, n, lines int)
