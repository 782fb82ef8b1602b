package index

import (
	"context"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma/local"
)

// hotKey are n records of which copies have the same key; keys are some of the others.
func hotKey(n, copies, lookups int) (all iter.Seq2[Record, error], keys []byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range lookups {
		keys = binary.LittleEndian.AppendUint32(keys, keyNumber(copies+rng.IntN(n-copies), 1))
	}
	return func(yield func(Record, error) bool) {
		var r [8]byte
		for i := range n {
			number := i
			if i < copies {
				number = 0
			}
			binary.LittleEndian.PutUint32(r[:], keyNumber(number, 1))
			if !yield(Record{r[:4], r[4:]}, nil) {
				return
			}
		}
	}, keys
}

// BenchmarkDirect looks keys up in direct memory and one-sided in turns, in batches on one core,
// and reports the medians. The ratio of direct to one-sided is never to be above 1.
//
//	go test ./index -run '^$' -bench Direct -benchtime 100000x
func BenchmarkDirect(b *testing.B) {
	const n, lookups = 1 << 20, 1 << 14
	skewed, skewedKeys := zipf(n, lookups, 0.9)
	hot, hotKeys := hotKey(170_000, 39_175, lookups)
	for _, c := range []struct {
		name    string
		load    float64
		records iter.Seq2[Record, error]
		keys    []byte
	}{
		{"even", 0.8, words8(n, 1), sample(n, lookups, 1)},
		{"zipf", 0.65, skewed, skewedKeys},
		{"hot", 0.8, hot, hotKeys},
	} {
		for _, storage := range []Storage{Inline, Heap} {
			b.Run(c.name+"/"+storage.String(), func(b *testing.B) {
				job := local.Single()
				defer job.Close()
				x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4,
					Load: c.load, Storage: storage}, c.records)
				must(b, err)
				defer x.Close()
				r, err := x.NewReader(Lookups{OneSided: true})
				must(b, err)
				b.ResetTimer()
				ns := inTurns(b, c.keys, x.Reader, r)
				b.ReportMetric(ns[0], "direct-ns/lookup")
				b.ReportMetric(ns[1], "one-sided-ns/lookup")
				b.ReportMetric(ns[0]/ns[1], "ratio")
			})
		}
	}
}

// inTurns has readers look up batches of keys of 4 bytes in turns, and returns the median of the
// ns of a lookup for each. They have other keys, which those before have not brought to the cache.
func inTurns(b *testing.B, keys []byte, readers ...*Reader) (medians []float64) {
	const batch = 1 << 10 * 4 // bytes
	took := make([][]float64, len(readers))
	for n := 0; n < b.N; n += batch / 4 {
		for i, r := range readers {
			from := (n*4 + i*len(keys)/len(readers)) % len(keys)
			matches, begin := 0, time.Now()
			must(b, r.LookupBatch(keys[from:from+batch], func(int, Value) { matches++ }))
			took[i] = append(took[i], float64(time.Since(begin).Nanoseconds())/(batch/4))
			if matches < batch/4 {
				b.Fatalf("%d matches of %d keys", matches, batch/4)
			}
		}
	}
	for _, ns := range took {
		slices.Sort(ns)
		medians = append(medians, ns[len(ns)/2])
	}
	return medians
}

// TestDirectIsGuided: a search in direct memory does not examine the slots of a key with many
// records that lie between its home and its own. Here these are empty:
// examining them would end the search.
func TestDirectIsGuided(t *testing.T) {
	for _, cfg := range []Config{{KeySize: 4, ValueSize: 4}, {KeySize: 5, ValueSize: 4},
		{KeySize: 4, ValueSize: 4, Storage: Heap}} {
		all := records(rand.New(rand.NewPCG(1, 2)), cfg, 4000, 1)
		hot := all[0]
		for range 3000 {
			all = append(all, hot)
		}
		m := modelOf(all)
		x := built(t, cfg, all)
		var first, last int // slots of the hot key
		for e, err := range x.t.entries(context.Background(), 0) {
			must(t, err)
			if string(e.record.Key) == string(hot.Key) {
				if last = e.slot; first == 0 {
					first = e.slot
				}
			}
		}
		units := core.BytesOf(x.t.flat)
		for slot := first + 3*nearSlots; slot <= last; slot++ {
			clear(units[slot*x.t.slotBytes:][:x.t.slotBytes])
			copy(units[slot*x.t.slotBytes:], x.t.Marker)
		}
		var keys [][]byte
		for key := range m {
			_, rest := place(hashKey([]byte(key)), 1)
			home := int(homeOf(rest, x.t.Homes))
			if home > first && home < first+2*nearSlots && key != string(hot.Key) {
				keys = append(keys, []byte(key))
			}
		}
		if len(keys) < 10 {
			t.Fatalf("%d keys have their homes there", len(keys))
		}
		must(t, m.verify(x.Reader, keys))
	}
}
