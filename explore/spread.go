package explore

import (
	"context"
	"errors"
	"slices"

	"github.com/farhash/farhash/set"
)

// What a rank says of a sweep beside how many states it has found to be live.
const (
	sweepInterrupted = 1 << 63
	sweepFull        = 1 << 62
)

// spread makes a state live, and all states from which live ones are reached, by sweeps through
// the logs of all ranks until one finds nothing. Sweeps take turns in direction: one that goes
// down from the highest level follows a path back as far as its levels rise, one that goes up as
// far as they fall. Collective.
func (l *liveness) spread(ctx, uncancelled context.Context, task uint64) error {
	// Nobody sweeps before the state is in the set.
	if _, err := l.all(uncancelled, 0, l.seed(task)); err != nil {
		return err
	}
	l.left--
	for l.left > 0 {
		found, failure := l.sweep(ctx, uncancelled)
		said, err := l.all(uncancelled, found, failure)
		if err != nil {
			return err
		}
		l.Sweeps++
		found = 0
		for _, word := range said {
			switch {
			case word&sweepInterrupted != 0:
				return l.unknown(Interrupted, "liveness was not answered yet")
			case word&sweepFull != 0:
				return l.memoryFull(l.budget.states)
			}
			found += word
		}
		if l.left -= found; found == 0 {
			break
		}
	}
	return nil
}

// seed makes a state live, if this rank logged it.
func (l *liveness) seed(task uint64) error {
	for i := range l.worker.log.n {
		if l.worker.log.task(i) == task {
			l.mark(i)
			_, err := l.live.FindOrPut(task)
			return err
		}
	}
	return nil
}

func (l *liveness) marked(i int) bool { return l.marks[i/64]>>(i%64)&1 != 0 }
func (l *liveness) mark(i int)        { l.marks[i/64] |= 1 << (i % 64) }

// sweep examines this rank's states that are not known to be live, once each. It returns how many
// are.
func (l *liveness) sweep(ctx, uncancelled context.Context) (found uint64, err error) {
	l.up = !l.up
	n := l.worker.log.n
	for k := 0; k < n; {
		l.tasks, l.at = l.tasks[:0], l.at[:0]
		for ; k < n && len(l.at) < l.blocks*blockTasks; k++ {
			i := k
			if !l.up {
				i = n - 1 - k
			}
			if !l.marked(i) {
				l.tasks, l.at = append(l.tasks, l.worker.log.task(i)), append(l.at, i)
			}
		}
		if ctx.Err() != nil {
			return sweepInterrupted, nil
		}
		some, err := l.examine(uncancelled)
		var full *set.FullError
		if errors.As(err, &full) {
			return sweepFull, nil
		}
		if err != nil {
			return 0, err
		}
		found += some
	}
	return found, nil
}

// examine looks whether states at hand lead to live ones, and makes those live.
func (l *liveness) examine(ctx context.Context) (found uint64, err error) {
	l.states = slices.Grow(l.states[:0], len(l.tasks)*l.words)[:len(l.tasks)*l.words]
	if err := l.visited.load(ctx, l.tasks, l.states); err != nil {
		return 0, err
	}
	live := l.tasks[:0] // not beyond what has been read
	for from := 0; from < len(l.at); from += len(l.ends) {
		if err := l.successors(from); err != nil {
			return 0, err
		}
		n := len(l.out) / l.words
		l.names = slices.Grow(l.names[:0], n)[:n]
		l.results = slices.Grow(l.results[:0], n)[:n]
		if err := l.visited.names(l.out, l.names); err != nil {
			return 0, err
		}
		if err := l.live.ContainsBatch(l.names, l.results); err != nil {
			return 0, err
		}
		begin := 0
		for k, end := range l.ends {
			if slices.Contains(l.results[begin:end], set.Found) {
				l.mark(l.at[from+k])
				live = append(live, l.tasks[from+k])
			}
			begin = end
		}
	}
	l.results = slices.Grow(l.results[:0], len(live))[:len(live)]
	return uint64(len(live)), l.live.FindOrPutBatch(live, l.results)
}

// successors expands states at hand, from one on, until a batch of successors is full or none is
// left.
func (l *liveness) successors(from int) (err error) {
	defer l.recoverPanic(&err)
	l.out, l.ends = l.out[:0], l.ends[:0]
	for i := from; i < len(l.at) && len(l.out) < l.full*l.words; i++ {
		state := l.states[i*l.words : (i+1)*l.words : (i+1)*l.words]
		if l.out, err = l.Expand(state, l.out); err != nil {
			return err
		}
		l.ends = append(l.ends, len(l.out)/l.words)
	}
	return nil
}
