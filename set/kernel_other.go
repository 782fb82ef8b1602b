//go:build !amd64

package set

// vectorKernels lists the kernels in assembly: there are none here.
func vectorKernels() []kernel { return nil }

func search(kernel, *kernelWork) { panic("set: no kernel") }

func (f *firstLine) insert(uint64) Result { panic("set: no kernel") }

// compareFlights is never called where there are no kernels.
func compareFlights([]uint64, []elementFlight) { panic("set: no kernel") }
