package set

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/internal/variant"
	"github.com/farhash/farhash/rma"
)

// autoLoads are where Auto is compared with fixed C.
var autoLoads = []float64{0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9}

// cost is what the insertions in the last 2 % before each load take on average.
type cost struct{ trips, ns float64 }

// costs fills a table with words that depend on nothing but its size. ns gives the cost
// by what was counted before and after.
func costs(t *testing.T, e engine, cfg Config, ns func(before, after Stats) float64) []cost {
	t.Helper()
	sets, err := newSets(ranksOf(t, e, 1), cfg)
	must(t, err)
	defer sets[0].Close()
	s := sets[0]
	rng := rand.New(rand.NewPCG(20, 15))
	inserted := 0
	var all []cost
	for _, load := range autoLoads {
		var before Stats
		for _, end := range []float64{load - 0.02, load} {
			before = s.Stats()
			for target := int(end * float64(cfg.Buckets)); inserted < target; {
				words := randomWords(rng, min(4096, target-inserted))
				inserted += len(words)
				must(t, s.FindOrPutBatch(words, make([]Result, len(words))))
			}
		}
		after := s.Stats()
		n := float64(operations(after) - operations(before))
		all = append(all, cost{float64(roundTrips(after)-roundTrips(before)) / n,
			ns(before, after) / n})
	}
	return all
}

// Auto is at no load more than 3 % above the best fixed C, neither in round trips nor in
// time by the cost model of LP's network, and requests nothing that it does not need.
func TestAutoChunk(t *testing.T) {
	alone(t)
	buckets := uint64(1 << 19)
	if slow {
		buckets = 1 << 16
	}
	network := readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}
	for _, home := range []variant.Set{wordHomes, lineHomes} {
		t.Run(fmt.Sprint("home ", home), func(t *testing.T) {
			got := costs(t, engineHidden, Config{Buckets: buckets, variant: home},
				func(before, after Stats) float64 {
					gets := after.Queues.Gets - before.Queues.Gets
					bytes := after.Queues.Bytes - before.Queues.Bytes -
						8*(after.Queues.CompareAndSwaps-before.Queues.CompareAndSwaps)
					return float64(gets)*network.LatencyNs + float64(bytes)*network.ByteNs
				})
			best := make([]cost, len(autoLoads))
			for i := range best {
				best[i] = cost{math.Inf(1), math.Inf(1)}
			}
			for _, chunk := range tableChunks {
				fixed := costs(t, engineDirect, Config{Buckets: buckets,
					variant: home, Chunk: chunk,
					Chunks: defaultChunk * defaultChunks / chunk},
					func(before, after Stats) float64 {
						trips := roundTrips(after) - roundTrips(before)
						return float64(trips) * network.ReadNs(chunk)
					})
				for i, c := range fixed {
					best[i] = cost{min(best[i].trips, c.trips), min(best[i].ns, c.ns)}
				}
			}
			for i, load := range autoLoads {
				t.Logf("load %.2f: %.3f round trips and %.0f ns, the best C has %.3f and %.0f",
					load, got[i].trips, got[i].ns, best[i].trips, best[i].ns)
				if got[i].trips > 1.03*best[i].trips || got[i].ns > 1.03*best[i].ns {
					t.Errorf("load %.2f: Auto takes %+v, the best C %+v", load, got[i], best[i])
				}
			}
		})
	}
}

// The load that a rank estimates is the load of the table, also when it finds more than it
// inserts: elements lie where the table is full.
func TestAutoSeesTheLoad(t *testing.T) {
	alone(t)
	sets, err := newSets(ranksOf(t, engineHidden, 2), Config{Buckets: 1 << 16})
	must(t, err)
	defer sets[0].Close()
	defer sets[1].Close()
	rng := rand.New(rand.NewPCG(1, 2))
	words := randomWords(rng, 1<<16*85/100)
	results := make([]Result, len(words))
	must(t, sets[0].FindOrPutBatch(words, results))
	for range 3 { // the other rank mostly finds
		must(t, sets[1].ContainsBatch(words, results))
		must(t, sets[1].ContainsBatch(randomWords(rng, 2048), results[:2048]))
	}
	for rank, s := range sets {
		load := s.oldest.Load().auto.lastLoad
		t.Logf("rank %d sees load %.3f and takes C=%d", rank, load, s.auto.chunk(false))
		if want := 0.85; math.Abs(load-want) > 0.04 {
			t.Errorf("rank %d believes in load %.3f instead of %.2f", rank, load, want)
		}
	}
}

// A rank takes a longer C where gets are dear, and a shorter one where bytes are; and that of a
// search that waits alone goes by other costs than that of one of many.
func TestAutoGoesByCosts(t *testing.T) {
	chunks := func(c rma.GetCosts) (many, alone uint64) {
		a := newAuto()
		must(t, a.price(c))
		for range 2 * autoBlock {
			a.addSample(10, 8)
		}
		return a.chunk(false), a.chunk(true)
	}
	dear := rma.GetCosts{Ns: 50_000, ByteNs: .1, EachNs: 500, EachByteNs: 1}
	many, alone := chunks(dear)
	if many >= alone || many > 32 || alone < 100 {
		t.Errorf("C is %d of many and %d alone", many, alone)
	}
	many, alone = chunks(rma.GetCosts{Ns: 100, ByteNs: 1, EachNs: 50_000, EachByteNs: .1})
	if alone >= many {
		t.Errorf("C is %d of many and %d alone", many, alone)
	}
}
