package lp

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
)

// TestSimulated: the card is the bottleneck, so that the requests and bytes that were counted
// say how long lookups take, and these follow the laws of readsize. A lookup alone takes what
// LP's model says of a read.
func TestSimulated(t *testing.T) {
	m := readsize.EDR()
	for _, of := range []lookupCase{newCase(linearModel, 0.65), newCase(linearFixed, 0.5),
		newCase(orderedGuided, 0.8), newCase(cuckooParallel, 0.8)} {
		const each = 150
		s := simulateCase(t, of, 1<<15, simulatedWorkers, each, each)
		requests, _, payload := s.stats.PerLookup()
		messageNs := 1e9/m.MessagesPerSecond + m.HeaderBytes*m.ByteNs
		bound := 1e3 / (requests*messageNs + payload*m.ByteNs)
		got := float64(s.stats.Matches) / s.elapsedNs() * 1e3
		if got/bound < 0.96 || got/bound > 1.005 || s.stats.Lookups != simulatedWorkers*each {
			t.Errorf("%s: %.2f million of %d lookups/s, the card allows %.2f", of.impl, got,
				s.stats.Lookups, bound)
		}
		if want, ok := of.expected(); ok && (math.Abs(requests-want.Requests) > 0.03 ||
			math.Abs(payload/want.Bytes-1) > 0.05) {
			t.Errorf("%s: %v requests and %v bytes, want %+v", of.impl, requests, payload, want)
		}
	}
	of := newCase(linearFixed, 0.25)
	of.slots = 100
	s := simulateCase(t, of, 1<<12, 1, 50, 1)
	if want := lpConfig(8).ReadNs(100); len(s.ns) != 50 || !near(s.ns[0], want, 10) ||
		!near(s.ns[49], want, 10) {
		t.Errorf("%d lookups, %v ns, want %.0f", len(s.ns), s.ns, want)
	}
}

// simulateCase does a case in a small table.
func simulateCase(t *testing.T, of lookupCase, records, workers, each, batch int) *simulation {
	t.Helper()
	table, err := newSimulatedTable(context.Background(), of.shape(), of.newKeys(0, records))
	if err != nil {
		t.Fatal(err)
	}
	s, err := table.simulate(context.Background(), of.lookups(), workers, each, batch)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.close(); err != nil {
		t.Error(err)
	}
	return s
}

// TestSimulatedReads: what lookups find comes from the memory of the simulated server, and the
// same run is the same.
func TestSimulatedReads(t *testing.T) {
	of := newCase(linearModel, 0.5)
	ctx := context.Background()
	table, err := newSimulatedTable(ctx, of.shape(), of.newKeys(0, 1000))
	if err != nil {
		t.Fatal(err)
	}
	defer table.close()
	var ns [2]float64
	for i := range ns {
		s, err := table.simulate(ctx, of.lookups(), simulatedWorkers, 20, 20)
		if err != nil {
			t.Fatal(err)
		}
		ns[i] = s.elapsedNs()
	}
	if ns[0] != ns[1] {
		t.Errorf("two runs differ: %v", ns)
	}
	for _, w := range table.server.windows {
		clear(w.Words(0))
	}
	if _, err := table.simulate(ctx, of.lookups(), simulatedWorkers, 20, 20); err == nil ||
		!strings.Contains(err.Error(), "is wrong") {
		t.Errorf("values were found in memory that is empty: %v", err)
	}
}

// TestKeys: keys of different numbers differ, and keys of another seed are others.
func TestKeys(t *testing.T) {
	for _, size := range []int{4, 5, 16} {
		seen := map[string]bool{}
		for seed := range uint64(2) {
			k := keys{keyBytes: size, valueBytes: 4, records: 1000, seed: seed}
			for rank := range 3 {
				for r := range k.stream(rank, 3) {
					if size > 8 && bytes.Count(r.Key[4:], []byte{0}) == size-4 {
						t.Errorf("a key ends with zeros: %v", r.Key)
					}
					seen[string(r.Key)] = true
				}
			}
			if n := len(seen); n != 1000*int(seed+1) {
				t.Errorf("%d keys of %d bytes", n, size)
			}
		}
	}
}

// TestRandomKeys: as many records have a key of their own as among LP's, and a key is looked up
// with the values of all its records.
func TestRandomKeys(t *testing.T) {
	k := keys{keyBytes: 4, valueBytes: 4, records: 1 << 16}
	k.random()
	copies, sums := k.values()
	distinct, twice := 0, uint64(0)
	for number, n := range copies {
		if n > 0 {
			distinct++
		}
		if n == 2 {
			twice = uint64(number)
		}
	}
	want := lpKeys * (1 - math.Exp(-1/lpKeys)) // of all records
	if got := float64(distinct) / float64(k.records); !near(got, want, 0.003) || twice == 0 {
		t.Errorf("%.4f keys for each record, want %.4f", got, want)
	}
	sum := uint64(0)
	for i, number := range k.numbers {
		if uint64(number) == twice {
			sum += uint64(k.stamp(uint64(i)))
		}
	}
	if sums[twice] != sum {
		t.Errorf("the stamps of a key are %d, want %d", sums[twice], sum)
	}
}

