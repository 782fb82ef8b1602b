//go:build !race

package memory

// RaceEnabled tells whether the race detector is on.
const RaceEnabled = false
