//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/rmatest"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// hangGuard ends what would never end, by the time of patience. No test that passes comes near it.
const hangGuard = time.Minute

// never is the timeout of ranks whose wait a context ends.
const never = time.Hour

// testToken is the token of all jobs of the tests.
const testToken = "token of the tests"

// together runs fn on all ranks of a job, each with a worker of UCX of its own, in this
// process. It is a rmatest.Starter, except for the mode.
func together(t testing.TB, ranks, hosts int, hidden bool, p overrides,
	fn func(job rma.Job) error) error {
	t.Helper()
	address := twohosts.FreeAddress(t)
	ctx, cancel := patience.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	return rmatest.Together(ranks, func(rank int) error {
		p := p
		p.host = fmt.Sprint("host ", rank%hosts)
		job, err := joinAs(ctx, Config{Rank: rank, Size: ranks, Rendezvous: address,
			Token: testToken, Timeout: never, Hidden: hidden}, p)
		if err != nil {
			return err
		}
		return errors.Join(fn(job), job.Close())
	})
}

func TestConformance(t *testing.T) {
	for _, mode := range []struct {
		name           string
		hidden         bool
		hosts          int
		atomics        atomicsMode
		oversubscribed bool
	}{
		{"UCX only", true, 1, incoherent, false}, {"two hosts", false, 2, coherent, false},
		{"two oversubscribed hosts without processor atomics", false, 2, incoherent, true},
		{"one host", false, 1, coherent, false},
	} {
		t.Run(mode.name, func(t *testing.T) {
			if testing.Short() && mode.name != "two hosts" {
				t.Skip("one mode has to do")
			}
			rmatest.Test(t, func(ranks int, fn func(job rma.Job) error) error {
				return together(t, ranks, mode.hosts, mode.hidden, overrides{
					transports: transports, atomics: mode.atomics,
					oversubscribed: mode.oversubscribed, hasty: true}, fn)
			})
		})
	}
}

// The litmus test distinguishes coherent atomics from others, and refuses no network for it.
func TestLitmus(t *testing.T) {
	err := together(t, 2, 2, true, overrides{transports: transports},
		func(job rma.Job) error { return job.Barrier(t.Context()) })
	if err != nil {
		t.Errorf("hidden: %v", err)
	}
	for _, careless := range []bool{false, true} {
		for _, ranks := range []int{2, 3} {
			err := together(t, ranks, 2, false, overrides{transports: transports,
				careless: careless}, func(job rma.Job) error {
				w, err := job.NewWindow(t.Context(), rma.Spec{Name: "litmus", Words: 1})
				if err == nil && w.CPUAtomicsCoherent() == careless {
					err = fmt.Errorf("coherent: %v", !careless)
				}
				return err
			})
			if err != nil {
				t.Errorf("%d ranks, careless %v: %v", ranks, careless, err)
			}
		}
	}
}
