package cluster

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/rma/sim"
)

func latencies(t *testing.T, cfg LatencyConfig) []Latency {
	t.Helper()
	all, err := Latencies(context.Background(), cfg)
	if err != nil || len(all) != len(cfg.Loads) {
		t.Fatalf("%+v, %v", all, err)
	}
	return all
}

// TestLatencyIsTheFormula: in a table that is nearly empty an insert posts two gets and
// submits them, waits for the first, posts and submits a compare-and-swap and waits for
// it. It takes three results: the second chunk, which it does not need, comes in between.
// So each parameter of the cost counts a known number of times.
func TestLatencyIsTheFormula(t *testing.T) {
	const chunk = 8
	of := func(c Cluster) float64 {
		return latencies(t, LatencyConfig{Cluster: c, Chunk: chunk, Loads: []float64{LoadStep},
			Operations: 100, Buckets: 1 << 15})[0].LatencyNs
	}
	start := Cluster{Cost: sim.EDR(), WordNs: 3}
	start.AtomicNs = 20
	start.MessagesPerSecond = 0
	before := of(start)
	formula := 4*start.LatencyNs + 3*start.PostNs + 2*start.SubmitNs + 3*start.TakeNs +
		start.AtomicNs + 2*chunk*start.WordNs + (chunk*8+16+8)/start.BytesPerNs
	// What is left is polling for completion.
	if polls := (before - formula) / start.PollNs; polls < 2 || polls > 8 {
		t.Errorf("an insert takes %v ns, the formula has %v without %v polls", before, formula,
			polls)
	}
	for _, c := range []struct {
		name  string
		more  func(c *Cluster)
		addNs float64
	}{
		{"LatencyNs", func(c *Cluster) { c.LatencyNs += 1000 }, 4000},
		{"PostNs", func(c *Cluster) { c.PostNs += 100 }, 300},
		{"SubmitNs", func(c *Cluster) { c.SubmitNs += 100 }, 200},
		{"TakeNs", func(c *Cluster) { c.TakeNs += 100 }, 300},
		{"AtomicNs", func(c *Cluster) { c.AtomicNs += 100 }, 100},
		{"WordNs", func(c *Cluster) { c.WordNs += 10 }, 20 * chunk},
		{"parts of WordNs", func(c *Cluster) { c.WordNs += 0.1 }, 0.2 * chunk},
		{"BytesPerNs", func(c *Cluster) { c.BytesPerNs = 1 }, 88 - 88/start.BytesPerNs},
		{"DoublingNs", func(c *Cluster) { c.DoublingNs = 1000 }, 0},
		{"SharingNs", func(c *Cluster) { c.SharingNs = 1000 }, 0},
	} {
		changed := start
		c.more(&changed)
		if got := of(changed) - before; math.Abs(got-c.addNs) > 0.5+c.addNs*0.002 {
			t.Errorf("%s: %v ns more, want %v", c.name, got, c.addNs)
		}
	}
}

// roundTrips is what linear probing needs by the definition: a table of bits, homes at
// random, chunks counted. It returns the means over the last LoadStep before each load.
func roundTrips(buckets, chunk int, loads []float64, rng *rand.Rand) (means []float64) {
	occupied := make([]bool, buckets)
	filled := 0
	for _, load := range loads {
		trips, n := 0, 0
		for end := int(load * float64(buckets)); filled < end; filled++ {
			home, distance := rng.IntN(buckets), 0
			for occupied[(home+distance)%buckets] {
				distance++
			}
			occupied[(home+distance)%buckets] = true
			if filled >= int((load-LoadStep)*float64(buckets)) {
				trips += distance/chunk + 1
				n++
			}
		}
		means = append(means, float64(trips)/float64(n))
	}
	return means
}

// TestRoundTripsAreThoseOfLinearProbing, and each second one takes the time of a get: a
// chunk asked for in advance comes with the one before it.
func TestRoundTripsAreThoseOfLinearProbing(t *testing.T) {
	loads := []float64{0.3, 0.5, 0.7, 0.8}
	c := Cluster{Cost: sim.EDR()}
	operations := 4000
	if invariant.Enabled {
		operations = 1500
	}
	for _, chunk := range []int{8, 32} {
		want := roundTrips(1<<20, chunk, loads, rand.New(rand.NewPCG(1, 2)))
		waits := roundTrips(1<<20, 2*chunk, loads, rand.New(rand.NewPCG(1, 2)))
		got := latencies(t, LatencyConfig{Cluster: c, Chunk: chunk, Loads: loads,
			Operations: operations, Buckets: 1 << 20, Seed: 5})
		for i, load := range loads {
			t.Logf("C=%d, load %v: %+v, %.3f round trips", chunk, load, got[i], want[i])
			if math.Abs(got[i].RoundTrips/want[i]-1) > 0.05 || got[i].Load != load ||
				got[i].Chunk != chunk {
				t.Errorf("C=%d, load %v: %+v, want %.3f round trips", chunk, load, got[i], want[i])
			}
			longer := got[i].LatencyNs - got[0].LatencyNs
			get := 2*c.LatencyNs + float64(chunk)*8/c.BytesPerNs
			if want := (waits[i] - waits[0]) * get; math.Abs(longer-want) > 60+want*0.1 {
				t.Errorf("C=%d, load %v: %.0f ns more than at load %v, want %.0f", chunk, load,
					longer, loads[0], want)
			}
		}
	}
}

func TestLatencyErrors(t *testing.T) {
	good := LatencyConfig{Cluster: DAS5(), Chunk: 8, Loads: []float64{0.5}, Operations: 10}
	for name, spoil := range map[string]func(c *LatencyConfig){
		"chunk":      func(c *LatencyConfig) { c.Chunk = 7 },
		"no chunk":   func(c *LatencyConfig) { c.Chunk = 0 },
		"operations": func(c *LatencyConfig) { c.Operations = 0 },
		"more than the interval has": func(c *LatencyConfig) {
			c.Buckets, c.Operations = 1<<10, 21
		},
		"early":   func(c *LatencyConfig) { c.Loads = []float64{0.01} },
		"falling": func(c *LatencyConfig) { c.Loads = []float64{0.5, 0.4} },
		"close":   func(c *LatencyConfig) { c.Loads = []float64{0.5, 0.51} },
		"full":    func(c *LatencyConfig) { c.Loads = []float64{0.96} },
		"cluster": func(c *LatencyConfig) { c.Cluster.WordNs = -1 },
	} {
		cfg := good
		spoil(&cfg)
		if all, err := Latencies(context.Background(), cfg); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
