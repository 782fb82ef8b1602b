package lp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/limit"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// mapsExperiment is an index beside maps of one process.
func mapsExperiment() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "maps",
		Short: "Lookups of an index beside maps of one process and the limit of the memory",
		Long: `Measures how many keys that are there, drawn evenly before the clock runs, are looked
up a second: in an index, one at a time (index-get, index-lookup) and in batches, in
github.com/cockroachdb/swiss and in a Go map, which all ranks read. Of each value the first and the
last 8 bytes are added up and compared with what they should be. limit is random reads of a word,
prefetched, in memory as large as the index. All take turns, over the same tables.`,
		Takes:   "80 s",
		Example: "--shape 16+100 --records 16Mi",
		Ranks:   []int{1, 2}, Runs: 1,
		Views: []view.View{{Name: "LPMaps", Title: "lookups, million keys/s of all ranks",
			Columns: []view.Column{{Unit: "Mop/s", Head: "M/s", Spread: true}}, Across: "ranks",
			Plots: []view.Plot{{Title: "lookups", Panel: "shape", X: "impl", Y: "Mop/s",
				YName: "million lookups/s"}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			t := &maps{}
			experiment.ChoiceVar(flags, &t.shapes, "shape", mapShapes, mapShapes,
				"bytes of keys and values")
			experiment.ChoiceVar(flags, &t.impls, "impl", mapImpls, mapImpls, "what is measured")
			countFlags(flags, &t.records, &t.lookups, 1<<20)
			flags.IntVar(&t.turns, "turns", 5, "how often each is measured, in turns")
			_ = flags.Set("records", "4Mi")
			flags.Lookup("records").DefValue = "4Mi"
			return t
		},
	}
}

// mapShape is the bytes of keys and values.
type mapShape string

const (
	words   mapShape = "8+8"
	structs mapShape = "16+100"
	texts   mapShape = "5-40+8" // keys are strings of 5 to 40 bytes
)

var mapShapes = []mapShape{words, structs, texts}

// mapImpl is a way to look up.
type mapImpl string

const (
	indexGet    mapImpl = "index-get"
	indexLookup mapImpl = "index-lookup"
	indexBatch  mapImpl = "index-batch"
	swissMap    mapImpl = "swiss" // github.com/cockroachdb/swiss
	goMap       mapImpl = "go-map"
	limitReads  mapImpl = "limit"
)

var mapImpls = []mapImpl{indexGet, indexLookup, indexBatch, swissMap, goMap, limitReads}

const leastString, longestString = 5, 40

// config is the index for a shape.
func (s mapShape) config() index.Config {
	switch s {
	case structs:
		return index.Config{KeySize: 16, ValueSize: 100}
	case texts:
		return index.Config{KeySize: longestString, VariableKeys: true, ValueSize: 8}
	}
	return index.Config{KeySize: 8, ValueSize: 8}
}

// fill writes record number i into key and value, which have room for the longest, and returns
// the key. Keys of different numbers below 2^32 differ.
func (s mapShape) fill(i uint64, key, value []byte) []byte {
	if s == texts {
		key = key[:leastString+measure.Mix64(i)%(longestString-leastString+1)]
	}
	binary.LittleEndian.PutUint32(key, uint32(i)*0x9E3779B1)
	measure.FillBytes(key[4:], i)
	measure.FillBytes(value, i+golden)
	return key
}

// ends is what is added up of a value.
func ends(v []byte) uint64 {
	return binary.LittleEndian.Uint64(v) + binary.LittleEndian.Uint64(v[len(v)-8:])
}

// maps runs it.
type maps struct {
	shapes           []mapShape
	impls            []mapImpl
	records, lookups experiment.Count
	turns            int
	peers            map[mapImpl]peer // of the ranks of this process
}

// Check refuses what makes no sense.
func (t *maps) Check() error {
	if _, processes, err := farhash.Launched(); err != nil || processes {
		return errors.Join(err, errors.New("maps are of one process; start it without a launcher"))
	}
	return errors.Join(checkCounts(t.records, t.lookups),
		experiment.InRange("turns", t.turns, 1, 1000))
}

// Round measures all shapes.
func (t *maps) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	for _, shape := range t.shapes {
		if err := t.shape(ctx, job, shape, emit); err != nil {
			return fmt.Errorf("%s: %w", shape, err)
		}
	}
	return nil
}

