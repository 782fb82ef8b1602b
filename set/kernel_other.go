//go:build !amd64

package set

// vectorKernels lists the kernels in assembly: there are none here.
func vectorKernels() []kernel { return nil }

func thisProcessor() tuning { return tuning{} }

func search(kernel, *kernelWork, bool) { panic("set: no kernel") }

func (f *firstLine) insert(uint64) end { panic("set: no kernel") }

// compareFlights is never called where there are no kernels.
func compareFlights([]uint64, []elementFlight) { panic("set: no kernel") }

func searchShort(*elementWork) { panic("set: no kernel") }
