package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

// KVCounts counts the round trips of package kv by load, as NE Table 1 does: the command
// farhash bench kv --table1.
//
// For each kind of pairs rank 0 fills an empty map, alone, up to each load in turn. There it
// counts puts of new keys in the last 2% before that load, and then gets, puts and deletes of
// keys that are there and gets of keys that are not, drawn evenly. What was deleted is put
// back. Nothing is timed. Each round has other keys; counts are means of all rounds.
type KVCounts struct {
	cfg KVCountsConfig

	mu     sync.Mutex
	rounds uint64
	counts map[kvCell][]KVTrips // one for each round
	paper  map[float64][]KVPaper
}

// KVPair is a kind of pairs and of slots.
type KVPair struct {
	KeyBytes   int  `json:"keyBytes"`
	ValueBytes int  `json:"valueBytes"`
	Copies     bool `json:"copies"` // slots have copies of small pairs
}

// kvPairs are what is counted.
var kvPairs = []KVPair{{8, 8, true}, {8, 100, true}, {8, 100, false}}

// fits tells whether a get finds the pair in the slot.
func (p KVPair) fits() bool { return p.Copies && p.KeyBytes+p.ValueBytes <= 16 }

func (p KVPair) String() string {
	slots := "slots of a word"
	if p.Copies {
		slots = "slots with copies"
	}
	return fmt.Sprintf("%d+%d bytes, %s", p.KeyBytes, p.ValueBytes, slots)
}

// KVLoads are the loads of NE Table 1.
func KVLoads() []float64 { return []float64{.1, .25, .5, .75, .9} }

type kvCell struct {
	pair KVPair
	load float64
}

// KVTrips are means of round trips of an operation.
type KVTrips struct {
	PutNew     float64 `json:"putNew"`
	PutPresent float64 `json:"putPresent"`
	Get        float64 `json:"get"`
	GetAbsent  float64 `json:"getAbsent"`
	Delete     float64 `json:"delete"`
}

// KVCountsConfig says what is counted. All ranks give the same.
type KVCountsConfig struct {
	Slots uint64 // of all ranks; 0: DefaultKVSlots
	// Progress is told on rank 0 what has been counted, if not nil.
	Progress func(pair KVPair, load float64, trips KVTrips)
}

const (
	// DefaultKVSlots is how many slots the maps of KVCounts have.
	DefaultKVSlots = 1 << 16
	// MaxKVSlots is the most.
	MaxKVSlots = 1 << 26

	minKVSlots = 1 << 10
	kvInterval = 0.02    // of the load, where puts of new keys are counted
	kvCounted  = 1 << 13 // other operations that are counted at a load
	kvSpare    = 256     // items more than slots: those that wait to be used again
)

// NewKVCounts checks and completes cfg.
func NewKVCounts(cfg KVCountsConfig) (*KVCounts, error) {
	if cfg.Slots == 0 {
		cfg.Slots = DefaultKVSlots
	}
	if cfg.Slots < minKVSlots || cfg.Slots > MaxKVSlots {
		return nil, fmt.Errorf("bench: slots must be %d to %d, not %d", minKVSlots, MaxKVSlots,
			cfg.Slots)
	}
	return &KVCounts{cfg: cfg, counts: map[kvCell][]KVTrips{},
		paper: map[float64][]KVPaper{}}, nil
}

// Round counts everything once. Collective. When it fails or ctx ends, what was counted
// remains.
func (c *KVCounts) Round(ctx context.Context, job rma.Job) error {
	for _, pair := range kvPairs {
		ranks := uint64(job.Size())
		m, err := kv.New(ctx, job, kv.Config{SlotsPerRank: (c.cfg.Slots + ranks - 1) / ranks,
			BytesPerRank: (c.cfg.Slots + kvSpare) * kvItemBytes(pair.KeyBytes, pair.ValueBytes),
			MaxKey:       pair.KeyBytes, MaxValue: pair.ValueBytes, Copies: pair.Copies})
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			err = c.count(ctx, m, pair)
		}
		if err == nil {
			err = job.Barrier(ctx)
		}
		if err := errors.Join(err, m.Close()); err != nil {
			return fmt.Errorf("bench: round trips of kv, %v: %w", pair, err)
		}
	}
	c.mu.Lock()
	seed := c.rounds
	c.mu.Unlock()
	if err := c.countPaper(ctx, job, seed); err != nil {
		return err
	}
	if job.Rank() == 0 {
		c.mu.Lock()
		c.rounds++
		c.mu.Unlock()
	}
	return nil
}

// kvItemBytes is what a pair takes of kv.Config.BytesPerRank.
func kvItemBytes(keyBytes, valueBytes int) uint64 {
	const head, least = 24, 64
	whole := func(n int) int { return (n + 7) / 8 * 8 }
	size := least
	for size < head+whole(keyBytes)+whole(valueBytes) {
		size *= 2
	}
	return uint64(size)
}

