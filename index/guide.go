package index

import (
	"context"
	"encoding/binary"
	"sort"

	"github.com/farhash/farhash/rma"
)

// Borders and marks guide searches. A reader gets them beforehand, for all ranks; searches in
// addressable memory read them there:
//
//	border   the displacement at every 32nd home, in a byte
//	mark     a home and a slot: records of homes before that one lie before the slot, and
//	         records of the home and behind lie there or behind. There is one for every
//	         border that does not fit in a byte, and two around a home with many records.
//
// Tables whose keys differ have hardly any marks.

// mark takes 16 bytes in a window and in a file: its numbers, little-endian.
type mark struct{ home, slot uint64 }

const (
	markBytes = 16
	// runMarked is how many records of a home have marks around them.
	runMarked = 2 * borderHomes
)

// tracker collects borders and marks while homes go by in their order.
type tracker struct {
	homes   int // borders wanted
	borders []byte
	marks   []mark
	last    mark // the home before, and where its records begin
	begun   bool
}

// home takes a home before which the slots up to free are taken: all homes with a border,
// those with many records, and those behind them.
func (g *tracker) home(home, free uint64) {
	if g.begun && home == g.last.home {
		return // parts share it, and its records of the first one come behind this
	}
	slot := max(home, free)
	if g.begun && g.last.home+1 == home && free >= g.last.slot+runMarked {
		g.mark(g.last)
		g.mark(mark{home, slot})
	}
	if home%borderHomes == 0 && len(g.borders) < g.homes {
		g.borders = append(g.borders, saturated(free, home))
		if slot-home >= maxDisplacement {
			g.mark(mark{home, slot})
		}
	}
	g.last, g.begun = mark{home, slot}, true
}

func (g *tracker) mark(m mark) {
	if n := len(g.marks); n == 0 || g.marks[n-1].home < m.home {
		g.marks = append(g.marks, m)
	}
}

// finish takes the slot behind all records.
func (g *tracker) finish(homes, free uint64) {
	g.home(homes, free)
	if free >= homes+maxDisplacement {
		g.mark(mark{homes, free})
	}
	for len(g.borders) < g.homes {
		g.borders = append(g.borders, saturated(free, uint64(len(g.borders)*borderHomes)))
	}
}

// shareMarks puts the marks of this rank where all can get them, if any rank has some. It also
// finds out whether a rank has a key with two records. Collective.
func (b *builder) shareMarks(ctx context.Context, failed error) error {
	t := b.t
	repeats := uint64(0)
	if b.repeats {
		repeats = 1
	}
	all, err := gather(ctx, b.job, "writing", []uint64{uint64(len(b.marks)), repeats}, failed)
	if err != nil {
		return err
	}
	most := uint64(0)
	t.unique = true
	for _, words := range all {
		t.unique = t.unique && words[1] == 0
		t.marks = append(t.marks, int(words[0]))
		most = max(most, words[0])
	}
	if most == 0 {
		return nil
	}
	t.peakBytes += most*markBytes + uint64(len(b.marks))*markBytes
	t.marked, err = b.job.NewWindow(ctx, rma.Spec{Name: "index: marks",
		Words: int(most) * markBytes / 8})
	if err != nil {
		return err
	}
	return rma.AllSucceeded(ctx, b.job, "index: marks", b.writeMarks(ctx))
}

func (b *builder) writeMarks(ctx context.Context) error {
	w, err := newWriter(b.job, b.t.marked, 0)
	if err != nil {
		return err
	}
	for _, m := range b.marks {
		m.put(w.next(ctx, markBytes))
	}
	return w.close(ctx)
}

// put writes a mark.
func (m mark) put(to []byte) {
	binary.LittleEndian.PutUint64(to, m.home)
	binary.LittleEndian.PutUint64(to[8:], m.slot)
}

// guide is what searches on a rank are guided by.
type guide struct {
	borders []byte
	marks   []byte
}