// TestLooker: a missing value, one of another record, and one too many are errors.
func TestLooker(t *testing.T) {
	keys := keys{keyBytes: 4, valueBytes: 4, records: 100}
	lookUp := func(records iter.Seq2[index.Record, error], batch int) error {
		job := local.Single()
		defer job.Close()
		x, err := index.Build(context.Background(), job, index.Config{KeySize: 4, ValueSize: 4},
			records)
		if err != nil {
			t.Fatal(err)
		}
		l := lookupRun{ctx: context.Background(), table: indexTable{x}, keys: &keys, batch: batch}
		_, err = l.timed(job, lookups{impl: orderedDirect}, 5000)
		return err
	}
	for name, copies := range map[string]func(i int, r index.Record) int{
		"right":   func(int, index.Record) int { return 1 },
		"missing": func(i int, _ index.Record) int { return min(1, i) }, // all but the first
		"twice":   func(i int, _ index.Record) int { return 2 - min(1, i) },
		"another": func(i int, r index.Record) int {
			if i == 0 {
				binary.LittleEndian.PutUint32(r.Value, keys.stamp(1))
			}
			return 1
		},
	} {
		for _, batch := range []int{1, 7, 4096} {
			err := lookUp(func(yield func(index.Record, error) bool) {
				i := 0
				for r, err := range keys.stream(0, 1) {
					for range copies(i, r) {
						if !yield(r, err) {
							return
						}
					}
					i++
				}
			}, batch)
			if (err != nil) != (name != "right") ||
				err != nil && !strings.Contains(err.Error(), "is wrong") {
				t.Errorf("%s, batches of %d: %v", name, batch, err)
			}
		}
	}
}

// TestTwoSided: servers answer with the values of the keys. The throughput is what the cards allow,
// or the cores where these are slower.
func TestTwoSided(t *testing.T) {
	if invariant.Enabled {
		t.Skip("it takes long where every step is checked, and has no races")
	}
	rates := map[string]float64{}
	var even []record.Value
	if err := simulateTwoSided(context.Background(), []float64{0.5}, 4, 100,
		func(r record.Record) {
			if r.Name == "LPTwoSided" {
				rates[r.Keys[1].Value] = r.Values[0].Value
			} else {
				even = r.Values
			}
		}); err != nil {
		t.Fatal(err)
	}
	if len(rates) != 2+len(twoSidedNs) || len(even) != 3 {
		t.Fatalf("%v, %v", rates, even)
	}
	for _, ns := range twoSidedNs[1:] { // 4 cores are slower than the cards
		is, want := rates[fmt.Sprintf("two-sided-%d-ns", ns)], 4e3/float64(ns)
		if is > want || is < 0.75*want {
			t.Errorf("%d ns: %.2f million lookups/s, the cores allow %.2f", ns, is, want)
		}
	}
	// A core needs more than the time for the requests, so that it must be less than the whole.
	lines, ns, ratio := even[0].Value, even[1].Value, even[2].Value
	if whole := 4e3 / rates[string(cuckooParallel)]; !near(lines, 1.1, 0.15) || ns > whole-50 ||
		ns < whole-200 || !near(ratio, 1, evenEnough) {
		t.Errorf("%v lines, %v ns of %v, throughput %v", lines, ns, whole, ratio)
	}
}

// TestSameTable: cases that differ in anything but how they look keys up have tables of their
// own.
func TestSameTable(t *testing.T) {
	a := newCase(linearFixed, 0.5)
	for _, c := range []struct {
		change func(*lookupCase)
		same   bool
	}{
		{func(c *lookupCase) { c.impl, c.clusters = linearModel, 9 }, true},
		{func(c *lookupCase) { c.slots, c.assumed = 9, 0.6 }, true},
		{func(c *lookupCase) { c.flying = 9 }, true},
		{func(c *lookupCase) { c.impl = orderedGuided }, false},
		{func(c *lookupCase) { c.load = 0.6 }, false},
		{func(c *lookupCase) { c.bytes = 32 }, false},
		{func(c *lookupCase) { c.skew = 1 }, false},
		{func(c *lookupCase) { c.storage = index.Heap }, false},
		{func(c *lookupCase) { c.repeated = true }, false},
		{func(c *lookupCase) { c.random = true }, false},
		{func(c *lookupCase) { c.bucket = 1 }, false},
	} {
		b := a
		c.change(&b)
		if a.sameTable(b) != c.same {
			t.Errorf("%+v", b)
		}
	}
}

// TestGather: a request with the places of a key's buckets takes two messages for a lookup, and one
// with those of all lookups in flight fewer.
func TestGather(t *testing.T) {
	var messages, rates []float64
	err := gatherIn(context.Background(), newCase(cuckooParallel, .5), 64, func(r record.Record) {
		rates, messages = append(rates, r.Values[0].Value), append(messages, r.Values[1].Value)
	})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(messages[0]-6) > .1 || math.Abs(messages[1]-2) > .1 || messages[2] > .5 ||
		rates[0] >= rates[1] || rates[1] >= rates[2] {
		t.Errorf("messages %.2f, rates %.1f", messages, rates)
	}
}
