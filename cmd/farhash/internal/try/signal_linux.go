package try

import (
	"slices"
	"syscall"
	"testing"
)

// Send sends a signal to a process.
func Send(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Errorf("%v to %d: %v", s, pid, err)
	}
}

// PIDOf is the process of a rank of a job that has begun.
func (c *Command) PIDOf(number int) int {
	ranks := c.Ranks()
	i := slices.IndexFunc(ranks, func(r Rank) bool { return r.Number == number })
	if i < 0 {
		c.t.Fatalf("rank %d is not among %v", number, ranks)
	}
	return ranks[i].PID
}
