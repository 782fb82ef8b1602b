package index

import (
	"bytes"
	"context"
)

// A record of the store is named by its chunk within a part, and its word there; refs
// have 1 added, so that 0 is none.
const refShift = 32

// sorter brings the records of a part into the order of their homes, by counting.
type sorter struct {
	homes uint64
	ranks int
	form  form

	chunks [][]uint64
	low    uint64   // the first home of the part
	counts []uint32 // records by home, and then where they begin
	home   []uint32 // of each record, less low
	refs   []uint64 // by slot
}

// bounds are the first and the last home of a part. A home that lies on the border of two
// parts belongs to both.
func (s *sorter) bounds(part int) (low, high uint64) {
	const width = 1 << (64 - partitionBits)
	from := uint64(part) * width
	return homeOf(from, s.homes), homeOf(from+(width-1), s.homes)
}

// count finds the homes of the records of a part.
func (s *sorter) count(p *part, number int) {
	low, high := s.bounds(number)
	s.low, s.chunks = low, p.chunks()
	if n := int(high - low + 1); cap(s.counts) < n {
		s.counts = make([]uint32, n+n/4)[:n]
	} else {
		s.counts = s.counts[:n]
		clear(s.counts)
	}
	s.home = s.home[:0]
	for _, chunk := range s.chunks {
		for at := 0; at < len(chunk); {
			n := s.form.wordsAt(chunk[at])
			_, rest := place(hashKey(s.form.key(chunk[at:at+n])), s.ranks)
			h := uint32(homeOf(rest, s.homes) - low)
			s.home = append(s.home, h)
			s.counts[h]++
			at += n
		}
	}
}

// sort decides the slots of the records counted last, given the first slot that is free,
// and returns the slot after them. refs then has what lies in the slots from base on. border
// is called with each home that may need a border or a mark, and with the next free slot before
// it.
func (s *sorter) sort(base uint64, border func(home, free uint64)) (free uint64) {
	free = base
	before := true // the home before may have many records
	for i, n := range s.counts {
		home := s.low + uint64(i)
		// Other parts may have records of the first home and of the last one.
		many := n >= runMarked || i == 0 || i == len(s.counts)-1
		if before || many || home%borderHomes == 0 {
			border(home, free)
		}
		before = many
		start := max(home, free)
		s.counts[i] = uint32(start - base)
		if n > 0 {
			free = start + uint64(n)
		}
	}
	if n := int(free - base); cap(s.refs) < n {
		s.refs = make([]uint64, n+n/4)[:n]
	} else {
		s.refs = s.refs[:n]
		clear(s.refs)
	}
	i := 0
	for c, chunk := range s.chunks {
		for at := 0; at < len(chunk); i++ {
			h := s.home[i]
			s.refs[s.counts[h]] = uint64(c)<<refShift + uint64(at) + 1
			s.counts[h]++
			at += s.form.wordsAt(chunk[at])
		}
	}
	return free
}

// maxRepeatKeys is how many keys of a home are compared: more of them are taken to be equal.
const maxRepeatKeys = 64

// repeats reports whether some key has two of the records sorted last, from a slot on. Records of a
// key have one home, and lie in one part.
func (s *sorter) repeats(base uint64) bool {
	begin := 0
	for i, n := range s.counts { // where the records of a home end
		end := int(n)
		if begin = max(begin, int(s.low)+i-int(base)); end-begin > maxRepeatKeys {
			return true
		}
		for ; begin+1 < end; begin++ {
			key := s.form.key(s.record(s.refs[begin]))
			for _, other := range s.refs[begin+1 : end] {
				if bytes.Equal(key, s.form.key(s.record(other))) {
					return true
				}
			}
		}
		begin = end
	}
	return false
}

// record is the record of a ref that is not 0.
func (s *sorter) record(ref uint64) []uint64 {
	ref--
	chunk := s.chunks[ref>>refShift][ref&(1<<refShift-1):]
	return chunk[:s.form.wordsAt(chunk[0])]
}

// slotsNeeded is how many slots the records of a rank take, at least as many as there are
// homes: the largest number of a home and of records from there on. It examines only
// parts near the end, where that may be more than the homes.
func (b *builder) slotsNeeded() uint64 {
	need, after := b.t.homes, uint64(0)
	s := b.sorter()
	for i := partitions - 1; i >= 0; i-- {
		p := &b.store.parts[i]
		_, high := s.bounds(i)
		if p.records == 0 || high+after+uint64(p.records) <= need {
			after += uint64(p.records)
			continue
		}
		s.count(p, i)
		for h := len(s.counts) - 1; h >= 0; h-- {
			if n := uint64(s.counts[h]); n > 0 {
				after += n
				need = max(need, s.low+uint64(h)+after)
			}
		}
	}
	return need
}

func (b *builder) sorter() *sorter {
	return &sorter{homes: b.t.homes, ranks: b.t.ranks, form: b.t.form}
}

// sortBytes is what sorting takes: 12 bytes for a record of the largest part, 8 for each
// empty slot and 4 for each home, and a quarter more.
func (b *builder) sortBytes() uint64 {
	most := 0
	for i := range b.store.parts {
		most = max(most, b.store.parts[i].records)
	}
	homes := b.t.homes/partitions + 1
	return (uint64(most)*12 + homes*12) * 5 / 4
}

// lay writes the slots and the heap, and returns the borders.
func (b *builder) lay(ctx context.Context, slots, heap *writer) []byte {
	t, s := b.t, b.sorter()
	g := tracker{homes: t.borders, borders: make([]byte, 0, t.borders)}
	free := uint64(0)
	for i := range b.store.parts {
		p := &b.store.parts[i]
		s.count(p, i)
		base := free
		free = s.sort(base, g.home)
		b.repeats = b.repeats || s.repeats(base)
		b.writeSlots(ctx, s, base, slots, heap)
	}
	for n := uint64(t.slots) - free; n > 0; n-- {
		b.writeEmpty(ctx, slots)
	}
	g.finish(t.homes, free)
	b.marks = g.marks
	return g.borders
}

// saturated is how far a slot lies behind a home, at most maxDisplacement.
func saturated(slot, home uint64) byte {
	if slot <= home {
		return 0
	}
	return byte(min(slot-home, maxDisplacement))
}

func (b *builder) writeSlots(ctx context.Context, s *sorter, base uint64, slots, heap *writer) {
	t := b.t
	for i, ref := range s.refs {
		if ref == 0 {
			b.writeEmpty(ctx, slots)
			continue
		}
		record := s.record(ref)
		to := slots.next(ctx, t.slotBytes)
		if t.inline() {
			copy(to, bytesOf(record))
			continue
		}
		hash := hashKey(t.form.key(record))
		to[0] = signatureOf(hash)
		_, rest := place(hash, t.ranks)
		to[signatureBytes] = saturated(base+uint64(i), homeOf(rest, t.homes))
		t.putOffset(to[signatureBytes+displacementBytes:], b.writeHeap(ctx, heap, record))
	}
}

// writeEmpty writes a slot without a record.
func (b *builder) writeEmpty(ctx context.Context, slots *writer) {
	to := slots.next(ctx, b.t.slotBytes)
	clear(to[copy(to, b.t.marker):])
}

// writeHeap writes a record and returns its offset in words.
func (b *builder) writeHeap(ctx context.Context, heap *writer, record []uint64) int {
	offset := heap.place(b.t.heapAt) / 8
	copy(heap.next(ctx, len(record)*8), bytesOf(record))
	return offset
}
