package bench

import (
	"context"
	"errors"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/farhash/farhash/rma"
)

const (
	// aheadWords is how many operations before its use a line is prefetched.
	aheadWords = 48

	// aheadPiece is how many operations one call of the loops does: assembly cannot
	// be preempted.
	aheadPiece = 2048

	// lineWords is the number of words in a cache line.
	lineWords = 8
)

// limitTable measures how fast the memory takes compare-and-swaps and reads at
// random places.
type limitTable struct {
	window  rma.Window
	flat    []uint64
	at      []uint64 // places of flat
	reads   bool     // finds and inserts are both reads
	inserts int
	done    uint64
	sum     uint64 // of what was read, so that nobody leaves the reading out
}

// newLimitTable makes a table of as many words as a set has buckets. Collective.
func newLimitTable(ctx context.Context, job rma.Job, cfg *Config, impl Impl) (*limitTable, error) {
	w, flat, err := newBare(ctx, job, cfg.Buckets)
	if err != nil {
		return nil, err
	}
	return &limitTable{window: w, flat: flat, reads: impl == LimitReads}, nil
}

// newBare makes a window of as many words as a set has buckets, touched like its, and
// gives all of it as one slice. Collective.
func newBare(ctx context.Context, job rma.Job, buckets uint64) (rma.Window, []uint64, error) {
	line := uint64(job.Size()) * lineWords
	perRank := (buckets + line - 1) / line * lineWords
	w, err := touchedJob{job}.NewWindow(ctx, rma.Spec{Name: "bench: words", Words: int(perRank)})
	if err != nil {
		return nil, nil, err
	}
	flat := rma.Flat(w)
	if flat == nil {
		return nil, nil, errors.Join(errors.New("bench: cas-loop and limit need memory that is "+
			"directly addressable; leave them out"), w.Close())
	}
	return w, flat, nil
}

func (t *limitTable) prefill(words []uint64) error {
	t.done += uint64(len(words))
	return nil
}

// ready turns words into places of the table.
func (t *limitTable) ready(words []uint64, inserts int) {
	t.inserts = inserts
	for i, word := range words {
		words[i], _ = bits.Mul64(mix64(word), uint64(len(t.flat)))
	}
	t.at = words
}

func (t *limitTable) run(begin, end int) error {
	at, inserts := t.at[begin:end], min(max(t.inserts-begin, 0), end-begin)
	t.done += uint64(inserts)
	if t.reads {
		inserts = 0
	}
	for piece := range pieces(at[:inserts]) {
		swapAhead(unsafe.SliceData(t.flat), unsafe.SliceData(piece), len(piece))
	}
	for _, i := range tail(at[:inserts]) {
		atomic.CompareAndSwapUint64(&t.flat[i], 0, i+1)
	}
	for piece := range pieces(at[inserts:]) {
		t.sum += readAhead(unsafe.SliceData(t.flat), unsafe.SliceData(piece), len(piece))
	}
	for _, i := range tail(at[inserts:]) {
		t.sum += atomic.LoadUint64(&t.flat[i])
	}
	return nil
}

// pieces divides what lies at least aheadWords before the end of at: the loops look
// that far beyond the piece they are given.
func pieces(at []uint64) func(yield func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		for len(at) > aheadWords {
			n := min(aheadPiece, len(at)-aheadWords)
			if !yield(at[:n]) {
				return
			}
			at = at[n:]
		}
	}
}

// tail is what pieces leaves.
func tail(at []uint64) []uint64 { return at[max(0, len(at)-aheadWords):] }

func (t *limitTable) inserted() uint64 { return t.done }

func (t *limitTable) close() error { return t.window.Close() }
