//go:build ucx && cgo

package ucx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/internal/testkit/twohosts"
)

// A process joins one job after the other at one rendezvous, but not the next one before it has
// closed the last: that is an error at once.
func TestJoinTwice(t *testing.T) {
	address := twohosts.FreeAddress(t)
	err := rmatest.Together(3, func(rank int) error {
		cfg := Config{Rank: rank, Size: 3, Rendezvous: address, Token: testToken,
			Timeout: never, Hidden: true}
		p := overrides{transports: transports, atomics: coherent, host: fmt.Sprint(rank)}
		for range 4 {
			job, err := joinAs(t.Context(), cfg, p)
			if err != nil {
				return err
			}
			_, err = joinAs(t.Context(), cfg, p)
			if !strings.Contains(fmt.Sprint(err), "already; close that job first") {
				t.Errorf("rank %d, twice: %v", rank, err)
			}
			if err := job.Barrier(t.Context()); err != nil {
				return err
			}
			if err := job.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
