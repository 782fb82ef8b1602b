package explore

import (
	"context"
	"time"
)

// startProgress calls Options.Progress on rank 0 until the returned function is
// called. Every number is read by one-sided operations; no rank is asked.
func (s *search) startProgress(ctx context.Context) (stop func()) {
	if s.opts.Progress == nil || s.job.Rank() != 0 {
		return func() {}
	}
	plan := s.plan()
	s.opts.Progress(Snapshot{Plan: plan})
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(s.opts.Every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if shot, err := s.snapshot(ctx); err == nil {
					shot.Plan = plan
					s.opts.Progress(shot)
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// snapshot reads the counters of all ranks.
func (s *search) snapshot(ctx context.Context) (Snapshot, error) {
	shot := Snapshot{Elapsed: time.Since(s.started), Bytes: s.table.bytes.Load()}
	states, err := s.control.states(ctx)
	if err != nil {
		return shot, err
	}
	shot.States = states
	shot.LoadFactor = float64(states) / float64(s.table.buckets.Load())
	if shot.Arcs, err = s.control.Sum(ctx, cellArcs); err != nil {
		return shot, err
	}
	heap, err := s.control.Sum(ctx, cellHeapBytes)
	if err != nil {
		return shot, err
	}
	shot.Bytes += heap
	level, err := s.control.Load(ctx, 0, cellLevel)
	shot.Level = level &^ levelEnd
	return shot, err
}
