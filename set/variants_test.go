package set

import "github.com/farhash/farhash/internal/variant"

// Versions of a table that tests compare.
var (
	lineHomes = variant.Set{}
	wordHomes = variant.Set{WordHomes: true}
	eachHomes = [...]variant.Set{lineHomes, wordHomes}
)

// operations is the number of operations counted.
func operations(s Stats) uint64 { return s.Inserted + s.Found + s.NotFound + s.Full }

// roundTrips is what OP Table 1 counts: chunks that an operation needed.
func roundTrips(s Stats) uint64 { return operations(s) + s.ExtraChunks }

// by is the version that searches batches by a kernel.
func by(k kernel) variant.Set { return variant.Set{Kernel: string(k)} }
