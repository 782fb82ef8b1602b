//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"runtime"

	"github.com/farhash/farhash/rma/internal/neighbours"
)

// protocolVersion changes with the messages between ranks of this package.
const protocolVersion = 4

// shareHosts finds out which ranks are on this host, and has them share memory. Collective.
func (j *member) shareHosts(ctx context.Context, cfg Config) error {
	near, err := neighbours.Find(ctx, j, j.rank, neighbours.Self{Engine: "ucx",
		Version: protocolVersion, Hidden: cfg.Hidden, Host: j.p.host})
	if err != nil {
		return err
	}
	j.near = near
	j.owner.Share = (len(near.Ranks)-1)/runtime.NumCPU() + 1
	if cfg.Hidden {
		return nil
	}
	if j.p.dies {
		j.tree.Close()
		return errors.New("a test has this rank die")
	}
	within, cancel := j.untilGone(ctx)
	defer cancel()
	err = near.InWorld(near.Share(within, cfg.Timeout))
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = context.Cause(within)
	}
	_, err = j.share(ctx, "sharing memory within hosts", nil, err)
	return err
}

// untilGone is a context that ends as well when a rank is gone, or this one leaves: a rank of this
// host that is out of step for that reason does not come, and does not report it within the host.
func (j *member) untilGone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			_, change := j.tree.States()
			if gone := j.tree.Gone(); gone != nil {
				cancel(gone)
			}
			if j.closing.Load() {
				cancel(errClosed)
			}
			select {
			case <-change:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// onOneHost is a job whose ranks all share memory: the windows come from rma/shm and
// outlive the rank that made them.
type onOneHost struct {
	neighbours.OneHostJob
	ucx *member
}

// Close leaves the job. It does not wait, except that rank 0 stays until all have begun.
func (o *onOneHost) Close() error {
	err := o.Job.Close()
	if !o.ucx.closing.Swap(true) {
		o.ucx.tree.Leave()
		o.ucx.end(true)
	}
	return err
}
