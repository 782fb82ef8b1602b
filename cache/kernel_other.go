//go:build !amd64

package cache

// kernelRuns says whether there is assembly for this machine.
const kernelRuns = false

func hashFlights(*kernelWork)    { panic("cache: no kernel") }
func advanceFlights(*kernelWork) { panic("cache: no kernel") }
func takeFlights(*kernelWork)    { panic("cache: no kernel") }
