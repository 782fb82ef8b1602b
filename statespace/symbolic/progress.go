package symbolic

import (
	"context"
	"math/big"
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is the time between calls of Config.Progress.
const progressEvery = 10 * time.Millisecond

// signal has workers attend to the end of the context, and now and then to Config.Progress. It
// returns what ends it.
func (s *Store) signal(every time.Duration) (end func()) {
	stop := context.AfterFunc(s.ctx, func() { s.crew.set(hasEnded, true) })
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
				s.crew.set(progressDue, true)
			}
		}
	}()
	return func() {
		stop()
		close(quit)
		<-done
	}
}

// report calls Config.Progress while no other worker runs.
func (w *worker) report() {
	w.alone(func() {
		if w.crew.signal.Load()&progressDue != 0 { // else another worker has done so
			w.progress(w.Store)
			w.crew.set(progressDue, false)
		}
	})
	if w.ctx.Err() != nil { // Progress may have waited for that
		w.crew.set(hasEnded, true)
		panic(stop{w.cause()})
	}
}

// front is how far Reach, ReachBy or ReachWithin has come. A list is complete when it has all that
// follows by transitions that begin at its level or below it.
type front struct {
	level atomic.Int64 // the first one of which a list is complete

	mu  sync.Mutex
	set Node // such a list, or by Loops what there is of a list at the level above: a root
	row *row // by Saturation: a list at the level above, which is open
}

// completed notes that a list at a level is complete.
func (f *front) completed(n Node, level int) {
	if f.level.Load() > int64(level) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.level.Load() > int64(level) {
			f.level.Store(int64(level))
			f.set, f.row = n, nil
		}
	}
}

// reached notes what there is of a list at a level.
func (f *front) reached(n Node, level int) { f.above(n, nil, level) }

// opened notes a row at a level. What is below its entries is complete.
func (f *front) opened(r *row, level int) { f.above(Empty, r, level) }

func (f *front) above(n Node, r *row, level int) {
	if f.level.Load() == int64(level)+1 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.level.Load() == int64(level)+1 {
			f.set, f.row = n, r
		}
	}
}

// end is called after an operation: what it has needed is no root any more.
func (f *front) end() { f.set, f.row = Empty, nil }

// Saturated is how many levels, from the last one up, the last Reach, ReachBy or ReachWithin has
// completed: a list of each, and all lists below it. Saturation and Loops come to these lists one
// after the other. Any goroutine may call it.
func (s *Store) Saturated() int { return s.levels - int(s.front.level.Load()) }

// Least is, in Config.Progress, how many vectors were found of the list that Saturated counts last,
// or of the one above it: Reach finds as many at least. Where nothing is known it is 0, as well as
// where the list has more than so many nodes, and after the end of the context of New.
func (s *Store) Least(nodes int) *big.Int {
	sets := []Node{s.front.set}
	if s.front.row != nil {
		sets = nil
		for _, e := range s.front.row.entries {
			sets = append(sets, e.down)
		}
	}
	sum, err := s.newWalk(nodes).count(sets...)
	if err != nil {
		return new(big.Int)
	}
	return sum
}
