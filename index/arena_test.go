package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// hybridRecords are random records whose bytes of key and value are mostly near some length.
func hybridRecords(rng *rand.Rand, cfg Config, n, near int) (all []Record) {
	size := func(longest, want int) int {
		switch rng.IntN(8) {
		case 0:
			return 0
		case 1:
			return longest
		case 2:
			return rng.IntN(longest + 1)
		}
		return min(max(want+rng.IntN(5)-2, 0), longest)
	}
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for range n {
		r := Record{Key: random(cfg.KeySize), Value: random(cfg.ValueSize)}
		if cfg.VariableKeys {
			r.Key = r.Key[:size(cfg.KeySize, near/2)]
		}
		if cfg.Variable {
			r.Value = r.Value[:size(cfg.ValueSize, near-len(r.Key))]
		}
		all = append(all, r)
		for rng.IntN(6) == 0 { // another record of the key
			all = append(all, Record{r.Key, r.Value})
		}
	}
	return all
}

// TestHybrid builds hybrid tables of records of random sizes, and holds them against plain maps: in
// memory, after one-sided reads, opened from a file and loaded from it. Short records are in slots,
// and long ones alone in the heap.
func TestHybrid(t *testing.T) {
	for seed := range uint64(replay.Often(24, 60)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		cfg := Config{KeySize: 4 + rng.IntN(40), ValueSize: rng.IntN(300), Storage: Hybrid,
			Load: 0.3 + 0.65*rng.Float64(), VariableKeys: seed%3 != 0, Variable: seed%3 != 1}
		if seed%2 == 0 {
			cfg.InlineBytes = 1 + rng.IntN(longestInline)
		}
		near := cmp.Or(cfg.InlineBytes, 20)
		all := hybridRecords(rng, cfg, []int{0, 1, 300, 900}[rng.IntN(4)], near)
		ranks, path := 1+rng.IntN(3), filepath.Join(t.TempDir(), "index")
		m := modelOf(all)
		keys := m.keys(rng)
		must(t, withIndex(engines[seed%2], ranks, cfg, all, func(x *Index) error {
			err := errors.Join(x.divided(all), x.CheckAll(t.Context()), m.verify(x.Reader, keys),
				x.Save(t.Context(), path))
			for _, l := range ways {
				r, err2 := x.NewReader(l)
				if err = errors.Join(err, err2); err == nil {
					err = errors.Join(m.verify(r, keys), r.Close())
				}
			}
			return err
		}))
		must(t, local.Run(2, func(job rma.Job) error {
			opened, err := Open(t.Context(), job, path)
			if err != nil {
				return err
			}
			heap, err := Load(t.Context(), job, path, Config{Storage: Heap})
			if err != nil {
				return err
			}
			return errors.Join(opened.CheckAll(t.Context()), m.verify(opened.Reader, keys),
				opened.divided(all), heap.CheckAll(t.Context()), m.verify(heap.Reader, keys),
				opened.Close(), heap.Close())
		}))
	}
}

// divided reports an error if the heap has other records than those that are too long for a slot.
func (x *Index) divided(all []Record) error {
	t, long, words := x.t, uint64(0), make([]int, x.t.ranks)
	for _, r := range all {
		if len(r.Key)+len(r.Value) > t.InlineBytes {
			rank, _ := place(hashKey(r.Key), t.ranks)
			words[rank] += t.form.words(len(r.Key), len(r.Value))
			long++
		}
	}
	if t.InlineBytes < 1 || t.HeapRecords != long || t.HeapWords != slices.Max(words) {
		return fmt.Errorf("slots have records up to %d bytes; the heap has %d records and %d "+
			"words; want %d and %v", t.InlineBytes, t.HeapRecords, t.HeapWords, long, words)
	}
	return nil
}

// TestHybridSeesFaults: a size that no slot has room for is an error of Check and of lookups, and
// other keys are answered.
func TestHybridSeesFaults(t *testing.T) {
	cfg := Config{KeySize: 30, VariableKeys: true, ValueSize: 8, Load: 0.5, Storage: Hybrid,
		InlineBytes: 20}
	all := numbered(400, cfg)
	for _, spoil := range []byte{inHeap - 1, inHeap} {
		x := built(t, cfg, all)
		slots, at := core.BytesOf(x.t.flat)[:x.t.Slots*x.t.slotBytes], -1
		for i := 0; i < len(slots) && at < 0; i += x.t.slotBytes {
			if slots[i] != 0 && slots[i+2] != inHeap {
				at = i
			}
		}
		r, far, broken := x.t.inSlot(slots[at : at+x.t.slotBytes])
		if far || broken {
			t.Fatal("the first short record is not in its slot")
		}
		key := slices.Clone(r.Key)
		slots[at+2] = spoil // the size of the key
		if spoil == inHeap {
			x.t.putOffset(slots[at+x.t.offsetAt:], x.t.HeapWords)
		}
		if err := x.Check(context.Background()); err == nil {
			t.Error("Check sees nothing")
		}
		keys, found := [][]byte{key}, 0
		for _, r := range all {
			keys = append(keys, r.Key)
		}
		says(t, x.LookupKeys(keys, func(int, Value) { found++ }), errBroken.Error())
		if found != len(all)-1 {
			t.Errorf("%d records are found, want %d", found, len(all)-1)
		}
		_, _, err := x.Get(key, nil)
		says(t, err, errBroken.Error())
		reader, err := x.NewReader(Lookups{OneSided: true})
		must(t, err)
		if spoil != inHeap { // a get of the heap is refused by the engine, if at all
			says(t, reader.LookupKeys(keys[:1], func(int, Value) {}), errBroken.Error())
		}
		must(t, reader.Close())
	}
}

// TestBest: a slot is as long as most lookups a second want it. Where records are alike all are in
// the slots while they are short; a few long ones are in the heap; and the fuller a table is, the
// more slots are read, and the less a slot may have.
func TestBest(t *testing.T) {
	of := func(sizes ...int) *tally { // pairs of bytes and records
		s := &tally{}
		for i := 0; i < len(sizes); i += 2 {
			for range sizes[i+1] {
				s.add(sizes[i], (sizes[i]+9)/8)
			}
		}
		return s
	}
	for _, c := range []struct {
		sizes *tally
		load  float64
		want  int
	}{
		{of(), 0.8, leastOffsetBytes},
		{of(8, 100), 0.8, 8},
		{of(8, 90, 500, 10), 0.8, 8},
		{of(8, 10, 500, 90), 0.8, leastOffsetBytes},
		{of(24, 100), 0.5, 24},
		{of(60, 100), 0.8, leastOffsetBytes},
		{of(16, 70, 100, 30), 0.5, 16},
		{of(16, 70, 100, 30), 0.95, leastOffsetBytes},
	} {
		if got, err := c.sizes.best(c.load, rma.GetCosts{}); err != nil || got != c.want {
			t.Errorf("load %v: %d bytes, want %d: %v", c.load, got, c.want, err)
		}
	}
}
