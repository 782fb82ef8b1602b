//go:build !amd64

package cache

// hasKernel says whether there is assembly for this machine.
const hasKernel = false

func hashFlights(*kernelWork)    { panic("cache: no kernel") }
func advanceFlights(*kernelWork) { panic("cache: no kernel") }
func takeFlights(*kernelWork)    { panic("cache: no kernel") }
