package kv

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is a generation of slots. They are numbered over all ranks: rank r has r*perRank to
// (r+1)*perRank-1.
type table struct {
	gen     uint64 // 1 is the first
	size    uint64 // the slots of a rank are those of New doubled that often, up to the maximum
	perRank uint64 // slots of a rank
	offset  uint64 // of its first slot in the window, in slots
	slots   uint64 // slots of all ranks
}

// table is a generation whose size is given.
func (m *Map) table(gen, size uint64) table {
	t := table{gen: gen, size: size, perRank: m.cfg.SlotsPerRank}
	if m.grows() {
		t.perRank = m.slotsOf(size)
		t.offset = (gen - 1) & 1 * m.cfg.MaxSlotsPerRank
	}
	t.slots = t.perRank * m.ranks
	return t
}

// slotsOf is how many slots a rank has in a table of a size.
func (m *Map) slotsOf(size uint64) uint64 {
	n := m.cfg.SlotsPerRank
	for range size {
		n = min(2*n, m.cfg.MaxSlotsPerRank)
	}
	return n
}

// grows reports whether there is memory for tables to move.
func (m *Map) grows() bool { return m.cfg.MaxSlotsPerRank > 0 }

// largest reports whether no table can have more slots.
func (m *Map) largest(t table) bool { return t.perRank >= m.cfg.MaxSlotsPerRank }

// slotAt is the slot at a distance from the home of a hash. Homes are cache lines of 8 words.
func (m *Map) slotAt(t table, hash, distance uint64) uint64 {
	lines := uint64(8 / m.stride)
	home, _ := bits.Mul64(hash, t.slots/lines)
	return (home*lines + distance) % t.slots
}

// place is the rank and offset of a slot, and how many slots follow it there, itself included.
func (m *Map) place(t table, slot uint64) (rank, off, rest int) {
	in := slot % t.perRank
	return int(slot / t.perRank), int(t.offset+in) * m.stride, int(t.perRank - in)
}

// A state is the state of the map, in the first word of the window of control on rank 0:
//
//	| moving | generation - 1 (47) | size of the next (8) | size (8) |
//	 63       62                 16 15                  8  7      0
//
// While the moving bit is set, slots move to the next generation. The state is 0 at first.
type state uint64

const stateMoving state = 1 << 63

func (s state) gen() uint64      { return uint64(s&^stateMoving)>>16 + 1 }
func (s state) size() uint64     { return uint64(s & 255) }
func (s state) nextSize() uint64 { return uint64(s >> 8 & 255) }
func (s state) moving() bool     { return s&stateMoving != 0 }

// restingState is the state of a table that is not moving.
func restingState(gen, size uint64) state { return state((gen-1)<<16 | size) }

// begun is the state of a table that moves to the next generation, of a given size.
func (s state) begun(next uint64) state { return s | stateMoving | state(next<<8) }

// ended is the state when all slots have moved.
func (s state) ended() state { return restingState(s.gen()+1, s.nextSize()) }

// view is what a rank knows of the state: the latest table in the states that it has read. All
// tables before it have moved.
type view struct{ word atomic.Uint64 }

// update takes the table of a state, unless it knows a later one.
func (v *view) update(s state) {
	for now := restingState(s.gen(), s.size()); ; {
		old := v.word.Load()
		if state(old).gen() >= s.gen() || v.word.CompareAndSwap(old, uint64(now)) {
			return
		}
	}
}

// latestTable is the table of the view.
func (m *Map) latestTable() table {
	if !m.grows() {
		return m.fixedTable
	}
	s := state(m.view.word.Load())
	return m.table(s.gen(), s.size())
}

// state reads the state, and updates the view.
func (m *Map) state(ctx context.Context) (state, error) {
	word, err := m.states.Load(ctx, 0, 0)
	if err == nil {
		m.view.update(state(word))
	}
	return state(word), err
}

// progress is which parts of a table this rank knows to have moved.
type progress struct {
	mu     sync.Mutex
	gen    uint64
	done   []bool
	left   int // parts not done
	cursor int // the next one to be taken up
}

// begin prepares for a table of some parts, unless it is the present one, and returns how many
// parts are left. Each of the ranks begins at another part.
func (p *progress) begin(gen uint64, parts, rank, ranks int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen < gen {
		p.gen, p.done, p.left, p.cursor = gen, make([]bool, parts), parts, parts*rank/ranks
	} else if p.gen > gen {
		return 0
	}
	return p.left
}

// claim returns a part to be moved, ok false if all are done. Others may be moving the same part.
func (p *progress) claim(gen uint64) (part int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen != gen || p.left == 0 {
		return 0, false
	}
	for ; ; p.cursor++ {
		if p.cursor >= len(p.done) {
			p.cursor = 0
		}
		if !p.done[p.cursor] {
			p.cursor++
			return p.cursor - 1, true
		}
	}
}

// finish records that a part is done.
func (p *progress) finish(gen uint64, part int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen == gen && !p.done[part] {
		p.done[part] = true
		p.left--
	}
}

// drop records that all of a table has moved.
func (p *progress) drop(gen uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gen == gen {
		p.left = 0
		for part := range p.done { // so that finish does not count a part again
			p.done[part] = true
		}
	}
}
