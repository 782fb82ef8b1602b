package tables

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestRefusedFlags: what makes no sense is wrong usage, says why, and neither starts nor writes
// anything.
func TestRefusedFlags(t *testing.T) {
	try.Refuses(t, [][2]string{
		{"tables takes one DIR, but also", "tables /dev/shm /tmp"},
		{"NAME is missing", "check"},
		{"check takes one NAME, but also", "check a b"},
	})
}
