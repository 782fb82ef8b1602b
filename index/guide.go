package index

import (
	"context"
	"sort"

	"github.com/farhash/farhash/rma"
)

// Guided knows of an ordered table beforehand, for all ranks:
//
//	border   the displacement at every 32nd home, in a byte
//	mark     a home and a slot: records of homes before the one lie before the other, and
//	         records of the home and behind lie there or behind. There is one for every
//	         border that a byte cannot tell, and two around a home with many records.
//
// Tables whose keys differ have hardly any marks.

// mark takes two words in a window.
type mark struct{ home, slot uint64 }

const (
	markWords = 2
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
		if slot-home >= displacementMost {
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
	if free >= homes+displacementMost {
		g.mark(mark{homes, free})
	}
	for len(g.borders) < g.homes {
		g.borders = append(g.borders, saturated(free, uint64(len(g.borders)*borderHomes)))
	}
}

// share puts the marks of this rank where all can get them, if any rank has some.
// Collective.
func (b *builder) share(ctx context.Context, failed error) error {
	t := b.t
	all, err := gather(ctx, b.job, "writing", []uint64{uint64(len(b.marks))}, failed)
	if err != nil {
		return err
	}
	most := uint64(0)
	for _, words := range all {
		t.marks = append(t.marks, int(words[0]))
		most = max(most, words[0])
	}
	if most == 0 {
		return nil
	}
	t.peakBytes += most*markWords*8 + uint64(len(b.marks))*markWords*8
	t.marked, err = b.job.NewWindow(ctx, rma.Spec{Name: "index: marks",
		Words: int(most) * markWords})
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
		record := [markWords]uint64{m.home, m.slot}
		copy(w.next(ctx, markWords*8), bytesOf(record[:]))
	}
	return w.close(ctx)
}

// guide is what Guided knows of a rank.
type guide struct {
	borders []byte
	marks   []mark
}

// guideBytes is what Guided keeps of all ranks.
func (t *table) guideBytes() uint64 {
	n := uint64(t.borders) * uint64(t.ranks)
	for _, marks := range t.marks {
		n += uint64(marks) * markWords * 8
	}
	return n
}

// fetchGuides gets the guides of all ranks.
func (r *Reader) fetchGuides() error {
	l, err := r.t.guideLine()
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

// guideLine is a line for fetchGuide.
func (t *table) guideLine() (*line, error) {
	words := (t.borders + 7) / 8
	for _, n := range t.marks {
		words = max(words, n*markWords)
	}
	return newLine(t.job, t.window, words)
}

// fetchGuide gets the guide of a rank.
func (t *table) fetchGuide(ctx context.Context, l *line, rank int) (g guide, err error) {
	words := (t.borders + 7) / 8
	if memory := t.words(rank); memory != nil && t.window == nil {
		g.borders = bytesOf(memory[t.bordersAt : t.bordersAt+words])
		return g, nil // without marks
	}
	if err := l.get(ctx, rank, t.bordersAt, words); err != nil {
		return g, rankError(rank, err)
	}
	borders := append([]byte(nil), bytesOf(l.buf[:words])...)
	if n := t.marks[rank] * markWords; n > 0 {
		of := &line{q: l.q, w: t.marked, buf: l.buf}
		if err := of.get(ctx, rank, 0, n); err != nil {
			return g, rankError(rank, err)
		}
		for i := 0; i < n; i += markWords {
			g.marks = append(g.marks, mark{l.buf[i], l.buf[i+1]})
		}
	}
	g.borders = borders
	return g, nil
}

// crowd is how many slots more than homes lie between two borders where a search reads all
// of them at once: there keys have several records, or others are in front of them, of
// which the load says nothing.
const crowd = 4

// between tells between which slots the records of a home lie, in a table with so many, and
// whether they are crowded.
func (g *guide) between(home, units int) (at, bound int, crowded bool) {
	if g.borders == nil {
		return home, units, false
	}
	block := home / borderHomes
	// A displacement too large for a byte says at least where records do not lie.
	at, bound = block*borderHomes+int(g.borders[block]), units
	if d := g.borders[block+1]; d < displacementMost {
		bound = min(bound, (block+1)*borderHomes+int(d))
	}
	i := sort.Search(len(g.marks), func(i int) bool { return g.marks[i].home > uint64(home) })
	if i < len(g.marks) {
		bound = min(bound, int(g.marks[i].slot))
	}
	if i > 0 {
		at = max(at, int(g.marks[i-1].slot))
	}
	return max(at, home), bound, bound-at > borderHomes+crowd
}
