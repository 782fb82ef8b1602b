package explore

import (
	"context"
	"fmt"
	"slices"

	"github.com/farhash/farhash/internal/system/memory"
)

// sweeper takes a rank through the states that it has logged, for what is found out about them
// after the search. The states at hand are those that it works on together.
type sweeper struct {
	*search
	Expander
	marker Marker // the expander, where arcs are marked; else nil
	buffers
	work worklist

	index  []int    // where the log has the states at hand
	tasks  []uint64 // the tasks of the states at hand
	states []uint64 // the states at hand, packed
	out    []uint64 // the successors of some of the states at hand
	marks  []uint64 // the marks of the arcs that lead to out, if arcs are marked
	ends   []int    // where the successors of each of these states end, in states of out
	names  []uint64 // the names of the states in out
}

// begin makes room: the frontier is not needed any more.
func (s *sweeper) begin() (err error) {
	s.buffers, s.work = s.worker.buffers, newWorklist(s.worker.log.n)
	if err = s.worker.pool.slabs.close(); err == nil {
		s.Expander, err = s.anotherExpander()
	}
	s.worker.pool = pool{}
	return err
}

// taken adds up over all ranks the bytes that a sweep takes, with the tables and so many more
// bytes beside it, and the states in the logs. Collective.
func (s *sweeper) taken(ctx context.Context, more uint64, failure error) (bytes, states uint64,
	err error) {
	log := s.worker.log
	more += log.bytes() + worklistBytes(log.n) + s.buffers.bytes(s.words, 1, s.spare)
	if failure == nil && s.job.Rank() == 0 {
		tables, err := s.tables(ctx)
		more, failure = more+tables, err
	}
	ofBytes, ofStates, err := s.sharePair(ctx, more, uint64(log.n), failure)
	return sum(ofBytes), sum(ofStates), err
}

// tooLittle says that the memory is not enough, as so many bytes are needed for states.
func (s *sweeper) tooLittle(purpose string, states uint64) string {
	return fmt.Sprintf("%s is not enough%s; try %s or more", memory.Format(s.budget.mem), purpose,
		memory.Format(2*max(states, s.budget.states)+s.budget.mem-s.budget.states))
}

// load loads the states at hand.
func (s *sweeper) load(ctx context.Context) error {
	s.tasks = s.tasks[:0]
	for _, i := range s.index {
		s.tasks = append(s.tasks, s.worker.log.task(i))
	}
	s.states = grown(s.states, len(s.tasks)*s.words)
	return s.visited.load(ctx, s.tasks, s.states)
}

// grown is a slice of some length, whose content does not matter.
func grown[T any](list []T, n int) []T { return slices.Grow(list[:0], n)[:n] }

// expand names the successors of states at hand, from one on, until a batch is full or none is
// left.
func (s *sweeper) expand(from int) (err error) {
	s.out, s.marks, s.ends = s.out[:0], s.marks[:0], s.ends[:0]
	if err := s.expandSome(from); err != nil {
		return err
	}
	s.names = grown(s.names, len(s.out)/s.words)
	return s.visited.names(s.out, s.names)
}

func (s *sweeper) expandSome(from int) (err error) {
	defer s.recoverPanic(&err)
	n := s.words
	for i := from; i < len(s.index) && len(s.out) < s.full*n; i++ {
		s.out, s.marks, err = s.expandMarked(s.states[i*n:][:n:n], s.out, s.marks)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, len(s.out)/n)
	}
	return nil
}

// expandMarked is Marker.ExpandMarked; without marks where there is no marker.
func (s *sweeper) expandMarked(state, out, marks []uint64) (_, _ []uint64, err error) {
	if s.marker != nil {
		return s.marker.ExpandMarked(state, out, marks)
	}
	out, err = s.Expand(state, out)
	return out, marks, err
}

// worklist has the states of a log that a sweep still has to visit, by their places in the log. A
// sweep goes through the log. A state that is added after the sweep has passed it comes again in
// the end: of these the last one comes first.
type worklist struct {
	open  []uint64 // a bit for each state: it is on the list
	n     int      // states of the log
	up    bool     // the sweep goes through the log from its beginning
	at    int      // so many states of the log the sweep has passed
	queue []uint32 // states that were added after the sweep had passed them
}

// newWorklist has all states of a log on the list. It takes worklistBytes.
func newWorklist(n int) worklist {
	return worklist{n: n, open: slices.Repeat([]uint64{^uint64(0)}, n/64+1)}
}

func worklistBytes(n int) uint64 { return uint64(n/64+1) * 8 }

// Reset begins a sweep of the states that are on the list, or of all. Sweeps take turns in
// direction, unless this one is to go downwards.
func (w *worklist) Reset(all, down bool) {
	for i := 0; all && i < len(w.open); i++ {
		w.open[i] = ^uint64(0)
	}
	w.up, w.at, w.queue = !w.up && !down, 0, w.queue[:0]
}

// Has reports whether a state is on the list.
func (w *worklist) Has(i int) bool { return w.open[i/64]>>(i%64)&1 != 0 }

// Add has a state visited again, unless its visit is still to come.
func (w *worklist) Add(i int) {
	if passed := w.up && i < w.at || !w.up && i >= w.n-w.at; passed && !w.Has(i) {
		w.queue = append(w.queue, uint32(i))
	}
	w.open[i/64] |= 1 << (i % 64)
}

// Done takes a state off the list.
func (w *worklist) Done(i int) { w.open[i/64] &^= 1 << (i % 64) }

// Next appends up to most states that are next. All are before the border in the log, or none is.
func (w *worklist) Next(index []int, most, border int) []int {
	for ; w.at < w.n && len(index) < most; w.at++ {
		i := w.at
		if !w.up {
			i = w.n - 1 - w.at
		}
		if !w.Has(i) {
			continue
		}
		if len(index) > 0 && (i < border) != (index[0] < border) {
			return index
		}
		index = append(index, i)
	}
	if len(index) > 0 {
		return index
	}
	for n := len(w.queue); n > 0 && len(index) < most; n = len(w.queue) {
		index, w.queue = append(index, int(w.queue[n-1])), w.queue[:n-1]
	}
	return index
}
