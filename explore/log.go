package explore

import (
	"iter"
	"sort"
)

// levelLog keeps the names of the states that this rank inserted, by level, so that a trace can
// be walked back. A nil log keeps nothing. Where a name does not give its state back, the names
// of the states after one follow the name of that one, with logFrom added.
//
// Invariant: begins[l] is the number of words added before level l was begun; the
// states of level l+1 are added while level l is the present one. The initial states
// are added at level 0 as well.
type levelLog struct {
	slabs  slabs
	chunks [][]uint64
	n      int
	begins []int
	from   uint64 // the state that was followed last in this level, 0 if none was
}

// logFrom marks the name of a state that others follow.
const logFrom = 1 << 63

// logChunk is how many names a chunk of the log holds.
const logChunk = 1 << 13

func newLevelLog() *levelLog { return &levelLog{begins: []int{0}} }

func (l *levelLog) add(name uint64) {
	if l == nil {
		return
	}
	if l.n%logChunk == 0 {
		l.chunks = append(l.chunks, l.slabs.words(logChunk)[:0])
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, name)
	l.n++
}

// follow has what is added next be states after one.
func (l *levelLog) follow(from uint64) {
	if from != l.from {
		l.add(logFrom | from)
		l.from = from
	}
}

// before is the name of the state that one follows which was added while level was the present
// one.
func (l *levelLog) before(level, name uint64) (from uint64, ok bool) {
	for names := range l.blocks(level) {
		for _, word := range names {
			switch {
			case word == name:
				return from, true
			case word&logFrom != 0:
				from = word &^ logFrom
			}
		}
	}
	return 0, false
}

// level notes that a level has begun. Levels in which this rank expanded nothing are noted as
// well.
func (l *levelLog) level(level uint64) {
	if l == nil {
		return
	}
	for uint64(len(l.begins)) <= level {
		l.begins = append(l.begins, l.n)
		l.from = 0
	}
}

// blocks are the names that were added while level was the present one, up to blockTasks at once.
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
