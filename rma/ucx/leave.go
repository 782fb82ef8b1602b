//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"time"

	"github.com/farhash/farhash/internal/system/backoff"
)

// abandonGrace is how long a rank that has failed waits for the others.
const abandonGrace = 5 * time.Second

// Close leaves the job. It waits until all others have left or died: until then they may
// use this rank's memory.
func (j *member) Close() error {
	if !j.p.hasty {
		return j.leave(context.Background(), -1)
	}
	if !j.closing.Load() {
		go func() { _ = j.leave(context.Background(), -1) }()
		for !j.closing.Load() {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// Abandon is Close for a rank that has failed: it waits for the others only for a while. If it has
// lost a rank, that is why, and the others blame that one.
func (j *member) Abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonGrace)
	defer cancel()
	return j.leave(ctx, j.missed())
}

// fail ends a job that could not be joined. The others may need rank 0 to learn who is lost, so the
// job is abandoned.
func (j *member) fail() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonGrace)
	defer cancel()
	_ = j.depart(ctx, j.missed()) // the error of Join says more
	j.end(false)
}

// leave leaves because of a rank that is lost, or in good order where that is below 0.
func (j *member) leave(ctx context.Context, missed int) error {
	if j.closing.Swap(true) {
		return nil
	}
	err := j.depart(ctx, missed)
	j.end(err == nil)
	if err != nil {
		return fmt.Errorf("rma/ucx: %w", err)
	}
	return nil
}

// depart announces to the others that this rank leaves, as leave says, and waits until they have
// left.
func (j *member) depart(ctx context.Context, missed int) error {
	j.closing.Store(true)
	if j.c != nil {
		C.fu_filter_log(1)
		j.settle()
	}
	if missed < 0 {
		j.tree.Leave()
	} else {
		j.tree.GiveUp(missed)
	}
	err := j.tree.AwaitOthers(ctx)
	if err == nil {
		time.Sleep(linger)
	}
	return err
}

// linger is the time for messages that UCX still has to send when all have left: see fu_close.
const linger = 20 * time.Millisecond

// settleLimit bounds the wait for a rank to which UCX connects and that is neither lost nor
// connected.
const settleLimit = 2 * time.Second

// settle waits until UCX connects to no rank: while it does, UCX cannot end at the other side, see
// fu_close.
func (j *member) settle() {
	var pace backoff.Backoff
	for limit := time.Now().Add(settleLimit); C.fu_settled(j.c) == 0 &&
		time.Now().Before(limit); {
		pace.Pause()
	}
}

// end gives everything back, except what UCX keeps where ranks were lost.
func (j *member) end(inOrder bool) {
	j.closing.Store(true)
	j.mu.Lock() // collective calls under way have ended, as this rank leaves
	defer j.mu.Unlock()
	j.inbox.End() // a handler under way may use memory of others, which are watched
	j.watch.end()
	j.owner.End()
	if j.c != nil {
		if !inOrder {
			C.fu_strand(j.c)
		}
		C.fu_close(j.c)
	}
	j.watch.close()
	for _, w := range j.windows {
		_ = w.release()
	}
	j.windows = nil
	_ = j.near.Close()
	j.tree.Close()
	places.Delete(j.place)
}
