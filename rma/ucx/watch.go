//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"context"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/star"
)

// probeBeats is how many beats a rank may take to answer a probe.
const probeBeats = 2

// watch has UCX give up what is asked of ranks that are gone. Rank 0 tells who they are; when
// it is lost itself, this rank looks after the others by a get of a word, again and again.
type watch struct {
	job     *Job
	window  rma.Window
	queue   rma.Queue
	probes  []rma.Handle // by rank: the get in flight, or NoHandle
	words   rma.Buf
	stop    chan struct{}
	running sync.WaitGroup
}

// beginWatch begins to watch the others. Collective.
func (j *Job) beginWatch(ctx context.Context) error {
	window, err := j.NewWindow(ctx, rma.Spec{Name: "rma/ucx: presence", Words: 1})
	if err != nil {
		return err
	}
	j.watch = watch{job: j, window: window, stop: make(chan struct{})}
	w := &j.watch
	for range j.size {
		w.probes = append(w.probes, rma.NoHandle)
	}
	if w.queue, err = j.NewQueue(j.size); err == nil {
		w.words, err = w.queue.Alloc(j.size)
	}
	if err == nil {
		w.running.Go(w.run)
	}
	return err
}

func (w *watch) run() {
	for {
		fates, change := w.job.star.Fates()
		for rank, fate := range fates {
			if fate == star.Died {
				C.fh_lose(w.job.c, C.int(rank))
			}
		}
		var tick <-chan time.Time
		limit := probeBeats * w.job.star.Beat()
		due := time.Now().Add(limit)
		if w.job.star.Alone() {
			w.send(fates)
			tick = time.After(limit)
		}
		select {
		case <-change:
		case <-w.stop:
			return
		case <-tick:
			// If this process was stopped meanwhile, the others may have been as well.
			if time.Since(due) < limit {
				w.collect()
			}
		}
	}
}

// send sends a probe to every rank that has answered the last one.
func (w *watch) send(fates []star.Fate) {
	for rank := range w.probes {
		if rank == w.job.rank || fates[rank] != star.Here || C.fh_lost(w.job.c, C.int(rank)) != 0 {
			continue
		}
		if h := w.probes[rank]; h != rma.NoHandle {
			if !w.queue.Done(h) {
				continue
			}
			_, _ = w.queue.Value(h)
		}
		w.probes[rank] = w.queue.Get(w.words[rank:rank+1], w.window, rank, 0)
	}
	_ = w.queue.Submit() // what has not begun is not done when it should be
}

// collect loses the ranks that have not answered.
func (w *watch) collect() {
	for rank, h := range w.probes {
		if h != rma.NoHandle && !w.queue.Done(h) && !w.queue.Done(h) { // the second time it looks
			C.fh_lose(w.job.c, C.int(rank))
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
