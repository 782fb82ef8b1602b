package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"image"
	"io"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/readsize"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

func countIndex(t *testing.T, table IndexTable, records, lookups, rounds,
	ranks int) *IndexCountReport {
	t.Helper()
	c, err := NewIndexCounts(IndexCountsConfig{Table: table, Records: records, Lookups: lookups})
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		if err := local.Run(ranks, func(job rma.Job) error {
			return c.Round(context.Background(), job)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return c.Report("test")
}

// TestIndexTable1: requests and bytes are those of the laws of readsize, and requests and
// read sizes those that LP printed, as far as a small table follows the law of large ones.
// What is better than the paper is.
func TestIndexTable1(t *testing.T) {
	if invariant.Enabled {
		t.Skip("it takes long where every step is checked, and has no races")
	}
	const lookups = 1 << 14
	r := countIndex(t, LPTable1, 1<<18, lookups, 1, 1)
	if len(r.Counts) != 42 || r.Counts[0].Lookups != uint64(lookups) {
		t.Fatalf("%d counts, %+v", len(r.Counts), r.Counts[0])
	}
	// Means vary between tables and samples, the more the longer runs are.
	for i := range r.Counts {
		is := &r.Counts[i]
		slack := 1.1 * (0.02 + 0.15*is.Load*is.Load*is.Load)
		if want := is.Expected; want == nil {
			if is.Impl != OrderedGuided {
				t.Errorf("%s, load %v: no law", is.Impl, is.Load)
			}
		} else if math.Abs(is.Requests-want.Requests) > 0.003+slack*(want.Requests-1) ||
			math.Abs(is.Bytes-want.Bytes) > slack*want.Bytes ||
			math.Abs(is.Ns-want.Ns) > slack*want.Ns {
			t.Errorf("%s, load %v: %+v, want %+v", is.Impl, is.Load, is.Cost, *want)
		}
		if is.Impl.of().layout == index.Ordered {
			r.betterThanLP(t, is)
		} else if p := is.Paper; math.Abs(is.Requests-p.Requests) > 0.006+
			(slack+0.005)*(p.Requests-1) || math.Abs(is.ReadSlots-float64(p.ReadSlots)) >
			0.01*float64(p.ReadSlots) {
			t.Errorf("%s, load %v: %+v, LP has %+v", is.Impl, is.Load, is, *p)
		}
	}
}

// betterThanLP holds a count against what LP has at the same load.
func (r *IndexCountReport) betterThanLP(t *testing.T, is *IndexCount) {
	if is.Requests > 1.01 || is.Bytes > 460 || is.Paper != nil {
		t.Errorf("%s, load %v: %+v", is.Impl, is.Load, is)
	}
	for _, impl := range table1Impls[:4] {
		if impl == CuckooParallel && is.Impl == OrderedAdaptive {
			continue // it is better at load 0.95
		}
		if other := r.count(impl, is.Load); is.Ns > other.Ns {
			t.Errorf("load %v: %s costs %v ns, %s %v", is.Load, is.Impl, is.Ns, impl, other.Ns)
		}
	}
}

// TestIndexTables3And4: read sizes are those that LP printed, and requests to the heap those
// of keys that differ: one, and what signatures of a byte have in common by chance.
func TestIndexTables3And4(t *testing.T) {
	r := countIndex(t, LPTable3, 1<<13, 1<<11, 2, 2)
	if n := len(countIndex(t, LPTable4, 64, 1, 1, 1).Counts); n != 15 || len(r.Counts) != 30 {
		t.Errorf("%d and %d counts, want 30 and 15", len(r.Counts), n)
	}
	for i := range r.Counts {
		is := &r.Counts[i]
		if is.Lookups != 2*2*1<<11 || is.Runs != 2 {
			t.Errorf("%d lookups in %d runs", is.Lookups, is.Runs)
		}
		if is.Impl == LinearModel && is.RecordBytes == 128 && is.rounds[0] == is.rounds[1] {
			t.Errorf("both rounds had the same keys: %+v", is.rounds)
		}
		p := is.Paper
		if (p == nil) != (is.Impl.of().layout == index.Ordered) {
			t.Errorf("%s: LP has %+v", is.Impl, p)
		}
		if p != nil && math.Abs(is.ReadSlots-float64(p.ReadSlots)) > 0.01*float64(p.ReadSlots) {
			t.Errorf("%+v: %.3f slots, LP has %d", is.of, is.ReadSlots, p.ReadSlots)
		}
		if is.Storage == "inline" {
			if is.HeapRequests != 0 || is.Requests != is.TableRequests {
				t.Errorf("%+v: %+v", is.of, is)
			}
			continue
		}
		if p != nil && (math.Abs(is.TableRequests-p.Requests) > 0.015 ||
			math.Abs(is.HeapRequests-p.HeapRequests) > 0.06) {
			t.Errorf("%+v: %.3f and %.3f requests, LP has %+v", is.of, is.TableRequests,
				is.HeapRequests, p)
		}
		least := 0.001
		if p == nil { // in order only records of one home are mistaken, which lie side by side
			least = 0
		}
		if chance := is.HeapRequests - 1; chance < least || chance > 0.035 {
			t.Errorf("%+v: %v requests to the heap", is.of, is.HeapRequests)
		}
	}
}

// Requests of cuckoo, parallel, share one latency; others do not, nor do those to a heap.
func TestLookupCost(t *testing.T) {
	s := index.Stats{Lookups: 10, Requests: 30, Bytes: 960}
	want := readsize.Cuckoo{Ways: 3, Slots: 4}.Parallel(readsize.Config{Machine: readsize.EDR(),
		SlotBytes: 8})
	if got := lookupCost(&s, CuckooParallel); math.Abs(got.Ns-want.Ns) > 1e-6 ||
		got.Requests != want.Requests || got.Bytes != want.Bytes {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := lookupCost(&s, LinearFixed).Ns; math.Abs(got-(3*1290+96*.08)) > 1e-6 {
		t.Errorf("%v ns", got)
	}
	s.HeapRequests, s.HeapBytes = 20, 40
	if got := lookupCost(&s, CuckooParallel); got.Requests != 5 || got.Bytes != 100 ||
		math.Abs(got.Ns-want.Ns-2*1290-4*.08) > 1e-6 {
		t.Errorf("%+v", got)
	}
}

// Keys of different numbers differ, and those of another seed are others.
func TestIndexKeys(t *testing.T) {
	for _, size := range []int{4, 5, 16} {
		seen := map[string]bool{}
		for seed := range uint64(2) {
			k := indexKeys{keyBytes: size, valueBytes: 4, records: 1000, seed: seed}
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

// A missing value, one of another record, and one too many are errors.
func TestIndexLookerHoldsAgainst(t *testing.T) {
	keys := indexKeys{keyBytes: 4, valueBytes: 4, records: 100}
	build := func(records iter.Seq2[index.Record, error], batch int) error {
		job := local.Single()
		defer job.Close()
		x, err := index.Build(context.Background(), job, index.Config{KeySize: 4, ValueSize: 4},
			records)
		if err != nil {
			t.Fatal(err)
		}
		l := indexLooker{ctx: context.Background(), index: x, keys: &keys, batch: batch}
		if err := l.open(index.Lookups{}); err != nil {
			t.Fatal(err)
		}
		l.draw(0, 5000)
		return l.run()
	}
	changed := func(change func(i int, r index.Record) int) iter.Seq2[index.Record, error] {
		return func(yield func(index.Record, error) bool) {
			i := 0
			for r, err := range keys.stream(0, 1) {
				for range change(i, r) {
					if !yield(r, err) {
						return
					}
				}
				i++
			}
		}
	}
	for _, batch := range []int{1, 7, 4096} {
		for name, c := range map[string]struct {
			change func(i int, r index.Record) int
			wrong  bool
		}{
			"right": {func(int, index.Record) int { return 1 }, false},
			"missing": {func(i int, _ index.Record) int {
				return min(1, i) // all but the first
			}, true},
			"twice": {func(i int, _ index.Record) int { return 2 - min(1, i) }, true},
			"another": {func(i int, r index.Record) int {
				if i == 0 {
					binary.LittleEndian.PutUint32(r.Value, keys.stamp(1))
				}
				return 1
			}, true},
		} {
			err := build(changed(c.change), batch)
			if (err != nil) != c.wrong || c.wrong && !strings.Contains(err.Error(), "is wrong") {
				t.Errorf("%s, batches of %d: %v", name, batch, err)
			}
		}
	}
}

// TestIndexCountOutput: a report that is not complete is printed all the same.
func TestIndexCountOutput(t *testing.T) {
	for _, table := range IndexTables() {
		if invariant.Enabled && table == LPTable3 {
			continue // it takes long, and is written as Table 4 is
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		c, err := NewIndexCounts(IndexCountsConfig{Table: table, Records: 1000, Lookups: 100,
			Progress: func(IndexCase, index.Stats) {
				if n++; n == 6 {
					cancel()
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Report("").WritePlot(io.Discard, "png"); err == nil {
			t.Error("nothing was drawn")
		}
		job := local.Single()
		defer job.Close()
		if err := c.Round(ctx, job); err == nil {
			t.Error("it was not interrupted")
		}
		r := c.Report("the command")
		var text, object, lines, drawing bytes.Buffer
		for _, err := range []error{r.WriteText(&text), r.WriteJSON(&object),
			r.WriteBenchfmt(&lines), r.WritePlot(&drawing, "png")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(text.String(), "the command\n") ||
			!strings.Contains(text.String(), "  guided") && table == LPTable1 ||
			!strings.Contains(text.String(), " ordered/guided ") && table != LPTable1 {
			t.Errorf("%s", &text)
		}
		var o struct{ Counts []map[string]any }
		if err := json.Unmarshal(object.Bytes(), &o); err != nil || len(o.Counts) != 6 ||
			o.Counts[0]["requests"] != r.Counts[0].Requests || o.Counts[0]["paper"] == nil {
			t.Errorf("%v: %s", err, &object)
		}
		if n := strings.Count(lines.String(), "\nBenchmarkIndexCount/impl="); n != 6 {
			t.Errorf("%s", &lines)
		}
		if _, format, err := image.Decode(&drawing); err != nil || format != "png" {
			t.Errorf("the plot is %s, %v", format, err)
		}
	}
}

// Cases that differ in anything but how they look keys up have tables of their own.
func TestIndexSameTable(t *testing.T) {
	a := IndexCase{Impl: LinearFixed, Load: 0.5, RecordBytes: 8}
	for other, want := range map[IndexCase]bool{
		{Impl: LinearModel, Load: 0.5, RecordBytes: 8, Clusters: 9}:         true,
		{Impl: OrderedGuided, Load: 0.5, RecordBytes: 8}:                    false,
		{Impl: LinearFixed, Load: 0.6, RecordBytes: 8}:                      false,
		{Impl: LinearFixed, Load: 0.5, RecordBytes: 32}:                     false,
		{Impl: LinearFixed, Load: 0.5, RecordBytes: 8, Skew: 1}:             false,
		{Impl: LinearFixed, Load: 0.5, RecordBytes: 8, Storage: index.Heap}: false,
	} {
		if a.sameTable(other) != want {
			t.Errorf("%+v", other)
		}
	}
}

func TestIndexCountsRefuse(t *testing.T) {
	for _, cfg := range []IndexCountsConfig{{}, {Table: "table2"},
		{Table: LPTable1, Records: 63}, {Table: LPTable1, Records: MaxIndexRecords + 1},
		{Table: LPTable1, Lookups: -1}, {Table: LPTable1, Lookups: MaxIndexRecords + 1}} {
		if _, err := NewIndexCounts(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}
