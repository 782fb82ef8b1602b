//go:build !linux

package replace

// jointFlags are for Linux.
func jointFlags(string) int { return 0 }
