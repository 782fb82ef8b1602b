//go:build !amd64

package cache

// kernelRuns tells whether there is assembly for this machine.
const kernelRuns = false

func hashFlights(*kernelWork)   { panic("cache: no kernel") }
func glanceFlights(*kernelWork) { panic("cache: no kernel") }
func takeFlights(*kernelWork)   { panic("cache: no kernel") }
