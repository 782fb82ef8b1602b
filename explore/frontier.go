package explore

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

// spare is pop if at least one block stays behind.
func (f *frontier) spare() block {
	if len(f.blocks) < 2 {
		return nil
	}
	return f.pop()
}