// count raises the load of m, and counts.
func (c *KVCounts) count(ctx context.Context, m *kv.Map, pair KVPair) error {
	c.mu.Lock()
	seed := c.rounds
	c.mu.Unlock()
	w := kvCounter{m: m, first: seed << 32, rng: rand.New(rand.NewPCG(seed, 0)),
		key: make([]byte, pair.KeyBytes), value: make([]byte, pair.ValueBytes),
		scratch: make([]byte, pair.ValueBytes)}
	for _, load := range KVLoads() {
		if err := w.fill(ctx, load-kvInterval); err != nil {
			return err
		}
		trips, err := w.at(ctx, load)
		if err != nil {
			return err
		}
		c.mu.Lock()
		of := kvCell{pair, load}
		c.counts[of] = append(c.counts[of], trips)
		c.mu.Unlock()
		if c.cfg.Progress != nil {
			c.cfg.Progress(pair, load, trips)
		}
	}
	return nil
}

// kvCounter counts the round trips of one map.
type kvCounter struct {
	m     *kv.Map
	rng   *rand.Rand
	first uint64 // number of the first key
	keys  uint64 // that are there
	stamp uint64

	key, value, scratch []byte
}

// fill puts new keys until the map has a load.
func (w *kvCounter) fill(ctx context.Context, load float64) error {
	for to := uint64(load * float64(w.m.Slots())); w.keys < to; w.keys++ {
		if err := w.put(w.keys); err != nil {
			return err
		}
		if w.keys%stepWords == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// at counts at a load.
func (w *kvCounter) at(ctx context.Context, load float64) (trips KVTrips, err error) {
	before := w.m.Stats().Kinds[kv.Put]
	if err := w.fill(ctx, load); err != nil {
		return trips, err
	}
	trips.PutNew = kvMean(before, w.m.Stats().Kinds[kv.Put])
	var some []uint64
	for _, i := range w.rng.Perm(int(w.keys))[:min(kvCounted, w.keys)] {
		some = append(some, uint64(i))
	}
	for _, of := range []struct {
		kind kv.Kind
		do   func(uint64) error
		to   *float64
	}{
		{kv.Put, w.put, &trips.PutPresent},
		{kv.Get, w.get, &trips.Get},
		{kv.Get, func(i uint64) error { return w.absent(i + w.m.Slots()) }, &trips.GetAbsent},
		{kv.Delete, w.delete, &trips.Delete},
	} {
		if *of.to, err = w.mean(ctx, of.kind, some, of.do); err != nil {
			return trips, err
		}
	}
	for _, i := range some {
		if err := errors.Join(w.absent(i), w.put(i)); err != nil {
			return trips, err
		}
	}
	return trips, nil
}

// mean is that of the round trips of do with some keys.
func (w *kvCounter) mean(ctx context.Context, kind kv.Kind, some []uint64,
	do func(uint64) error) (float64, error) {
	before := w.m.Stats().Kinds[kind]
	for _, i := range some {
		if err := do(i); err != nil {
			return 0, err
		}
	}
	after := w.m.Stats().Kinds[kind]
	if n := after.Calls - before.Calls; n != uint64(len(some)) {
		return 0, fmt.Errorf("the map has counted %d calls of %v, not %d: it is wrong", n, kind,
			len(some))
	}
	return kvMean(before, after), ctx.Err()
}

func kvMean(before, after kv.KindStats) float64 {
	return float64(after.RoundTrips-before.RoundTrips) / float64(max(1, after.Calls-before.Calls))
}

func (w *kvCounter) put(i uint64) error {
	w.stamp++
	fillKey(w.key, w.first+i)
	fillValue(w.value, w.first+i, w.stamp)
	_, err := w.m.Put(w.key, w.value)
	return err
}

func (w *kvCounter) get(i uint64) error {
	fillKey(w.key, w.first+i)
	value, _, ok, err := w.m.Get(w.key, w.value[:0])
	right := ok && len(value) == len(w.scratch) && rightValue(value, w.first+i, w.scratch)
	if err == nil && !right {
		err = fmt.Errorf("key %d has not the value that was put: the map is wrong", i)
	}
	return err
}

func (w *kvCounter) absent(i uint64) error {
	fillKey(w.key, w.first+i)
	_, _, ok, err := w.m.Get(w.key, nil)
	if ok {
		err = fmt.Errorf("key %d is found, and it is not there: the map is wrong", i)
	}
	return err
}

func (w *kvCounter) delete(i uint64) error {
	fillKey(w.key, w.first+i)
	ok, err := w.m.Delete(w.key)
	if err == nil && !ok {
		err = fmt.Errorf("key %d is not found, and it is there: the map is wrong", i)
	}
	return err
}