// mark is number i of the marks.
func (g *guide) mark(i int) mark {
	b := g.marks[i*markBytes:]
	return mark{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// guideBytes is the guides of all ranks.
func (t *table) guideBytes() uint64 {
	n := uint64(t.borders) * uint64(t.ranks)
	for _, marks := range t.marks {
		n += uint64(marks) * markBytes
	}
	return n
}

// findGuides finds the guides of the ranks whose memory is addressable.
func (t *table) findGuides() {
	t.guides = make([]guide, t.ranks)
	for rank := range t.guides {
		memory := t.words(rank)
		if memory == nil {
			continue
		}
		g := guide{borders: bytesOf(memory[t.bordersAt:])[:t.borders]}
		if n := t.marks[rank] * markBytes; n > 0 && t.image != nil {
			g.marks = t.image.memory[t.marksAt(t.image.header, rank):][:n]
		} else if n > 0 {
			marks := t.marked.Words(rank)
			if marks == nil {
				continue
			}
			g.marks = bytesOf(marks)[:n]
		}
		t.guides[rank] = g
	}
}

// fetchGuides gets the guides of all ranks.
func (r *Reader) fetchGuides() error {
	l, err := r.t.guideTransfer()
	if err != nil {
		return err
	}
	defer l.close()
	r.guides = make([]guide, r.t.ranks)
	for rank := range r.guides {
		// A rank that is lost has none: its keys cannot be looked up anyway, and others can.
		r.guides[rank], _ = r.t.fetchGuide(context.Background(), l, rank)
	}
	return nil
}

// guideOf is the guide of a rank.
func (t *table) guideOf(ctx context.Context, rank int) (g guide, err error) {
	l, err := t.guideTransfer()
	if err != nil {
		return g, err
	}
	defer l.close()
	return t.fetchGuide(ctx, l, rank)
}

// guideTransfer is a transfer for fetchGuide.
func (t *table) guideTransfer() (*transfer, error) {
	words := (t.borders + 7) / 8
	for _, n := range t.marks {
		words = max(words, n*markBytes/8)
	}
	return newTransfer(t.job, t.window, words)
}

// fetchGuide gets the guide of a rank.
func (t *table) fetchGuide(ctx context.Context, l *transfer, rank int) (g guide, err error) {
	if g = t.guides[rank]; g.borders != nil {
		return g, nil
	}
	if g.borders, err = l.fetch(ctx, t.window, rank, t.bordersAt, t.borders); err != nil {
		return guide{}, err
	}
	if n := t.marks[rank] * markBytes; n > 0 {
		if g.marks, err = l.fetch(ctx, t.marked, rank, 0, n); err != nil {
			return guide{}, err
		}
	}
	return g, nil
}

// fetch gets so many bytes, in whole words, and copies them.
func (l *transfer) fetch(ctx context.Context, w rma.Window, rank, off, n int) ([]byte, error) {
	of := transfer{q: l.q, w: w, buf: l.buf}
	if err := of.get(ctx, rank, off, (n+7)/8); err != nil {
		return nil, rankError(rank, err)
	}
	return append([]byte(nil), bytesOf(l.buf)[:n]...), nil
}

// denseSlots is how many more slots than homes lie between two borders where a search reads all
// slots at once: there keys have several records, or records of other homes lie before them, and
// the load does not say how many.
const denseSlots = 4

// between returns the slots between which the records of a home lie, in a table with so many
// slots, and whether these are dense.
func (g *guide) between(home, slots int) (at, bound int, dense bool) {
	if g.borders == nil {
		return home, slots, false
	}
	block := home / borderHomes
	// A displacement too large for a byte says at least where records do not lie.
	at, bound = block*borderHomes+int(g.borders[block]), slots
	if d := g.borders[block+1]; d < maxDisplacement {
		bound = min(bound, (block+1)*borderHomes+int(d))
	}
	n := len(g.marks) / markBytes
	i := sort.Search(n, func(i int) bool { return g.mark(i).home > uint64(home) })
	if i < n {
		bound = min(bound, int(g.mark(i).slot))
	}
	if i > 0 {
		at = max(at, int(g.mark(i-1).slot))
	}
	return max(at, home), bound, bound-at > borderHomes+denseSlots
}
