//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/tree"
)

// watch has UCX give up operations on ranks that are gone. Rank 0 reports which these are. When
// rank 0 is lost itself, this rank pings the others: by a get of a word, repeatedly. One that does
// not answer for as long as a rank may be silent is lost.
type watch struct {
	job     *member
	window  atomic.Pointer[window]
	queue   rma.Queue    // made when rank 0 is lost
	pings   []rma.Handle // by rank: the get in flight, or NoHandle
	words   rma.Buf
	stop    chan struct{}
	running sync.WaitGroup
}

// begin begins to watch the others.
func (w *watch) begin(j *member) {
	*w = watch{job: j, stop: make(chan struct{})}
	w.running.Go(w.run)
}

// present makes the window with the words that others get. Collective. It is hidden, as a read of
// shared memory succeeds whether its owner is alive or not.
func (w *watch) present(ctx context.Context) error {
	made, err := w.job.newWindow(ctx, rma.Spec{Name: "rma/ucx: presence", Words: 1}, true)
	if err == nil {
		w.window.Store(made)
	}
	return err
}

func (w *watch) run() {
	for {
		_, change := w.job.tree.States()
		w.giveUpEnded()
		var due <-chan struct{}
		if w.job.tree.Alone() && w.ready() {
			w.send()
			due = w.job.tree.AfterSilence()
		}
		select {
		case <-change:
		case <-w.stop:
			return
		case <-due:
			w.collect()
		}
	}
}

// giveUpEnded has UCX give up the ranks whose connections to rank 0 have ended. When all have left,
// they end at different times.
func (w *watch) giveUpEnded() {
	states, _ := w.job.tree.States()
	for rank, state := range states {
		if w.job.tree.Ended(rank) && (!w.job.closing.Load() || state != tree.Left) {
			C.fu_lose(w.job.c, C.int(rank))
		}
	}
}

// ready makes the queue for pings.
func (w *watch) ready() bool {
	if w.queue != nil || w.window.Load() == nil {
		return w.queue != nil
	}
	q, err := w.job.NewQueue(w.job.size)
	if err != nil {
		return false
	}
	if w.words, err = q.Alloc(w.job.size); err != nil {
		_ = q.Close()
		return false
	}
	w.queue, w.pings = q, slices.Repeat([]rma.Handle{rma.NoHandle}, w.job.size)
	return true
}

// send pings every rank that has answered the last ping.
func (w *watch) send() {
	for rank := range w.pings {
		if rank == w.job.rank || C.fu_lost(w.job.c, C.int(rank)) != 0 {
			continue
		}
		if h := w.pings[rank]; h != rma.NoHandle {
			if !w.queue.Done(h) {
				continue
			}
			_, _ = w.queue.Value(h)
		}
		w.pings[rank] = w.queue.Get(w.words[rank:rank+1], w.window.Load(), rank, 0)
	}
	_ = w.queue.Submit() // a ping that was not submitted is not answered in time
}

// collect marks the ranks as lost that have not answered.
func (w *watch) collect() {
	for rank, h := range w.pings {
		if h != rma.NoHandle && !w.queue.Done(h) && !w.queue.Done(h) { // the second makes progress
			C.fu_lose(w.job.c, C.int(rank))
		}
	}
}

// end ends the watch, before UCX ends.
func (w *watch) end() {
	if w.stop != nil {
		close(w.stop)
		w.running.Wait()
	}
}

// close gives up the queue, after that.
func (w *watch) close() {
	if w.queue != nil {
		_ = w.queue.Close()
	}
}
