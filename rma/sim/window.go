package sim

import (
	"fmt"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

// segments is the memory of a window, the segments of all ranks in a row.
type segments struct {
	name   string
	number int // of the window, from 1
	words  int // of one segment
	flat   []uint64
	units  *direct.Units // of a reserved window; nil: all memory has been taken
}

func (s *segments) of(rank int) []uint64 {
	return s.flat[rank*s.words : (rank+1)*s.words : (rank+1)*s.words]
}

// window is a rank's view of the memory of all ranks.
type window struct {
	r      *rank
	s      *segments
	closed bool
}

var _ rma.Committer = (*window)(nil)

func (w *window) Rank() int { return w.r.id }
func (w *window) Size() int { return len(w.r.c.ranks) }
func (w *window) Len() int  { return w.s.words }

// CPUAtomicsCoherent: cards do all operations, with [Options].Incoherent not atomically
// with respect to CPUs.
func (w *window) CPUAtomicsCoherent() bool { return !w.r.c.opts.Incoherent }

// Words is rank's segment where [Options].View shows it, otherwise nil.
func (w *window) Words(rank int) []uint64 {
	shown := false
	switch opts := &w.r.c.opts; opts.View {
	case ViewOwn:
		shown = rank == w.r.id
	case ViewHost:
		shown = rank/opts.RanksPerHost == w.r.id/opts.RanksPerHost
	case ViewAll:
		shown = true
	}
	if w.closed || !shown {
		return nil
	}
	return w.s.of(rank)
}

// Commit takes the memory of words at (rank, off), in no virtual time.
func (w *window) Commit(rank, off, words int) error {
	w.within(rank, off, words)
	if w.s.units == nil {
		return nil
	}
	begin := rank*w.s.words + off
	return w.s.units.Commit(begin*8, (begin+words)*8)
}

// Close ends this rank's use of the window. The memory is freed when no rank refers to it.
func (w *window) Close() error {
	w.closed = true
	return nil
}

// within panics unless words are in the segment of a rank.
func (w *window) within(rank, off, words int) {
	if w.closed {
		panic(fmt.Sprintf("sim: window %q is used after Close", w.s.name))
	}
	if rank < 0 || rank >= w.Size() || off < 0 || words < 1 || words > w.s.words ||
		off > w.s.words-words {
		panic(fmt.Sprintf("sim: %d words at %d of rank %d are outside window %q of %d ranks "+
			"with %d words each", words, off, rank, w.s.name, w.Size(), w.s.words))
	}
}
