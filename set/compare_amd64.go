package set

import "unsafe"

// compareAVX2 is compareLine for n flights whose home is the start of a line.
//
//go:noescape
func compareAVX2(flat *uint64, flights *elementFlight, n int)

func compareFlights(flat []uint64, flights []elementFlight) {
	compareAVX2(unsafe.SliceData(flat), unsafe.SliceData(flights), len(flights))
}
