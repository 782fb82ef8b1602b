package lp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/lp/baseline"
)

// batchKeys is how many lookups are given at once, and are done between two checks of the
// context.
const batchKeys = 1024

// lookupRun looks up a sample of keys on one rank, and compares what it finds with what is
// there.
type lookupRun struct {
	ctx   context.Context
	table table
	keys  *keys
	batch int          // 1: one at a time
	clock func() int64 // not nil: times from one value to the next are kept

	reader reader
	sample []byte
	want   [2]uint64 // values, and the sum of their stamps
	stats  index.Counts
	reads  baseline.Reads
	ns     []float64
}

// timed looks up n keys on each rank, which begin together. Collective.
func (l *lookupRun) timed(job rma.Job, how lookups, n int) (elapsed time.Duration,
	err error) {
	if l.reader, err = l.table.reader(how); err != nil {
		return 0, err
	}
	l.draw(job.Rank(), n)
	err = job.Barrier(l.ctx)
	start := time.Now()
	if err == nil {
		err = l.run()
	}
	elapsed = time.Since(start)
	return elapsed, errors.Join(err, l.reader.Close())
}

// draw chooses the keys.
func (l *lookupRun) draw(rank, n int) {
	l.sample, l.want[0], l.want[1] = l.keys.sample(rank, n)
}

// run looks the keys up.
func (l *lookupRun) run() error {
	var got [2]uint64
	var lastNs int64
	found := func(_ int, v index.Value) {
		got[0]++
		got[1] += stampOf(v)
		if l.clock != nil {
			if now := l.clock(); now > lastNs { // else two values have come at once
				l.ns, lastNs = append(l.ns, float64(now-lastNs)), now
			}
		}
	}
	if l.clock != nil {
		lastNs = l.clock()
	}
	step := max(1, batchKeys/l.batch) * l.batch * l.keys.keyBytes
	for piece := range slices.Chunk(l.sample, step) {
		if err := l.piece(piece, found); err != nil {
			return err
		}
		if err := l.ctx.Err(); err != nil {
			return err
		}
	}
	l.stats = l.reader.Counts()
	if r, ok := l.reader.(baselineReader); ok {
		l.reads = r.Reads()
	}
	if got != l.want {
		return fmt.Errorf("lookups of %d keys found %d values with sum %d, and should find %d "+
			"with sum %d: the index is wrong", len(l.sample)/l.keys.keyBytes, got[0], got[1],
			l.want[0], l.want[1])
	}
	return nil
}

func (l *lookupRun) piece(keys []byte, found func(int, index.Value)) error {
	size := l.keys.keyBytes
	if l.batch > 1 {
		for batch := range slices.Chunk(keys, l.batch*size) {
			if err := l.reader.LookupBatch(batch, found); err != nil {
				return err
			}
		}
		return nil
	}
	for ; len(keys) > 0; keys = keys[size:] {
		if err := l.reader.one(keys[:size], found); err != nil {
			return err
		}
	}
	return nil
}
