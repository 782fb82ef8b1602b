package explore

import (
	"errors"
	"iter"
	"math/bits"
	"slices"
	"sort"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/internal/system/memory"
)

// insertBatches is how many batches go into the set before its load is checked again.
const insertBatches = 2

// spareStates is for how many states beyond its length a batch has room, at least.
const spareStates = 128

// buffers says how many states a worker works on together.
type buffers struct {
	blocks     int // that are expanded together at most
	full       int // successors that are inserted together, and what the last state has beyond
	batches    int // of successors: with two, one is gathered while the other is inserted
	remembered int // words of states that were inserted lately
}

const (
	shippedStates  = 8192    // in a batch that is shipped, at least
	ownerStates    = 64      // for each owner, so that a request is worth its cost
	maxShipped     = 1 << 18 // but no more together
	maxShippedSize = 1 << 24 // bytes; the same
)

// buffersFor is for batches that are shipped to so many ranks, or for those that are not. A request
// costs as much as thousands of insertions, so there are some states for each rank as long as
// memory allows.
func buffersFor(ships bool, ranks, words int) buffers {
	if ships {
		full := min(ownerStates*ranks, maxShipped, maxShippedSize/(8*words))
		full = max(full, shippedStates)
		return buffers{blocks: full / blockTasks, full: full, batches: 2, remembered: 1 << 16}
	}
	return buffers{blocks: 1, full: 512, batches: 1, remembered: 1 << 14}
}

// bytes is the memory that they take for states and tasks of so many words, where a batch has room
// for spare more states.
func (b buffers) bytes(words, taskWords, spare int) uint64 {
	tasks := b.blocks * blockTasks
	states := tasks + b.batches*(b.full+spare)
	return uint64(states)*uint64(words)*8 + uint64(tasks*taskWords+b.remembered)*8 +
		uint64(insertBatches*b.full)*16
}

// recent is states that this rank has put into the set lately, or is about to. Several arcs lead to
// most states, many of them from states that are expanded one soon after the other. To compare such
// a state with a word here takes less time than to look it up in the set, and far less where its
// owner is on another host. A state has one place, where it replaces the one before.
//
// Invariant: what is in slots is in the set, or in a batch that is inserted before the state that
// leads there again is counted as done.
type recent struct {
	slots []uint64
	words int // of a state
	shift int
}

// newRecent has room for so many words, a power of two, and knows the initial state.
func newRecent(size int, initial []uint64) recent {
	words := len(initial)
	places := max(1, size/words)
	log := bits.Len(uint(places)) - 1
	r := recent{words: words, shift: 64 - log}
	r.slots = slices.Repeat(initial, 1<<log)
	return r
}

// drop removes from states, from an index on, those that are remembered, and remembers the rest.
func (r *recent) drop(states []uint64, from int) []uint64 {
	if r.words > 1 {
		return r.dropLong(states, from)
	}
	kept := states[:from]
	for _, state := range states[from:] {
		slot := &r.slots[state*0x9e3779b97f4a7c15>>r.shift]
		if *slot == state {
			continue
		}
		*slot = state
		kept = append(kept, state)
	}
	return kept
}

// dropLong is drop for states of several words.
func (r *recent) dropLong(states []uint64, from int) []uint64 {
	kept := states[:from]
	for ; from < len(states); from += r.words {
		state := states[from : from+r.words]
		at := int(xxh3.Hash(bytesOf(state))>>r.shift) * r.words
		slot := r.slots[at : at+r.words]
		if slices.Equal(slot, state) {
			continue
		}
		copy(slot, state)
		kept = append(kept, state...)
	}
	return kept
}

// frontier is one rank's list of states that wait.
type frontier struct {
	pool   *pool
	blocks []block
}

// push adds the task of a state.
func (f *frontier) push(task []uint64) {
	n := len(f.blocks)
	if n == 0 || len(f.blocks[n-1]) == cap(f.blocks[n-1]) {
		f.blocks = append(f.blocks, f.pool.get())
		n++
	}
	b := &f.blocks[n-1]
	if len(task) == 1 { // takes less time
		*b = append(*b, task[0])
	} else {
		*b = append(*b, task...)
	}
}

// pop takes the block added first, nil when there is none. The caller gives it
// back to the pool. Oldest first keeps a search in any order nearly level by level,
// and its frontier as small.
func (f *frontier) pop() block {
	if len(f.blocks) == 0 {
		return nil
	}
	b := f.blocks[0]
	f.blocks = f.blocks[1:]
	return b
}

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

// at is a task, and the level that its state is of; an initial state may be said to be of level 1.
func (l *levelLog) at(i int) *place {
	level := sort.Search(len(l.begins), func(k int) bool { return l.begins[k] > i })
	return &place{l.task(i), uint64(level)}
}

// place is a state by its task, and the level that it is of.
type place struct{ task, level uint64 }

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

// blockTasks is how many states a rank expands, or offers to others, at a time.
const blockTasks = 128

// block is the tasks of states that wait to be expanded, one after the other. It has room for
// blockTasks tasks.
type block []uint64

// blockBytes is the memory of a block whose tasks have so many words, and its places in lists,
// which grow by being copied.
func blockBytes(taskWords int) uint64 { return uint64(blockTasks*taskWords*8 + 136) }

// pool makes blocks and takes them back. A search that narrows uses no more
// memory than it did when it was widest.
type pool struct {
	slabs     slabs
	taskWords int
	free      []block
	made      uint64
}

func (p *pool) get() block {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b[:0]
	}
	p.made++
	return p.slabs.words(blockTasks * p.taskWords)[:0]
}

func (p *pool) put(b block) { p.free = append(p.free, b) }

// bytes is the memory that the pool's blocks take, those in use included.
func (p *pool) bytes() uint64 { return p.made * blockBytes(p.taskWords) }

// slabWords is how much is asked of the system at a time: a megabyte. What is not touched takes
// none.
const slabWords = 1 << 17

// slabs is memory outside the Go heap, which would let as much garbage gather as there is of it
// before it is collected. It is given back all at once.
type slabs struct {
	rest    []uint64
	release []func() error
}

// words returns zeroed words, at most slabWords.
func (s *slabs) words(n int) []uint64 {
	if len(s.rest) < n {
		slab, release, err := memory.Words(slabWords)
		if err != nil {
			return make([]uint64, n) // the system has no mapping to spare
		}
		s.rest, s.release = slab, append(s.release, release)
	}
	words := s.rest[:n:n]
	s.rest = s.rest[n:]
	return words
}

func (s *slabs) close() error {
	var err error
	for _, release := range s.release {
		err = errors.Join(err, release())
	}
	*s = slabs{}
	return err
}
