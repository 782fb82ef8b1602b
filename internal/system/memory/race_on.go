//go:build race

package memory

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = true
