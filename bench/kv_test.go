package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

var smallKV = KVConfig{Records: 700, Operations: 900, Batches: []int{1, 50}}

func measureKV(t *testing.T, cfg KVConfig, hidden bool, rounds int, ranks ...int) *KVBench {
	t.Helper()
	b, err := NewKV(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		for _, n := range ranks {
			err := local.RunWith(local.Options{Hidden: hidden}, n, func(job rma.Job) error {
				return b.Round(context.Background(), job)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// All is measured in turns, on both paths, and every read finds what was written.
func TestKVRounds(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		b := measureKV(t, smallKV, hidden, 2, 1, 3)
		r := b.Report("test")
		if len(r.Results) != 6*2*2 || len(r.Samples) != 2*len(r.Results) || b.Wrong() != 0 {
			t.Fatalf("%d results of %d samples, %d wrong", len(r.Results), len(r.Samples),
				b.Wrong())
		}
		// Where memory is in sight reads are looks at it.
		least := func(writes float64) float64 {
			if hidden {
				return 1.9
			}
			return 1.9 * max(0, writes-.06)
		}
		for _, s := range r.Samples {
			if s.Workload == YCSBB && (s.Operations != uint64(900*s.Ranks) ||
				s.Calls != s.Operations || float64(s.RoundTrips) < least(.05)*float64(s.Calls)) {
				t.Errorf("%d operations of %d ranks, %d calls, %d round trips", s.Operations,
					s.Ranks, s.Calls, s.RoundTrips)
			}
		}
		for _, is := range r.Results {
			operations := int64(2 * 900 * is.Ranks)
			if is.Workload == YCSBLoad {
				operations = 2 * 700
			}
			var reads, writes int64
			if is.Reads != nil {
				reads = is.Reads.Count
			}
			if is.Writes != nil {
				writes = is.Writes.Count
			}
			share := float64(is.Workload.writePercent()) / 100
			if reads+writes != operations ||
				math.Abs(float64(writes)/float64(operations)-share) > .06 {
				t.Errorf("%s, %d ranks, batch %d: %d reads and %d writes of %d operations",
					is.Workload, is.Ranks, is.Batch, reads, writes, operations)
			}
			if is.Runs != 2 || is.KopsMin <= 0 || is.Kops < is.KopsMin || is.KopsMax < is.Kops ||
				is.RoundTrips < least(share) || is.RoundTrips > 8 {
				t.Errorf("%+v makes no sense", is)
			}
		}
	}
}

// In workload F an operation that writes is two calls, and pairs that fit have copies.
func TestKVCalls(t *testing.T) {
	cfg := smallKV
	cfg.ValueBytes, cfg.Workloads, cfg.Batches = 8, []KVWorkload{YCSBC, YCSBF}, []int{1}
	r := measureKV(t, cfg, true, 1, 1).Report("test")
	c, f := r.Samples[0], r.Samples[1]
	if c.Calls != 900 || f.Calls != 900+uint64(f.took.writes.TotalCount()) {
		t.Errorf("%d and %d calls", c.Calls, f.Calls)
	}
	if is := r.Results[0]; !r.Setting.Copies || is.Writes != nil || is.RoundTrips > 1.1 {
		t.Errorf("a read needs %.3f round trips: %+v", is.RoundTrips, r.Setting)
	}
}

// A stream reads what is there, inserts each number once, and begins with what is new.
func TestKVStreams(t *testing.T) {
	cfg := KVConfig{Records: 100, Operations: 4000}
	law := newKeyLaw(ZipfKeys, cfg.Records)
	const ranks = 3
	loaded, there := map[uint64]bool{}, map[uint64]bool{}
	newest := 0
	for rank := range ranks {
		var stamp uint64
		s := newKVStream(YCSBLoad, law, &cfg, rank, ranks, &stamp)
		for s.left > 0 {
			n, write := s.one()
			if !write || n >= 100 || loaded[n] {
				t.Fatalf("rank %d loads %d, write %t", rank, n, write)
			}
			loaded[n] = true
		}
		d := newKVStream(YCSBD, law, &cfg, rank, ranks, &stamp)
		for d.left > 0 {
			n, write := d.one()
			switch {
			case write && (n < 100 || there[n] || n%ranks != uint64(100+rank)%ranks):
				t.Fatalf("rank %d inserts %d", rank, n)
			case write:
				there[n] = true
				d.settled = d.inserted
			case n >= 100 && !there[n]:
				t.Fatalf("rank %d reads %d, which it has not inserted", rank, n)
			case d.settled > 0 && n == 100+uint64(rank)+(d.settled-1)*ranks:
				newest++
			}
		}
	}
	if len(loaded) != 100 || newest < ranks*500 {
		t.Errorf("%d records are loaded, %d reads are of the newest", len(loaded), newest)
	}
}

// A batch does not read what it inserts: nobody knows which comes first.
func TestKVBatchesReadWhatIsThere(t *testing.T) {
	cfg := KVConfig{Records: 100, Operations: 5000}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	var stamp uint64
	const batch = 64
	s := newKVStream(YCSBD, newKeyLaw(ZipfKeys, cfg.Records), &cfg, 0, 1, &stamp)
	piece := newKVPiece(&cfg, batch)
	piece.fill(s)
	there, later := uint64(100), uint64(100)
	for i, c := range piece.calls[:piece.n] {
		if i%batch == 0 {
			there = later
		}
		if c.Kind == kv.Put {
			later++
		} else if piece.numbers[i] >= there {
			t.Fatalf("operation %d reads record %d, and %d are there", i, piece.numbers[i], there)
		}
	}
	if later < 200 || uint64(piece.n) != 5000 {
		t.Errorf("%d inserts of %d operations", later-100, piece.n)
	}
}

// A rank has room for all that it may come to own: here it writes every record.
func TestKVRoom(t *testing.T) {
	cfg := KVConfig{Records: 8000, Operations: 8000}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	err := local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		m, err := kv.New(ctx, job, cfg.mapConfig(2))
		if err != nil {
			return err
		}
		defer m.Close()
		key, value := make([]byte, cfg.KeyBytes), make([]byte, cfg.ValueBytes)
		put := func(from, step int) (err error) {
			for i := from; i < cfg.Records && err == nil; i += step {
				fillKey(key, uint64(i))
				_, err = m.Put(key, value)
			}
			return err
		}
		if err := errors.Join(put(job.Rank(), 2), job.Barrier(ctx)); err != nil {
			return err
		}
		if job.Rank() == 0 {
			err = put(0, 1)
		}
		return errors.Join(err, job.Barrier(ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// A value that nobody has written for its key, and a record that is missing, are counted.
func TestKVWrong(t *testing.T) {
	cfg := smallKV
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	b, err := NewKV(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const broken, gone = 3, 5
	var got *KVSample
	err = local.Run(1, func(job rma.Job) (err error) {
		ctx := context.Background()
		r := kvRun{bench: b, job: job, of: KVCase{Impl: KVMap, Ranks: 1, Batch: 1},
			piece: newKVPiece(&cfg, 1)}
		m, err := kv.New(ctx, job, cfg.mapConfig(1))
		if err != nil {
			return err
		}
		defer m.Close()
		r.store = mapStore{m}
		if _, err := r.workload(ctx, YCSBLoad, r.piece); err != nil {
			return err
		}
		key, value := make([]byte, cfg.KeyBytes), make([]byte, cfg.ValueBytes)
		fillKey(key, broken)
		fillValue(value, broken+1, 9)
		if _, err := m.Put(key, value); err != nil {
			return err
		}
		fillKey(key, gone)
		if _, err := m.Delete(key); err != nil {
			return err
		}
		got, err = r.workload(ctx, YCSBC, r.piece)
		b.keep(got)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]uint64{}
	var stamp uint64
	for s := newKVStream(YCSBC, b.law, &cfg, 0, 1, &stamp); s.left > 0; {
		n, _ := s.one()
		want[n]++
	}
	sum := want[broken] + want[gone]
	if want[broken] == 0 || want[gone] == 0 || got.Wrong != sum || b.Wrong() != sum {
		t.Errorf("%d wrong reads, want %d and %d", got.Wrong, want[broken], want[gone])
	}
	value := make([]byte, cfg.ValueBytes)
	fillValue(value, 7, 1)
	p := newKVPiece(&cfg, 1)
	p.n, p.numbers[0], p.calls[0] = 1, 7, kv.Call{Kind: kv.Get, Value: value, Done: true}
	if p.wrong() != 0 {
		t.Error("a right value is wrong")
	}
	if p.calls[0].Done = false; p.wrong() != 1 {
		t.Error("a record that is not found is right")
	}
}

// Histograms of ranks add up, on both paths.
func TestMergeHistograms(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		err := local.RunWith(local.Options{Hidden: hidden}, 3, func(job rma.Job) error {
			took := newKVLatencies()
			took.add(time.Duration(job.Rank()+1)*time.Microsecond, 2*job.Rank(), 1)
			took.add(time.Hour, 0, 1)
			h, err := mergeHistograms(context.Background(), job, took.reads)
			if err != nil {
				return err
			}
			is := latenciesOf(h)
			near := func(ns, want int64) bool { return ns >= want && ns < want+want/50 }
			if is.Count != 6 || !near(is.P50, 3000) || !near(is.Max, 3000) ||
				!near(h.ValueAtPercentile(20), 2000) {
				t.Errorf("rank %d: %+v", job.Rank(), is)
			}
			if is := latenciesOf(took.writes); is.Count != 2 || is.Max < int64(time.Minute) {
				t.Errorf("what takes longer than a minute is lost: %+v", is)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if latenciesOf(newHistogram()) != nil {
		t.Error("an empty histogram has percentiles")
	}
}

// When the context ends, what was measured before remains.
func TestKVInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := smallKV
	cfg.Progress = func(KVSample) { cancel() }
	b, err := NewKV(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = local.Run(2, func(job rma.Job) error { return b.Round(ctx, job) })
	if r := b.Report("test"); !errors.Is(err, context.Canceled) || len(r.Results) != 1 {
		t.Errorf("%v, %d results, want the one before the interruption", err, len(r.Results))
	}
}

func TestKVRefusals(t *testing.T) {
	for name, c := range map[string]KVConfig{
		"workload":       {Workloads: []KVWorkload{"e"}},
		"workload twice": {Workloads: []KVWorkload{YCSBA, YCSBA}},
		"batch":          {Batches: []int{0}},
		"large batch":    {Batches: []int{kvBatchMax + 1}},
		"batch of much":  {Batches: []int{kvBatchMax}, ValueBytes: 1 << 15},
		"batch twice":    {Batches: []int{8, 8}},
		"operations":     {Operations: -1},
		"records":        {Records: -1},
		"many records":   {Records: MaxKVRecords + 1},
		"short key":      {KeyBytes: 7},
		"short value":    {ValueBytes: 7},
		"long key":       {KeyBytes: kv.MaxSize + 1},
		"no Redis":       {Impls: []KVImpl{KVRedis}},
		"impl":           {Impls: []KVImpl{"x"}},
		"Redis":          {Redis: "localhost"},
	} {
		if _, err := NewKV(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if b, err := NewKV(KVConfig{}); err != nil || b.Config().Records != DefaultKVRecords {
		t.Errorf("%v", err)
	}
}

// The report is printed in all forms, and drawn.
func TestKVReport(t *testing.T) {
	r := measureKV(t, smallKV, false, 1, 1, 2).Report("farhash bench kv --test")
	var text, object, lines, svg bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&object), r.WriteBenchfmt(&lines),
		r.WritePlot(&svg, "svg")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"farhash bench kv --test", "load", "round trips",
		"Latencies of all runs", "700 records, keys of 8 bytes"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, &text)
		}
	}
	var got struct {
		Machine, Setting map[string]any
		Results          []map[string]any
	}
	if err := json.Unmarshal(object.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != 24 || got.Setting["records"] != 700.0 || got.Machine["cpu"] == "" ||
		got.Results[0]["reads"] != nil {
		t.Errorf("%d results, setting %v, machine %v", len(got.Results), got.Setting, got.Machine)
	}
	for _, key := range []string{"workload", "impl", "ranks", "batch", "kops", "kopsMin",
		"kopsMax", "coreKops", "ratioToRedis", "reads", "writes", "roundTrips", "lost", "wrong",
		"runs"} {
		if _, there := got.Results[0][key]; !there {
			t.Errorf("a result has no %s: %v", key, got.Results[0])
		}
	}
	checkBenchfmt(t, lines.String(), 24)
	for title, want := range map[string]int{"throughput, one at a time": 1,
		"throughput, batches of 50": 1, "kv, ranks 1": 2, "kv, ranks 2": 2,
		"share of reads that takes so long, ranks 2, one at a time":  1,
		"share of writes that takes so long, ranks 2, one at a time": 1,
		"F": 4, "C": 3, "load": 3} {
		if n := strings.Count(svg.String(), ">"+title+"<"); n != want {
			t.Errorf("the plot says %q %d times, want %d", title, n, want)
		}
	}
	if err := new(KVReport).WritePlot(&svg, "svg"); err == nil {
		t.Error("nothing is drawn without an error")
	}
}
