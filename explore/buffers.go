package explore

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

// buffersFor is for batches that are shipped, or for those that are not. A request costs as much as
// thousands of insertions.
func buffersFor(ships bool) buffers {
	if ships {
		return buffers{blocks: 64, full: 8192, batches: 2, remembered: 1 << 16}
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

// batchBytes is the memory that a batch takes beyond what it began with: as much again while it
// grows.
func (w *worker) batchBytes() uint64 {
	if w.longest <= (w.full+w.spare)*w.words {
		return 0
	}
	return uint64(w.batches) * 2 * 8 * uint64(w.longest)
}
