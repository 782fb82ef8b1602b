//go:build !amd64

package cache

// hasKernel and kernelRuns say whether there is assembly for this machine.
const hasKernel, kernelRuns = false, false

func hashFlights(*kernelWork)    { panic("cache: no kernel") }
func advanceFlights(*kernelWork) { panic("cache: no kernel") }
func takeFlights(*kernelWork)    { panic("cache: no kernel") }
