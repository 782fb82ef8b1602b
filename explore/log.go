package explore

import (
	"iter"
	"sort"
)

// levelLog keeps the tasks that this rank inserted, by level, so that a trace can
// be walked back. A nil log keeps nothing.
//
// Invariant: begins[l] is the number of tasks added before level l was begun; the
// states of level l+1 are added while level l is the present one. The initial states
// are added at level 0 as well.
type levelLog struct {
	slabs  slabs
	chunks [][]uint64
	n      int
	begins []int
}

// logChunk is how many tasks a chunk of the log holds.
const logChunk = 1 << 13

func newLevelLog() *levelLog { return &levelLog{begins: []int{0}} }

func (l *levelLog) add(task uint64) {
	if l == nil {
		return
	}
	if l.n%logChunk == 0 {
		l.chunks = append(l.chunks, l.slabs.words(logChunk)[:0])
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, task)
	l.n++
}

// level notes that a level has begun. Levels in which this rank expanded nothing are noted as
// well.
func (l *levelLog) level(level uint64) {
	if l == nil {
		return
	}
	for uint64(len(l.begins)) <= level {
		l.begins = append(l.begins, l.n)
	}
}

// blocks are the tasks that were added while level was the present one, up to blockTasks at once.
func (l *levelLog) blocks(level uint64) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		if level >= uint64(len(l.begins)) {
			return
		}
		end := l.n
		if level+1 < uint64(len(l.begins)) {
			end = l.begins[level+1]
		}
		for i := l.begins[level]; i < end; {
			chunk := l.chunks[i/logChunk]
			from := i % logChunk
			to := min(len(chunk), from+blockTasks, from+end-i)
			if !yield(chunk[from:to]) {
				return
			}
			i += to - from
		}
	}
}

func (l *levelLog) task(i int) uint64 { return l.chunks[i/logChunk][i%logChunk] }

// at is a task, and the level that its state is of; that of an initial state may be 1.
func (l *levelLog) at(i int) *place {
	level := sort.Search(len(l.begins), func(k int) bool { return l.begins[k] > i })
	return &place{l.task(i), uint64(level)}
}

// close gives the memory back.
func (l *levelLog) close() error {
	if l == nil {
		return nil
	}
	return l.slabs.close()
}

// bytes is the memory of the log.
func (l *levelLog) bytes() uint64 {
	if l == nil {
		return 0
	}
	return uint64(len(l.chunks))*logChunk*8 + uint64(len(l.begins))*8
}
