package cluster

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma/sim"
)

// simulated is the throughput that cfg comes to.
func simulated(t *testing.T, cfg Config) *Rate {
	t.Helper()
	if cfg.Cluster == (Cluster{}) {
		cfg.Cluster = DAS5()
	}
	r, err := Throughput(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWorkloads does them all, on empty tables, filled ones and in batches. The run
// itself counts the buckets: a word that should be found and is not would occupy one.
func TestWorkloads(t *testing.T) {
	for _, workload := range Workloads() {
		for _, batch := range []int{1, 16} {
			for _, load := range []float64{0, 0.7} {
				cfg := Config{Hosts: 3, Procs: 2, Workload: workload, Load: load, Batch: batch,
					Operations: 200}
				if workload == Find && load == 0 {
					continue
				}
				r := simulated(t, cfg)
				if r.Operations < 1200-16 || r.Operations > 1200+16 {
					t.Errorf("%s, batch %d, load %v: %+v", workload, batch, load, r)
				}
				product := r.Mops * r.LatencyNs / 6e3
				if math.Abs(product-1) > 1e-9 {
					t.Errorf("the figures of %+v do not fit together", r)
				}
			}
		}
	}
}

// TestTableIsWrong: a bucket that nobody has filled, or that is empty again, is noticed.
func TestTableIsWrong(t *testing.T) {
	for name, spoil := range map[string]func(bucket *uint64){
		"filled":  func(bucket *uint64) { *bucket |= 1 << 63 },
		"emptied": func(bucket *uint64) { *bucket = 0 },
	} {
		run, err := newThroughput(Config{Cluster: DAS5(), Hosts: 2, Procs: 1, Load: 0.5,
			Operations: 100})
		if err != nil {
			t.Fatal(err)
		}
		done := false
		run.cfg.counted = func(int) {
			for i := range run.memory[1] {
				bucket := &run.memory[1][i]
				if was := *bucket; !done {
					spoil(bucket)
					done = was != *bucket
				}
			}
		}
		if _, err = run.simulate(context.Background()); err == nil ||
			!strings.Contains(err.Error(), "table is wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInsertsTakeLonger: an insert needs a compare-and-swap more than a find.
func TestInsertsTakeLonger(t *testing.T) {
	last := 0.0
	for _, workload := range []Workload{Find, Read, Mixed, Write,
		Fill} {
		r := simulated(t, Config{Hosts: 2, Procs: 1, Workload: workload, Load: 0.1,
			Operations: 2000})
		if r.LatencyNs < last*1.05 {
			t.Errorf("%s takes %.0f ns, the one with fewer inserts %.0f", workload,
				r.LatencyNs, last)
		}
		last = r.LatencyNs
	}
}

// TestLoadTakesLonger: with small chunks a full table needs more round trips.
func TestLoadTakesLonger(t *testing.T) {
	of := func(load float64) float64 {
		return simulated(t, Config{Hosts: 2, Procs: 2, Workload: Fill, Load: load, Chunk: 8,
			Operations: 1000}).LatencyNs
	}
	if half, full := of(0.5), of(0.88); full < 1.4*half {
		t.Errorf("an insert takes %.0f ns at load 0.5 and %.0f at load 0.88", half, full)
	}
}

// TestBatchesHideLatency: searches in flight together do not wait for each other.
func TestBatchesHideLatency(t *testing.T) {
	one := simulated(t, Config{Hosts: 4, Procs: 1, Operations: 320})
	many := simulated(t, Config{Hosts: 4, Procs: 1, Operations: 320, Batch: 32})
	if many.Mops < 4*one.Mops {
		t.Errorf("%.2f Mop/s one at a time, %.2f in batches of 32", one.Mops, many.Mops)
	}
}

// TestCardsLimitThroughput: whatever the hosts and ranks, a card does not send more
// messages and bytes than it can, and with many ranks it is busy all the time. For an
// operation on another host two chunks are asked for and half of all do a
// compare-and-swap, and a host answers as much as it asks.
func TestCardsLimitThroughput(t *testing.T) {
	const chunkBytes, gets, swaps = 256, 2, 0.5
	messages := 2 * (gets + swaps)
	messageLimit := DAS5()
	messageLimit.MessagesPerSecond = 2e6
	byteLimit := DAS5()
	byteLimit.MessagesPerSecond = 0
	byteLimit.BytesPerNs = 0.25
	header := float64(byteLimit.HeaderBytes)
	bytes := gets*(chunkBytes+2*header) + swaps*(16+8+2*header)
	for _, c := range []struct {
		name    string
		cluster Cluster
		opsHost float64 // million a second, if all were on other hosts
	}{
		{"messages", messageLimit, messageLimit.MessagesPerSecond / 1e6 / messages},
		{"bytes", byteLimit, byteLimit.BytesPerNs * 1e3 / bytes},
	} {
		for _, hosts := range []int{2, 3, 8} {
			r := simulated(t, Config{Cluster: c.cluster, Hosts: hosts, Procs: 12, Operations: 100})
			limit := c.opsHost / (1 - 1/float64(hosts))
			t.Logf("%s, %d hosts: %.4f of %.4f Mop/s a host", c.name, hosts,
				r.Mops/float64(hosts), limit)
			if perHost := r.Mops / float64(hosts); perHost > 1.02*limit || perHost < 0.75*limit {
				t.Errorf("%s, %d hosts: %.4f Mop/s a host, the card has room for %.4f", c.name,
					hosts, r.Mops/float64(hosts), limit)
			}
		}
	}
}

// TestTheWayGrows: with the hosts and with the ranks of each, as DoublingNs and
// SharingNs say.
func TestTheWayGrows(t *testing.T) {
	c := Cluster{Cost: sim.EDR(), DoublingNs: 100, SharingNs: 10}
	start := c.LatencyNs
	for _, w := range []struct {
		hosts, procs int
		moreNs       float64
	}{{1, 1, 0}, {2, 1, 0}, {4, 1, 100}, {64, 1, 500}, {2, 5, 40}, {8, 3, 220}} {
		if got := c.of(w.hosts, w.procs).LatencyNs; math.Abs(got-start-w.moreNs) > 1e-9 {
			t.Errorf("%d hosts with %d ranks: %v ns more, want %v", w.hosts, w.procs, got-start,
				w.moreNs)
		}
	}
	slow := c
	slow.DoublingNs, slow.SharingNs = 2000, 1000
	cfg := Config{Cluster: c, Hosts: 8, Procs: 2, Operations: 200}
	fast := simulated(t, cfg)
	cfg.Cluster = slow
	// Of 16 operations 14 are on other hosts; they wait for a get, half for a swap as well.
	want := fast.LatencyNs + 14.0/16*1.5*2*(2*1900+990)
	if got := simulated(t, cfg).LatencyNs; math.Abs(got/want-1) > 0.05 {
		t.Errorf("an operation takes %.0f ns, %.0f before the latency grew; want %.0f", got,
			fast.LatencyNs, want)
	}
}

// TestTable: the memory of a rank is long beside a chunk, and all together holds fifty
// times what is inserted.
func TestTable(t *testing.T) {
	for _, cfg := range []Config{{Hosts: 1, Procs: 1}, {Hosts: 2, Procs: 3},
		{Hosts: 1000, Procs: 16}, {Hosts: 4000, Procs: 2, Chunk: 256},
		{Hosts: 9, Procs: 1, Operations: 99_999, Workload: Fill, Batch: 1000}} {
		cfg.Cluster = DAS5()
		if err := cfg.complete(); err != nil {
			t.Fatal(err)
		}
		table := cfg.set()
		segment := int(table.Buckets) / cfg.ranks()
		inserts := insertShare[cfg.Workload] * float64(cfg.goal()+cfg.ranks()*cfg.Batch)
		if segment*cfg.ranks() != int(table.Buckets) || segment%8 != 0 || segment < 64*cfg.Chunk ||
			inserts > 0.02*float64(table.Buckets) ||
			table.Buckets < 1<<18 || float64(table.Buckets) > max(1<<18+8*8, 50.5*inserts,
			64.1*float64(cfg.Chunk*cfg.ranks())) {
			t.Errorf("%+v: %+v for %v inserts", cfg, table, inserts)
		}
	}
}

// TestOneHost: there is no network, and memory is not copied.
func TestOneHost(t *testing.T) {
	c := DAS5()
	c.WordNs, c.LatencyNs, c.MessagesPerSecond = 1000, 1e6, 1
	one := simulated(t, Config{Hosts: 1, Procs: 1, Operations: 400})
	for _, procs := range []int{1, 4} {
		slow := simulated(t, Config{Cluster: c, Hosts: 1, Procs: procs, Operations: 100})
		fast := simulated(t, Config{Hosts: 1, Procs: procs, Operations: 100})
		if slow.LatencyNs != fast.LatencyNs || slow.LatencyNs < 50 {
			t.Errorf("%d ranks: %v ns, %v with a slow network", procs, fast.LatencyNs,
				slow.LatencyNs)
		}
		if math.Abs(fast.LatencyNs/one.LatencyNs-1) > 0.1 {
			t.Errorf("%d ranks: %v ns, one rank %v", procs, fast.LatencyNs, one.LatencyNs)
		}
	}
}

// TestFull: searches that are too short for the load end the run, with a remedy.
func TestFull(t *testing.T) {
	_, err := Throughput(context.Background(), Config{Cluster: DAS5(), Hosts: 2, Procs: 1,
		Load: 0.9, Chunk: 8, Chunks: 4, Operations: 500})
	if err == nil || !strings.Contains(err.Error(), "all of its 32 buckets") {
		t.Errorf("error %v", err)
	}
}

// TestMemory: what cannot fit is refused before it is tried.
func TestMemory(t *testing.T) {
	if _, err := memory.Now(); err != nil {
		t.Skip(err)
	}
	_, err := Throughput(context.Background(), Config{Cluster: DAS5(), Hosts: sim.MaxRanks,
		Procs: 1, Chunk: maxChunk, Batch: 64})
	if err == nil || !strings.Contains(err.Error(), "are missing") {
		t.Errorf("error %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	unknown := DAS5()
	unknown.WordNs = math.NaN()
	impossible := DAS5()
	impossible.BytesPerNs = -1
	for name, cfg := range map[string]Config{
		"no hosts": {Procs: 1}, "no ranks": {Hosts: 1},
		"too many":     {Hosts: 1 << 10, Procs: 1 << 10},
		"far too many": {Hosts: 1 << 62, Procs: 4}, "workload": {Workload: "quick"},
		"load": {Load: 0.99}, "no load": {Load: math.NaN()}, "find": {Workload: Find},
		"chunk": {Chunk: 12}, "negative chunk": {Chunk: -8}, "chunks": {Chunks: -1},
		"batch": {Batch: -1}, "operations": {Operations: -1},
		"many operations": {Operations: math.MaxInt}, "cluster": {Cluster: unknown},
		"cost": {Cluster: impossible}, "nothing": {Cluster: Cluster{WordNs: 1}},
	} {
		if cfg.Cluster == (Cluster{}) {
			cfg.Cluster = DAS5()
		}
		if cfg.Hosts == 0 && cfg.Procs == 0 {
			cfg.Hosts, cfg.Procs = 2, 2
		}
		r, err := Throughput(context.Background(), cfg)
		if err == nil || r != nil || cfg.Check() == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := Preset("ethernet"); err == nil {
		t.Error("there is a preset for ethernet")
	}
	// Longer than the day that the engine goes for.
	c := DAS5()
	c.LatencyNs = 1e12
	if _, err := Throughput(context.Background(), Config{Cluster: c, Hosts: 2, Procs: 1,
		Operations: 1000}); err == nil {
		t.Error("days are simulated")
	}
}

func TestPresetsRun(t *testing.T) {
	for _, name := range sim.Presets() {
		c, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		simulated(t, Config{Cluster: c, Hosts: 4, Procs: 2, Operations: 50})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	last := 0
	_, err := Throughput(ctx, Config{Cluster: DAS5(), Hosts: 4, Procs: 4, Operations: 1000,
		counted: func(done int) {
			last = done
			cancel()
		}})
	if !errors.Is(err, context.Canceled) || last == 0 || last > 1000 {
		t.Errorf("%d operations were done, %v", last, err)
	}
	_, err = Latencies(ctx, LatencyConfig{Cluster: DAS5(), Chunk: 8, Loads: []float64{0.5},
		Operations: 100})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("latencies: %v", err)
	}
}

func TestWordsAreDistinct(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range uint64(1 << 16) {
		word := words{7}.at(i)
		if word > wordMask || seen[word] {
			t.Fatalf("word %d is %#x", i, word)
		}
		seen[word] = true
	}
	if other := (words{8}).at(0); other == (words{7}).at(0) {
		t.Error("the seed does not matter")
	}
}

// TestCalibration fits the parameters again, from others, and finds the ones of DAS5. The cells are
// the cells of OP Table 1.
func TestCalibration(t *testing.T) {
	if invariant.Enabled {
		t.Skip("takes too long with assertions: nothing in it is concurrent")
	}
	start := DAS5()
	start.LatencyNs, start.WordNs, start.DoublingNs, start.SharingNs = 500, 1, 10, 10
	c, err := Calibrate(context.Background(), start, Printed{SmallNs: 3690, LargeNs: 4500,
		FewMops: 8.51, ManyMops: 81.55}, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := DAS5()
	for _, p := range []struct {
		name              string
		got, want, within float64
	}{
		{"LatencyNs", c.LatencyNs, want.LatencyNs, 2}, {"WordNs", c.WordNs, want.WordNs, 0.02},
		{"DoublingNs", c.DoublingNs, want.DoublingNs, 3},
		{"SharingNs", c.SharingNs, want.SharingNs, 1.5},
	} {
		if math.Abs(p.got-p.want) > p.within {
			t.Errorf("%s is fitted to be %v, DAS5 has %v", p.name, p.got, p.want)
		}
	}
}
