package lp

import (
	"context"
	"fmt"
	"slices"

	"github.com/farhash/farhash/index"
)

// batchKeys is how many lookups are given at once, and are done between two checks of the
// context.
const batchKeys = 1024

// looker looks up a sample of keys on one rank, and compares what it finds with what is
// there.
type looker struct {
	ctx   context.Context
	index *index.Index
	keys  *keys
	batch int    // 1: one at a time
	seen  func() // called for every value that is found, if not nil

	reader *index.Reader
	sample []byte
	want   [2]uint64 // values, and the sum of their stamps
	stats  index.Stats
}

func (l *looker) open(lookups index.Lookups) (err error) {
	l.reader, err = l.index.NewReader(lookups)
	return err
}

func (l *looker) close() error { return l.reader.Close() }

// draw chooses the keys.
func (l *looker) draw(rank, n int) {
	l.sample, l.want[0], l.want[1] = l.keys.sample(rank, n)
}

// run looks the keys up.
func (l *looker) run() error {
	l.reader.ResetStats()
	var got [2]uint64
	found := func(_ int, v index.Value) {
		got[0]++
		got[1] += stampOf(v)
		if l.seen != nil {
			l.seen()
		}
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
	l.stats = l.reader.Stats()
	if got != l.want {
		return fmt.Errorf("lookups of %d keys found %d values with sum %d, and should find %d "+
			"with sum %d: the index is wrong", len(l.sample)/l.keys.keyBytes, got[0], got[1],
			l.want[0], l.want[1])
	}
	return nil
}

func (l *looker) piece(keys []byte, found func(int, index.Value)) error {
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
		for v, err := range l.reader.Lookup(keys[:size]) {
			if err != nil {
				return err
			}
			found(0, v)
		}
	}
	return nil
}