// shape makes the tables of a shape, and then has all ways to look up take turns.
func (t *maps) shape(ctx context.Context, job rma.Job, shape mapShape,
	emit experiment.Emit) error {
	if job.Rank() == 0 {
		t.peers = map[mapImpl]peer{}
		for _, impl := range t.impls {
			if impl == swissMap || impl == goMap {
				t.peers[impl] = newPeer(impl, shape, uint64(t.records))
			}
		}
		runtime.GC()
	}
	x, err := index.Build(ctx, job, shape.config(), func(yield func(index.Record, error) bool) {
		key, value := make([]byte, shape.config().KeySize), make([]byte, shape.config().ValueSize)
		for i := uint64(job.Rank()); i < uint64(t.records); i += uint64(job.Size()) {
			if !yield(index.Record{Key: shape.fill(i, key, value), Value: value}, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	flat, release, err := memory.Words(int(x.Info().SegmentBytes) / 8)
	if err != nil {
		return err
	}
	sample := newMapSample(job.Rank(), shape, uint64(t.records), int(t.lookups), len(flat))
	tables := mapTables{x: x, flat: flat}
	tables.way, err = limit.Choose(func(w limit.Way) (float64, error) {
		err := job.Barrier(ctx)
		start := time.Now()
		w.Reads(flat, sample.places)
		return 1 / time.Since(start).Seconds(), err
	})
	for turn := 0; turn < t.turns && err == nil; turn++ {
		for _, impl := range t.impls {
			if err == nil {
				tables.peer = t.peers[impl]
				err = t.measure(ctx, job, impl, tables, sample, emit)
			}
		}
	}
	err = errors.Join(err, job.Barrier(ctx), release(), x.Close())
	if job.Rank() == 0 {
		t.peers = nil
	}
	return err
}

// mapTables are what is looked up in.
type mapTables struct {
	x    *index.Index
	peer peer
	flat []uint64
	way  limit.Way // the fastest one to read flat
}

// measure measures a way to look up. Collective.
func (t *maps) measure(ctx context.Context, job rma.Job, impl mapImpl, tables mapTables,
	sample *mapSample, emit experiment.Emit) error {
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	start := time.Now()
	sum, err := sample.run(impl, tables)
	elapsed := time.Since(start)
	if err == nil && sum != sample.want && impl != limitReads {
		err = fmt.Errorf("%s: what was found adds up to %d, and should to %d", impl, sum,
			sample.want)
	}
	if err != nil {
		return err
	}
	return keepRate(ctx, job, emit, record.Record{Name: "LPMaps",
		N: int(t.lookups) * job.Size(), Keys: []record.Key{record.K("shape", string(sample.shape)),
			record.K("impl", string(impl)), record.K("records", t.records.String()),
			record.K("lookups", t.lookups.String())}}, elapsed)
}

// mapSample is keys that are there, in the forms in which they are looked up.
type mapSample struct {
	shape   mapShape
	joined  []byte
	list    [][]byte
	strings []string
	places  []uint64
	want    uint64
}

func newMapSample(rank int, shape mapShape, records uint64, n, flat int) *mapSample {
	s := &mapSample{shape: shape}
	rng := rand.New(rand.NewPCG(1, uint64(rank)))
	cfg := shape.config()
	room, value := make([]byte, cfg.KeySize), make([]byte, cfg.ValueSize)
	var sizes []int
	for range n {
		key := shape.fill(rng.Uint64N(records), room, value)
		s.want += ends(value)
		s.joined = append(s.joined, key...)
		sizes = append(sizes, len(key))
		s.places = append(s.places, rng.Uint64N(uint64(flat)))
	}
	text := string(s.joined)
	at := 0
	for _, size := range sizes {
		s.list = append(s.list, s.joined[at:at+size:at+size])
		s.strings = append(s.strings, text[at:at+size])
		at += size
	}
	return s
}

// run looks all keys up, and returns the sum of what was found.
func (s *mapSample) run(impl mapImpl, in mapTables) (sum uint64, err error) {
	found := func(_ int, v index.Value) { sum += ends(v) }
	switch impl {
	case indexGet:
		var value []byte
		for _, key := range s.list {
			if value, _, err = in.x.Get(key, value[:0]); err != nil {
				return 0, err
			}
			sum += ends(value)
		}
	case indexLookup:
		for _, key := range s.list {
			for v, err := range in.x.Lookup(key) {
				if err != nil {
					return 0, err
				}
				sum += ends(v)
			}
		}
	case indexBatch:
		for from := 0; from < len(s.list) && err == nil; from += batchKeys {
			to := min(from+batchKeys, len(s.list))
			if size := in.x.Config().KeySize; s.shape == texts {
				err = in.x.LookupKeys(s.list[from:to], found)
			} else {
				err = in.x.LookupBatch(s.joined[from*size:to*size], found)
			}
		}
	case limitReads:
		sum = in.way.Reads(in.flat, s.places)
	default:
		sum = in.peer(s)
	}
	return sum, err
}
