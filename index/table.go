package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// table is where the records of all ranks lie, and what every rank knows of it.
//
//	rank r      | slots | heap | borders |        each begins with a whole word
//	heap        | record | record | ...           whole words
//	borders     | displacement | ...              bytes
//	slot        | key value |                     Inline
//	            | signature | displacement | offset |   Heap
type table struct {
	job     rma.Job
	window  rma.Window
	batches core.Batches
	flat    []uint64 // all segments in order; nil where only queues reach some
	numbers numbers  // for searches of keys that are numbers

	cfg        Config
	form       form
	ranks      int
	records    uint64 // of all ranks
	homes      uint64 // of each rank
	slots      int    // of each rank
	slotBytes  int
	heapAt     int // word of a segment
	heapWords  int // the most of a rank
	heapFirst  int // words of the first get of a record
	bordersAt  int
	borders    int // how many
	segment    int // words
	marker     []byte
	marks      []int // how many a rank has
	marked     rma.Window
	guides     []guide  // by rank; none where the memory is not addressable
	unique     bool     // it is known that no key stands twice
	owned      []uint64 // records by rank
	mine       uint64   // records of this rank
	peakBytes  uint64   // that building took on this rank
	valueBytes uint64   // of all values

	// image is the file that the table lies in, and then there is no window, and ranks are
	// its segments; or nil.
	image  *image
	closed atomic.Bool
}

const (
	signatureBytes    = 1
	displacementBytes = 1
	// maxDisplacement stands for itself and all larger ones.
	maxDisplacement = 255
	// borderHomes is how many homes lie between two borders.
	borderHomes = 32
)

// inline reports whether records lie in the slots.
func (t *table) inline() bool { return t.cfg.Storage == Inline }

// shape computes where everything is in a segment, from the number of its slots and the words
// of its heap.
func (t *table) shape(slots, heapWords int) {
	c := &t.cfg
	if t.slotBytes = signatureBytes + displacementBytes + c.OffsetBytes; t.inline() {
		t.slotBytes = c.KeySize + c.ValueSize
	}
	t.slots, t.heapWords = slots, heapWords
	t.heapAt = (slots*t.slotBytes + 7) / 8
	t.bordersAt = t.heapAt + heapWords
	t.borders = int(t.homes/borderHomes) + 2
	// Segments are whole lines, so that those of all ranks begin at one.
	t.segment = max(8, (t.bordersAt+(t.borders+7)/8+7)/8*8)
}

// minFirstGetBytes is how much of a record of variable size is got at once at least: few are
// longer than twice the mean, and so much costs little beside the request.
const minFirstGetBytes = 128

// chooseHeapFirst decides how much of a record is got at once.
func (t *table) chooseHeapFirst() {
	t.heapFirst = t.form.maxWords()
	if t.cfg.Variable && t.records > 0 {
		mean := int(t.valueBytes / t.records)
		t.heapFirst = min(t.heapFirst, max(t.form.words(2*mean), minFirstGetBytes/8))
	}
}

// putOffset and offset write and read an offset into the heap.
func (t *table) putOffset(to []byte, offset int) {
	if t.cfg.OffsetBytes == 4 {
		binary.LittleEndian.PutUint32(to, uint32(offset))
		return
	}
	binary.LittleEndian.PutUint64(to, uint64(offset))
}

func (t *table) offset(from []byte) int {
	if t.cfg.OffsetBytes == 4 {
		return int(binary.LittleEndian.Uint32(from))
	}
	return int(binary.LittleEndian.Uint64(from))
}

// address takes the memory that this process addresses directly.
func (t *table) address(r core.Regions) {
	if t.batches.Regions, t.batches.InOnePiece = r, true; r.Whole != nil {
		t.flat = r.Whole.Words
	}
}

// close gives the memory back.
func (t *table) close() error {
	t.closed.Store(true)
	errs := []error{t.batches.Close()}
	t.flat = nil
	for _, w := range []rma.Window{t.window, t.marked} {
		if w != nil {
			errs = append(errs, w.Close())
		}
	}
	return errors.Join(append(errs, t.image.close())...)
}

// words is the memory of a rank, nil where only queues reach it.
func (t *table) words(rank int) []uint64 {
	switch {
	case t.flat != nil:
		return t.flat[rank*t.segment : (rank+1)*t.segment]
	case t.window != nil:
		return t.window.Words(rank)
	}
	return nil
}

// rankError says in whose memory something failed.
func rankError(rank int, err error) error {
	return fmt.Errorf("index: in the memory of rank %d: %w", rank, err)
}
