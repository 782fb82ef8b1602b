package kv

import (
	"context"
	"math/bits"
	"sync"
)

// table is a generation of slots. They are numbered over all ranks: rank r has r*perRank to
// (r+1)*perRank-1.
type table struct {
	gen     uint64 // 1 is the first
	size    uint64 // the slots of a rank are those of New doubled that often, up to the maximum
	perRank uint64 // slots of a rank
	offset  uint64 // of its first slot in the window, in slots
	slots   uint64 // slots of all ranks
	homes   uint64 // cache lines that these fill
	stride  uint64 // words of a slot
	perLine uint64 // slots of a cache line
	parts   uint64 // of a rank, that move one by one
}

// table is a generation whose size is given.
func (m *Map) table(gen, size uint64) table {
	t := table{gen: gen, size: size, perRank: m.cfg.SlotsPerRank,
		stride: uint64(m.stride), perLine: lineSlots / uint64(m.stride),
		offset: (gen - 1) & 1 * m.cfg.MaxSlotsPerRank}
	for range size {
		t.perRank = min(2*t.perRank, m.cfg.MaxSlotsPerRank)
	}
	t.slots = t.perRank * m.ranks
	t.homes = t.slots / t.perLine
	t.parts = (t.perRank + m.partLen() - 1) / m.partLen()
	return t
}

// largest reports whether no table can have more slots.
func (m *Map) largest(t table) bool { return t.perRank >= m.cfg.MaxSlotsPerRank }

// slotAt is the slot at a distance from the home of a hash. Homes are cache lines of 8 words.
func (t *table) slotAt(hash, distance uint64) uint64 {
	line, _ := bits.Mul64(hash, t.homes)
	slot := line*t.perLine + distance
	if slot >= t.slots { // a division takes long
		slot %= t.slots
	}
	return slot
}

// place is the rank and offset of a slot, and how many slots follow it there, itself included.
func (t *table) place(slot uint64) (rank, off, rest int) {
	if slot >= t.perRank {
		rank, slot = int(slot/t.perRank), slot%t.perRank
	}
	return rank, int((t.offset + slot) * t.stride), int(t.perRank - slot)
}

// locateItem is the rank, offset and words of the item that a word refers to; 0 words if there is
// no such item.
func (m *Map) locateItem(word uint64) (rank, off, words int) {
	rank, off = m.arena.locate(itemOf(word).number)
	if rank >= int(m.ranks) || classOf(word) > m.cfg.largest() {
		return 0, 0, 0
	}
	return rank, off, classWords(classOf(word))
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

// tables are the table of a state, and the one that it moves to if it is moving.
func (m *Map) tables(s state) (from, into table) {
	return m.table(s.gen(), s.size()), m.table(s.gen()+1, s.nextSize())
}

// begun is the state of a table that moves to the next generation, of a given size.
func (s state) begun(next uint64) state { return s | stateMoving | state(next<<8) }

// ended is the state when all slots have moved.
func (s state) ended() state { return state(s.gen()<<16 | s.nextSize()) }

// learn takes the table of a state as the latest one, unless this rank knows a later one.
func (m *Map) learn(s state) {
	for {
		old := m.latest.Load()
		if old.gen >= s.gen() {
			return
		}
		if t := m.table(s.gen(), s.size()); m.latest.CompareAndSwap(old, &t) {
			return
		}
	}
}

// latestTable is the latest table in the states that this rank has read. All tables before it have
// moved.
func (m *Map) latestTable() table { return *m.latest.Load() }

// state reads the state, and learns its table.
func (m *Map) state(ctx context.Context) (state, error) {
	word, err := m.states.Load(ctx, 0, 0)
	if err == nil {
		m.learn(state(word))
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
	if p.gen == gen && p.left > 0 && !p.done[part] {
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
	}
}
