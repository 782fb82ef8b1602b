package explore

import (
	"context"
	"slices"
	"sync"
	"time"
)

// WithProgressEvery is o with another time than a second between calls of Progress.
func (o Options) WithProgressEvery(interval time.Duration) Options {
	o.progressEvery = interval
	return o
}

// SearchCount is how many searches from a single state the answer took.
func (l *Liveness) SearchCount() int { return l.searches }

// RoomForArcs limits the bytes that this rank takes for arcs.
func (s *States) RoomForArcs(bytes uint64) { s.arcs.room = min(s.arcs.room, bytes) }

// Hand is where ranks of one process put their states, to be dealt.
type Hand struct {
	mu    sync.Mutex
	tasks []uint64
}

// Deal gives the states of a small search to the ranks in turn, as a large one does by itself.
// Collective, before Open.
func (s *States) Deal(ctx context.Context, h *Hand) error {
	log := s.worker.log
	h.mu.Lock()
	for i := range log.n {
		h.tasks = append(h.tasks, log.task(i))
	}
	h.mu.Unlock()
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	all := slices.Sorted(slices.Values(h.tasks))
	s.worker.log = newLevelLog()
	for i := s.job.Rank(); i < len(all); i += s.job.Size() {
		s.worker.log.add(all[i])
	}
	return log.close()
}
