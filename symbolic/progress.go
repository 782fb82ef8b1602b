package symbolic

import (
	"context"
	"math/big"
	"time"
)

// progressEvery is the time between calls of Config.Progress.
const progressEvery = 10 * time.Millisecond

// call has operations call attend when the context ends, and now and then. It returns what ends it.
func (s *Store) call(every time.Duration) (end func()) {
	stop := context.AfterFunc(s.ctx, func() { s.called.Store(true) })
	if s.progress == nil {
		return func() { stop() }
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				s.called.Store(true)
			}
		}
	}()
	return func() {
		stop()
		close(quit)
		<-done
	}
}

// attend ends the operation if the context has ended, and calls Config.Progress.
func (s *Store) attend() {
	s.attended.Lock()
	defer s.attended.Unlock()
	if !s.called.Load() {
		return // another goroutine has done so
	}
	if s.ctx.Err() == nil && s.progress != nil {
		s.progress(s)
	}
	if s.called.Store(false); s.ctx.Err() != nil {
		s.called.Store(true)
		panic(stop{s.cause()})
	}
}

// Saturated is, in Config.Progress while Reach runs by Saturation or Loops, how many levels from
// the last one up are done: what their transitions make of the first vector was found.
func (s *Store) Saturated() int { return s.levels - s.run.level }

// Least is how many vectors were found of the first level that is not done, and those below it:
// Reach finds as many at least. Where nothing is known it is 0. It takes time, as Count does.
func (s *Store) Least() *big.Int {
	if s.run.above != Empty {
		return s.Count(s.run.above)
	}
	sum := new(big.Int)
	if open := s.run.level - 1; open >= 0 && open < s.openRows {
		for _, e := range s.rows[open].entries {
			sum.Add(sum, s.Count(e.down))
		}
	}
	return sum
}
