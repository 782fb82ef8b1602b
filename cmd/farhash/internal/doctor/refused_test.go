package doctor

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestRefusedFlags: what makes no sense is wrong usage, says why, and neither starts nor writes
// anything.
func TestRefusedFlags(t *testing.T) {
	try.Refuses(t, [][2]string{
		{"unknown flag: --mpi-rnk\n", "doctor --mpi-rnk"},
		{"--json must be true or false", "doctor --json=perhaps"},
	})
}
