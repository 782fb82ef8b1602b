package explore

import "unsafe"

// blockTasks is how many states a rank expands, or offers to others, at a time.
const blockTasks = 128

// block is a run of states that wait to be expanded, each by its task: the
// packed word, or the name of the element.
type block struct {
	tasks [blockTasks]uint64
	n     int
}

// blockBytes is the memory of a block: 1032 bytes, and its places in lists, which grow by
// being copied.
const blockBytes = 1032 + 128

// pool makes blocks and takes them back. A search that narrows uses no more
// memory than it did when it was widest.
type pool struct {
	slabs slabs
	free  []*block
	made  uint64
}

func (p *pool) get() *block {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		b.n = 0
		return b
	}
	p.made++
	return (*block)(unsafe.Pointer(unsafe.SliceData(p.slabs.words(blockTasks + 1))))
}

func (p *pool) put(b *block) { p.free = append(p.free, b) }

// bytes is the memory that the pool's blocks take, those in use included.
func (p *pool) bytes() uint64 { return p.made * blockBytes }

// frontier is one rank's list of states that wait.
type frontier struct {
	pool   *pool
	blocks []*block
}

// push adds a state.
func (f *frontier) push(task uint64) {
	n := len(f.blocks)
	if n == 0 || f.blocks[n-1].n == blockTasks {
		f.blocks = append(f.blocks, f.pool.get())
		n++
	}
	b := f.blocks[n-1]
	b.tasks[b.n] = task
	b.n++
}

// pop takes the block added first, nil when there is none. The caller gives it
// back to the pool. Oldest first keeps a search in any order nearly level by level,
// and its frontier as small.
func (f *frontier) pop() *block {
	if len(f.blocks) == 0 {
		return nil
	}
	b := f.blocks[0]
	f.blocks = f.blocks[1:]
	return b
}

// spare is pop if at least one block stays behind.
func (f *frontier) spare() *block {
	if len(f.blocks) < 2 {
		return nil
	}
	return f.pop()
}
