package index

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma/local"
)

// built is a table of one rank in memory that a test may spoil.
func built(t *testing.T, cfg Config, all []Record) *Index {
	t.Helper()
	job := local.Single()
	t.Cleanup(func() { _ = job.Close() })
	x, err := Build(context.Background(), job, cfg, each(all, 0, 1))
	must(t, err)
	return x
}

// TestCheckSeesFaults spoils tables, each in one way, and expects Check to say what is wrong.
func TestCheckSeesFaults(t *testing.T) {
	words := Config{KeySize: 4, ValueSize: 4, Load: 0.9}
	heap := Config{KeySize: 8, ValueSize: 60, Load: 0.9}
	variable := Config{KeySize: 8, ValueSize: 60, Variable: true, Load: 0.5}
	for _, c := range []struct {
		name  string
		cfg   Config
		spoil func(x *Index, slots []int)
		want  string
	}{
		{"lost", words, func(x *Index, slots []int) {
			last := slots[len(slots)-1]
			copy(core.BytesOf(x.t.flat[last:last+1]), x.t.Marker)
		}, "has 499 records, and 500 were given to it"},
		{"hole", words, func(x *Index, slots []int) {
			copy(core.BytesOf(x.t.flat[displaced(x, slots)-1:]), x.t.Marker)
		}, "is empty, and searches that begin at its home"},
		{"moved", words, func(x *Index, slots []int) {
			x.t.flat[slots[0]], x.t.flat[slots[400]] = x.t.flat[slots[400]], x.t.flat[slots[0]]
		}, "is after it"},
		{"order", words, func(x *Index, slots []int) {
			at := displaced(x, slots)
			x.t.flat[at], x.t.flat[at-1] = x.t.flat[at-1], x.t.flat[at]
		}, "is before the home of a record in front of it"},
		{"border low", words, func(x *Index, _ []int) {
			clear(core.BytesOf(x.t.flat[x.t.bordersAt:])[1:x.t.borders])
		}, "after the border"},
		{"border high", words, func(x *Index, _ []int) {
			borders := core.BytesOf(x.t.flat[x.t.bordersAt:])[:x.t.borders]
			for i := range borders {
				borders[i] = 200
			}
		}, "before the border"},
		{"signature", heap, func(x *Index, slots []int) {
			core.BytesOf(x.t.flat)[slots[7]*x.t.slotBytes] ^= 0x55
		}, "its signature is"},
		{"displacement", heap, func(x *Index, slots []int) {
			core.BytesOf(x.t.flat)[slots[7]*x.t.slotBytes+1]++
		}, "its displacement is"},
		{"offset", heap, func(x *Index, slots []int) {
			core.BytesOf(x.t.flat)[slots[7]*x.t.slotBytes+5] = 0xff
		}, "outside the heap"},
		{"length", variable, func(x *Index, _ []int) {
			core.BytesOf(x.t.flat[x.t.heapAt:])[1] = 0xff
		}, "too long"},
		{"first length", variable, func(x *Index, _ []int) {
			core.BytesOf(x.t.flat[x.t.heapAt:])[0] = byte(8 * x.t.form.maxWords())
		}, "too long"},
		{"last length", variable, func(x *Index, _ []int) {
			last := lastRecord(x)
			copy(core.BytesOf(x.t.flat[x.t.heapAt+last:]), []byte{byte(x.t.ValueSize), 0})
		}, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := built(t, c.cfg, records(rand.New(rand.NewPCG(1, 2)), c.cfg, 500, 1)[:500])
			must(t, x.checked())
			var slots []int
			for e, err := range x.t.entries(context.Background(), 0) {
				must(t, err)
				slots = append(slots, e.slot)
			}
			c.spoil(x, slots)
			says(t, x.checked(), c.want)
		})
	}
}

// displaced is a slot whose record has its home before it, and whose neighbour in front has
// a lower home.
func displaced(x *Index, slots []int) int {
	home := func(slot int) uint64 {
		_, rest := place(hashKey(core.BytesOf(x.t.flat[slot:])[:4]), x.t.ranks)
		return homeOf(rest, x.t.Homes)
	}
	for i, at := range slots {
		if i > 0 && slots[i-1] == at-1 && home(at) < uint64(at) && home(at-1) < home(at) {
			return at
		}
	}
	panic("no record is displaced")
}

// lastRecord is where the last record of the heap begins, which is not as long as one may be.
func lastRecord(x *Index) (last int) {
	for at := 0; at < x.t.HeapWords; at += x.t.form.wordsAt(x.t.flat[x.t.heapAt+at]) {
		last = at
	}
	if x.t.HeapWords-last == x.t.form.maxWords() {
		panic("the last record is as long as one may be")
	}
	return last
}

// TestLookupsSeeFaults: a lookup of a record after the heap, as a whole or in part, says so,
// alone and in a batch, and lookups of others are answered.
func TestLookupsSeeFaults(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 60, Variable: true, Load: 0.5}
	all := numbered(500, cfg)
	for _, long := range []bool{false, true} {
		x := built(t, cfg, all)
		last := lastRecord(x)
		record := x.t.flat[x.t.heapAt+last:]
		key := slices.Clone(x.t.form.key(record))
		if long {
			copy(core.BytesOf(record), []byte{60, 0})
		} else {
			x.t.putOffset(refTo(x, last), x.t.HeapWords)
		}
		var keys []byte
		for _, r := range append([]Record{{Key: key}}, all...) {
			keys = append(keys, r.Key...)
		}
		found := 0
		says(t, x.LookupBatch(keys, func(int, Value) { found++ }), errBroken.Error())
		if found != len(all)-1 {
			t.Errorf("long %v: %d records are found", long, found)
		}
		var err error
		for _, err = range x.Lookup(key) {
		}
		says(t, err, errBroken.Error())
	}
}

// refTo is where a slot names a record of the heap.
func refTo(x *Index, ref int) []byte {
	slots := core.BytesOf(x.t.flat)[:x.t.Slots*x.t.slotBytes]
	for slot := range slices.Chunk(slots, x.t.slotBytes) {
		at := slot[x.t.slotBytes-x.t.OffsetBytes:]
		if slot[0] != 0 && x.t.offset(at) == ref {
			return at
		}
	}
	panic("no slot names the record")
}

// TestCheckStops: a table with faults everywhere has a report that ends.
func TestCheckStops(t *testing.T) {
	cfg := Config{KeySize: 8, ValueSize: 60}
	x := built(t, cfg, records(rand.New(rand.NewPCG(1, 2)), cfg, 500, 1)[:500])
	slots := core.BytesOf(x.t.flat)[:x.t.Slots*x.t.slotBytes]
	for i := 0; i < len(slots); i += x.t.slotBytes {
		if slots[i] > 0 {
			slots[i] = slots[i]%255 + 1
		}
	}
	says(t, x.checked(), "and 490 more faults")
}

// TestQuickSeesFaults: so does a single lookup in the group next to a home.
func TestQuickSeesFaults(t *testing.T) {
	x := built(t, Config{KeySize: 8, ValueSize: 60, Variable: true, Load: 0.5},
		numbered(500, Config{KeySize: 8, ValueSize: 60, Variable: true}))
	key := slices.Clone(x.t.form.key(x.t.flat[x.t.heapAt:]))
	if v, _ := x.quick(x.Reader, key); v == nil {
		t.Fatal("the first record is not found in its group")
	}
	x.t.putOffset(refTo(x, 0), x.t.HeapWords)
	_, _, err := x.Get(key, nil)
	says(t, err, errBroken.Error())
}
