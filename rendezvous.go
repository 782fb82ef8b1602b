package farhash

import (
	"context"
	"fmt"
	"os"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/ucx"
)

// joinUCX joins a job whose ranks connect by TCP, at the rendezvous in the environment.
func joinUCX(ctx context.Context, m launch.Membership, o options) (rma.Job, error) {
	r, err := launch.DetectRendezvous()
	if err != nil {
		return nil, fmt.Errorf("farhash: %s=ucx: %w", EngineVariable, err)
	}
	if text := launch.TokenWarning(""); text != "" && m.Rank == 0 {
		fmt.Fprintln(os.Stderr, "farhash: warning:", text)
	}
	return ucx.Join(ctx, ucx.Config{Rank: m.Rank, Size: m.Size, Rendezvous: r.Address,
		Token: r.Token, Timeout: o.timeout, Silence: o.lost, Hidden: o.oneSided})
}
