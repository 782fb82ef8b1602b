package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	_ "image/png"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// The laws of keys are those of MD 5.2, by their known figures.
func TestKeyLaws(t *testing.T) {
	law := newKeyLaw(ZipfKeys, DefaultKeySpace)
	total := law.sums[len(law.sums)-1]
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 500_000
	counts := make([]int, DefaultKeySpace)
	distinct := 0
	for range draws {
		i := law.draw(rng)
		if counts[i]++; counts[i] == 1 {
			distinct++
		}
	}
	share := func(keys int) float64 {
		n := 0
		for _, count := range counts[:keys] {
			n += count
		}
		return float64(n) / draws
	}
	for _, c := range []struct {
		keys int
		want float64
	}{{1, .06665}, {10, .1970}, {100, .3529}, {DefaultKeySpace / 100, .657}} {
		if weight := law.sums[c.keys-1] / total; math.Abs(weight-c.want) > 1e-3*c.want {
			t.Errorf("the hottest %d keys weigh %.5f, want %v", c.keys, weight, c.want)
		}
		if got := share(c.keys); math.Abs(got-c.want) > 0.003 {
			t.Errorf("the hottest %d keys are drawn with a share of %.5f, want %v", c.keys, got,
				c.want)
		}
	}
	if math.Abs(float64(distinct)-127_400) > 1000 {
		t.Errorf("%d draws have %d distinct keys, want about 127400", draws, distinct)
	}
	even := newKeyLaw(UniformKeys, 50)
	seen := make([]int, 50)
	for range 50_000 {
		seen[even.draw(rng)]++
	}
	if slices.Min(seen) < 800 || slices.Max(seen) > 1200 {
		t.Errorf("50000 even draws of 50 keys: %v", seen)
	}
}

// A value passes for its own key alone, and no mixture of two values does.
func TestValuesTellTheirKey(t *testing.T) {
	for _, size := range []int{8, 9, 16, 17, 104} {
		value, other, scratch := make([]byte, size), make([]byte, size), make([]byte, size)
		fillValue(value, 7, 0)
		fillValue(other, 7, 1<<40|1)
		for name, c := range map[string]struct {
			value  []byte
			number uint64
			want   bool
		}{
			"own":         {value, 7, true},
			"own, later":  {other, 7, true},
			"another key": {value, 8, false},
			"mixed":       {slices.Concat(value[:size/2], other[size/2:]), 7, false},
			"last bit":    {slices.Concat(value[:size-1], []byte{value[size-1] ^ 1}), 7, false},
			"zeros":       {make([]byte, size), 7, false},
		} {
			if got := rightValue(c.value, c.number, scratch); got != c.want {
				t.Errorf("%d bytes, %s: right is %v", size, name, got)
			}
		}
	}
}

// The streams have exact numbers, reads repeat the writes, and pieces keep the order in
// which batches want it.
func TestCacheStreams(t *testing.T) {
	cfg := CacheConfig{Operations: 1010, KeySpace: 300, Batches: []int{1, 64}}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	law := newKeyLaw(ZipfKeys, cfg.KeySpace)
	for _, batch := range cfg.Batches {
		var stamp uint64
		drawn := map[CacheWorkload][]uint64{}
		for _, w := range CacheWorkloads() {
			s := newCacheStream(law, w, 3, cfg.Operations, &stamp)
			piece := newCachePiece(&cfg)
			puts := 0
			for s.reads+s.puts > 0 {
				piece.fill(s, batch)
				for i := range piece.n {
					if piece.puts[i] {
						puts++
					} else if i%batch > 0 && piece.puts[i-1] && batch > 1 {
						t.Fatalf("%s: a read stands behind a put of its batch", w)
					}
				}
				drawn[w] = append(drawn[w], piece.numbers[:piece.n]...)
			}
			want := map[CacheWorkload]int{CacheWrite: 1010, CacheRead: 0, CacheMixed: 51}[w]
			if puts != want || len(drawn[w]) != 1010 {
				t.Errorf("%s: %d puts among %d operations", w, puts, len(drawn[w]))
			}
		}
		slices.Sort(drawn[CacheWrite])
		slices.Sort(drawn[CacheRead])
		if !slices.Equal(drawn[CacheWrite], drawn[CacheRead]) || stamp != 1010+51 {
			t.Errorf("reads do not ask for what was written, or %d stamps were used", stamp)
		}
	}
}

