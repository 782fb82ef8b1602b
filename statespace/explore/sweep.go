package explore

import "slices"

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
