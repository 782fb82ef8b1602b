package run

import (
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestRefusedFlags: what makes no sense is wrong usage, says why, and neither starts nor writes
// anything.
func TestRefusedFlags(t *testing.T) {
	try.Refuses(t, [][2]string{
		{"--timeout-lost must be positive", "run -n 1 --timeout-lost -1s -- true"},
		{"--timeout must be positive", "run -n 1 --timeout -1s -- true"},
		{"need --rendezvous HOST:PORT", "run -n 1 --node-rank 1 -- true"},
		{"need --rendezvous HOST:PORT", "run -n 1 --token-file TEXT -- true"},
		{"must be 0 to --nnodes minus 1, not -1 of 2",
			"run -n 1 --rendezvous h:80 --nnodes 2 --node-rank -1 -- true"},
		{"--nnodes must be 1 to 65536, not 65537",
			"run -n 1 --rendezvous h:80 --nnodes 65537 -- true"},
		{"the port must be 1 to 65535", "run -n 1 --rendezvous h:0 -- true"},
		{"is no HOST:PORT", "run -n 1 --rendezvous h: -- true"},
	})
}