func measureCache(t *testing.T, cfg CacheConfig, opts local.Options, rounds int,
	ranks ...int) *CacheBench {
	t.Helper()
	b, err := NewCache(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		for _, n := range ranks {
			err := local.RunWith(opts, n, func(job rma.Job) error {
				return b.Round(context.Background(), job)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// smallCache has room for all keys.
var smallCache = CacheConfig{Operations: 500, KeySpace: 400, BucketsPerRank: 4096,
	Batches: []int{1, 60}}

// All is measured in turns, on both paths, and what was written is found.
func TestCacheRounds(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		b := measureCache(t, smallCache, local.Options{Hidden: hidden}, 2, 1, 3)
		r := b.Report("test")
		if want := 2 * 3 * 2 * 2 * 3; len(r.Results) != want || len(r.Samples) != 2*want {
			t.Fatalf("%d results of %d samples, want %d", len(r.Results), len(r.Samples), want)
		}
		for i, mode := range []cache.Mode{cache.LockFree, cache.Fine, cache.Coarse} {
			if got := r.Samples[3*i].Mode; got != mode {
				t.Errorf("sample %d is %v, want %v", 3*i, got, mode)
			}
		}
		for _, is := range r.Results {
			reads := map[CacheWorkload]int{CacheRead: 500, CacheMixed: 475}[is.Workload]
			writes := 500 - reads
			if is.Reads != uint64(2*is.Ranks*reads) || is.Writes != uint64(2*is.Ranks*writes) ||
				is.Runs != 2 || is.Wrong != 0 {
				t.Errorf("%+v: want %d reads and %d writes of each rank and run", is, reads, writes)
			}
			if is.KopsMin <= 0 || is.Kops < is.KopsMin || is.KopsMax < is.Kops {
				t.Errorf("%+v: median, least and largest make no sense", is)
			}
			if is.Workload == CacheRead && is.Ranks == 1 && is.Hits != is.Reads {
				t.Errorf("%+v: not all is found", is)
			}
			if is.RatioToFine == nil || *is.RatioToCoarse <= 0 {
				t.Errorf("%+v: ratios are missing", is)
			}
		}
		if b.Wrong() != 0 {
			t.Errorf("%d values are wrong", b.Wrong())
		}
	}
}

// A value that nobody has written for its key is counted.
func TestWrongValuesAreCounted(t *testing.T) {
	cfg := smallCache
	b, err := NewCache(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const broken = 3 // key
	err = local.Run(2, func(job rma.Job) error {
		ctx := context.Background()
		r := cacheRun{bench: b, job: job, piece: newCachePiece(&b.cfg),
			of: CacheCase{Keys: ZipfKeys, Ranks: 2, Batch: 1}}
		if err := r.open(ctx); err != nil {
			return err
		}
		if _, err := r.workload(ctx, CacheWrite); err != nil {
			return err
		}
		key, value := make([]byte, DefaultKeyBytes), make([]byte, DefaultValueBytes)
		fillKey(key, broken)
		fillValue(value, broken+1, 9)
		if _, err := r.cache.Put(key, value); err != nil {
			return err
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		s, err := r.workload(ctx, CacheRead)
		if err == nil && job.Rank() == 0 {
			b.keep(s)
		}
		return errors.Join(err, job.Barrier(ctx), r.cache.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	var want uint64
	for rank := range 2 {
		var stamp uint64
		s := newCacheStream(b.laws[ZipfKeys], CacheRead, rank, cfg.Operations, &stamp)
		for s.reads > 0 {
			if number, _ := s.one(); number == broken {
				want++
			}
		}
	}
	if r := b.Report("test"); want == 0 || b.Wrong() != want || r.Results[0].Wrong != want {
		t.Errorf("%d wrong values, want %d: %+v", b.Wrong(), want, r.Results)
	}
}

// When the context ends, what was measured before remains.
func TestCacheInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := smallCache
	cfg.Progress = func(CacheSample) { cancel() }
	b, err := NewCache(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = local.Run(2, func(job rma.Job) error { return b.Round(ctx, job) })
	if r := b.Report("test"); !errors.Is(err, context.Canceled) || len(r.Results) != 1 {
		t.Errorf("%v, %d results, want the one before the interruption", err, len(r.Results))
	}
}

func TestCacheRefusals(t *testing.T) {
	for name, c := range map[string]CacheConfig{
		"mode":           {Modes: []cache.Mode{7}},
		"mode twice":     {Modes: []cache.Mode{cache.Fine, cache.Fine}},
		"keys":           {Keys: []CacheKeys{"odd"}},
		"workload":       {Workloads: []CacheWorkload{"none"}},
		"batch":          {Batches: []int{0}},
		"large batch":    {Batches: []int{1 << 21}},
		"batch of much":  {Batches: []int{1 << 20}, ValueBytes: 1024},
		"batch twice":    {Batches: []int{8, 8}},
		"operations":     {Operations: -1},
		"short key":      {KeyBytes: 7},
		"short value":    {ValueBytes: 7},
		"long pair":      {KeyBytes: 1 << 16, ValueBytes: 1<<16 + 1},
		"keys to draw":   {KeySpace: MaxKeySpace + 1},
		"no keys":        {KeySpace: -1},
		"too many slots": {BucketsPerRank: cache.MaxBuckets + 1},
	} {
		if _, err := NewCache(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewCache(CacheConfig{}); err != nil {
		t.Error(err)
	}
}

// The report is printed in all forms, and drawn.
func TestCacheReport(t *testing.T) {
	r := measureCache(t, smallCache, local.Options{}, 1, 1, 2).Report("farhash bench cache --test")
	var text, object, lines, png, svg bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&object), r.WriteBenchfmt(&lines),
		r.WritePlot(&png, "png"), r.WritePlot(&svg, "svg")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"farhash bench cache --test", "lock-free", "zipf", "mismatches",
		"400 keys of 80 bytes", "a rank has 4Ki buckets (768 KiB)"} {
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
	if len(got.Results) != 72 || got.Setting["keyBytes"] != 80.0 || got.Machine["cpu"] == "" {
		t.Errorf("%d results, setting %v, machine %v", len(got.Results), got.Setting, got.Machine)
	}
	for _, key := range []string{"mode", "keys", "workload", "ranks", "batch", "kops", "kopsMin",
		"access", "kopsMax", "ratioToFine", "ratioToCoarse", "ratioToOneSided", "reads",
		"hits", "writes", "evicted", "mismatches", "lockWaits", "wrong", "runs"} {
		if _, there := got.Results[0][key]; !there {
			t.Errorf("a result has no %s: %v", key, got.Results[0])
		}
	}
	checkBenchfmt(t, lines.String(), 72)
	if _, format, err := image.Decode(&png); err != nil || format != "png" {
		t.Errorf("the plot is %s, %v", format, err)
	}
	for title, want := range map[string]int{"reads, uniform keys": 1, "writes, zipf keys": 1,
		"95% reads, 5% writes, uniform keys": 1, "lock-free, one at a time": 1,
		"coarse, batches of 60": 1} {
		if n := strings.Count(svg.String(), ">"+title+"<"); n != want {
			t.Errorf("the plot says %q %d times, want %d", title, n, want)
		}
	}
	if err := new(CacheReport).WritePlot(&svg, "svg"); err == nil {
		t.Error("nothing is drawn without an error")
	}
}
