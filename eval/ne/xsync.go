package ne

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// impl of the stores that goroutines share.
const (
	xsyncMap impl = "xsync" // an xsync.Map
	named    impl = "named" // a map opened by name
)

// loops are how goroutines call a store.
type loops string

const (
	single  loops = "single"
	batches loops = "batches"
)

const wordBytes = 8

// Xsync is the map beside an xsync.Map.
func Xsync() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "xsync",
		Short: "the map beside an xsync.Map, in one process",
		Long: `Goroutines share a map of keys of 8 bytes, and read and write it: workload a (50%
reads), b (95%) and c (reads), on records drawn uniformly or with a skew of 0.99 (Zipf). Keys and
operations are drawn before. An xsync.Map of words is called in a plain loop; a map (kv), and a map
opened by name, in the same loop or in batches. All have values copied in and out. Every read has to
find its record.`,
		Takes: "2 min",
		Runs:  5,
		Views: []view.View{{Name: "Xsync", Title: "million operations a second of all goroutines",
			Across: "workload", Columns: []view.Column{{Unit: "Mop/s", Digits: 1},
				{Unit: "Mop/s", Head: "/ xsync", Digits: 2,
					Over: record.K("store", string(xsyncMap))}},
			Plots: []view.Plot{{Panel: "law", X: "workload", Y: "Mop/s"}}}},
		New: newXsync,
	}
}

// beside measures stores of one process.
type beside struct {
	stores     []impl
	laws       []measure.LawName
	workloads  []workload
	loops      []loops
	goroutines []int
	records    experiment.Count
	operations experiment.Count
	valueBytes int
	batch      int
	drawn      map[measure.LawName][]*draws // by goroutine
}

func newXsync(flags *pflag.FlagSet) experiment.Runner {
	b := &beside{drawn: map[measure.LawName][]*draws{}}
	all := []impl{xsyncMap, ours, named}
	experiment.ChoiceVar(flags, &b.stores, "store", all, all, "what is measured, a list of")
	experiment.ChoiceVar(flags, &b.laws, "law", measure.Laws(), measure.Laws(),
		"how records are drawn, a list of")
	reading := []workload{workloadA, workloadB, workloadC}
	experiment.ChoiceVar(flags, &b.workloads, "workload", reading, reading,
		"what goroutines do, a list of")
	ways := []loops{single, batches}
	experiment.ChoiceVar(flags, &b.loops, "loop", ways, ways, "how maps are called, a list of")
	flags.IntSliceVar(&b.goroutines, "goroutines", []int{1, 2}, "how many, a list")
	experiment.CountVar(flags, &b.records, "records", 1_000_000, "records of all")
	experiment.CountVar(flags, &b.operations, "ops", 500_000, "operations of each goroutine")
	flags.IntVar(&b.valueBytes, "value-bytes", 100, "length of values")
	flags.IntVar(&b.batch, "batch", usualBatch, "calls of a batch")
	return b
}

// Check refuses what makes no sense.
func (b *beside) Check() error {
	err := errors.Join(experiment.InRange("records", b.records, 1, maxRecords),
		experiment.InRange("ops", b.operations, 1, maxRecords),
		experiment.InRange("value-bytes", b.valueBytes, wordBytes, kv.MaxSize),
		experiment.InRange("batch", b.batch, 1, maxBatch))
	for _, n := range b.goroutines {
		err = errors.Join(err, experiment.InRange("goroutines", n, 1, maxBatch))
	}
	return err
}

// Round measures everything once.
func (b *beside) Round(ctx context.Context, _ rma.Job, _ uint64, emit experiment.Emit) error {
	for _, store := range b.stores {
		if err := b.measure(ctx, store, emit); err != nil {
			return fmt.Errorf("%s: %w", store, err)
		}
	}
	return nil
}

// measure does what is asked for with one store.
func (b *beside) measure(ctx context.Context, store impl, emit experiment.Emit) error {
	s, err := b.open(store)
	if err != nil {
		return err
	}
	for _, law := range b.laws {
		for _, n := range b.goroutines {
			for _, w := range b.workloads {
				for _, way := range b.loops {
					err = cmp.Or(err, ctx.Err(), b.one(s, store, law, n, w, way, emit))
				}
			}
		}
	}
	return errors.Join(err, s.close())
}

// one measures a store in one case.
func (b *beside) one(s peer, store impl, law measure.LawName, n int, w workload, way loops,
	emit experiment.Emit) error {
	elapsed, err := b.together(s, b.draws(law, n), w.writePercent(), way == batches)
	if err != nil {
		return err
	}
	ops := n * int(b.operations)
	emit(record.Record{Name: "Xsync", N: ops, Keys: []record.Key{
		record.K("law", string(law)), record.K("goroutines", n), record.K("loop", string(way)),
		record.K("store", string(store)), record.K("workload", string(w))},
		Values: []record.Value{{Value: float64(ops) / elapsed.Seconds() / 1e6, Unit: "Mop/s"}}})
	return nil
}

// together has goroutines do what was drawn for each, and returns how long the slowest took.
func (b *beside) together(s peer, all []*draws, writes uint64, batched bool) (
	slowest time.Duration, err error) {
	var ready, done sync.WaitGroup
	ready.Add(len(all))
	elapsed, errs := make([]time.Duration, len(all)), make([]error, len(all))
	for i, d := range all {
		done.Go(func() {
			c := &client{draws: d, writes: uint8(writes), batch: 1,
				value: make([]byte, b.valueBytes)}
			if batched {
				c.batch = b.batch
			}
			ready.Done()
			ready.Wait()
			begin := time.Now()
			errs[i] = s.run(c)
			elapsed[i] = time.Since(begin)
			if c.wrong > 0 {
				errs[i] = errors.Join(errs[i], fmt.Errorf("%d reads are wrong", c.wrong))
			}
		})
	}
	done.Wait()
	for _, d := range elapsed {
		slowest = max(slowest, d)
	}
	return slowest, errors.Join(errs...)
}

// draws is what a goroutine does, in the same order with every store.
type draws struct {
	keys    []byte  // words
	percent []uint8 // 0 to 99; a workload writes where it is small enough
}

// draws returns what each of n goroutines does.
func (b *beside) draws(of measure.LawName, n int) []*draws {
	law := measure.NewLaw(of, int(b.records))
	for i := len(b.drawn[of]); i < n; i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 0))
		d := &draws{make([]byte, int(b.operations)*wordBytes), make([]uint8, b.operations)}
		for k := range d.percent {
			d.percent[k] = uint8(rng.Uint64N(100))
			measure.FillKey(d.keys[k*wordBytes:(k+1)*wordBytes], law.Draw(rng))
		}
		b.drawn[of] = append(b.drawn[of], d)
	}
	return b.drawn[of][:n]
}

// client is what a goroutine needs to do what was drawn for it.
type client struct {
	*draws
	writes uint8 // percent
	batch  int
	value  []byte // to put
	wrong  int
}

// next is the key of operation i, and whether it writes the value, which begins with the key.
func (c *client) next(i int) (key []byte, write bool) {
	key = c.keys[i*wordBytes : (i+1)*wordBytes : (i+1)*wordBytes]
	if write = c.percent[i] < c.writes; write {
		copy(c.value, key)
	}
	return key, write
}

// check counts a value that was read and belongs to another key.
func (c *client) check(key, value []byte, ok bool) {
	if !ok || len(value) != len(c.value) ||
		binary.LittleEndian.Uint64(value) != binary.LittleEndian.Uint64(key) {
		c.wrong++
	}
}

// peer is a store that goroutines share.
type peer interface {
	run(c *client) error
	close() error
}

// open makes a store with all records.
func (b *beside) open(store impl) (peer, error) {
	s, err := b.empty(store)
	if err != nil {
		return nil, err
	}
	n := int(b.records)
	all := client{draws: &draws{make([]byte, n*wordBytes), make([]uint8, n)}, writes: 1,
		batch: usualBatch, value: make([]byte, b.valueBytes)}
	for i := range n {
		measure.FillKey(all.keys[i*wordBytes:(i+1)*wordBytes], uint64(i))
	}
	if err := s.run(&all); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// empty makes a store without records.
func (b *beside) empty(store impl) (peer, error) {
	switch store {
	case xsyncMap:
		return xsyncPeer{xsync.NewMap[uint64, []byte](xsync.WithPresize(int(b.records)))}, nil
	case named:
		name := fmt.Sprintf("farhash-eval-%d", os.Getpid())
		m, err := kv.Open(name, kv.Config{})
		return mapPeer{m, func() error { return kv.Remove(name) }}, err
	}
	job := local.Single()
	m, err := kv.New(context.Background(), job, kv.Config{})
	return mapPeer{m, job.Close}, err
}

// xsyncPeer is an xsync.Map.
type xsyncPeer struct{ m *xsync.Map[uint64, []byte] }

// run has no batches.
func (p xsyncPeer) run(c *client) error {
	room := make([]byte, 0, len(c.value))
	for i := range c.percent {
		key, write := c.next(i)
		if word := binary.LittleEndian.Uint64(key); write {
			p.m.Store(word, bytes.Clone(c.value))
		} else {
			value, ok := p.m.Load(word)
			c.check(key, append(room, value...), ok)
		}
	}
	return nil
}

func (p xsyncPeer) close() error { return nil }

// mapPeer is a map of package kv.
type mapPeer struct {
	m   *kv.Map
	end func() error // after its Close
}

func (p mapPeer) run(c *client) (err error) {
	if c.batch > 1 {
		return p.runBatches(c)
	}
	room := make([]byte, 0, len(c.value))
	for i := 0; i < len(c.percent) && err == nil; i++ {
		if key, write := c.next(i); write {
			_, err = p.m.Put(key, c.value)
		} else {
			var value []byte
			var ok bool
			value, _, ok, err = p.m.Get(key, room)
			c.check(key, value, ok)
		}
	}
	return err
}

// runBatches is run in batches. Each call has memory for its value.
func (p mapPeer) runBatches(c *client) error {
	calls, rooms := make([]kv.Call, 0, c.batch), make([]byte, c.batch*len(c.value))
	for i := 0; i < len(c.percent); i += len(calls) {
		calls = calls[:min(c.batch, len(c.percent)-i)]
		for k := range calls {
			room := rooms[k*len(c.value) : (k+1)*len(c.value) : (k+1)*len(c.value)]
			key, write := c.next(i + k)
			calls[k] = kv.Call{Key: key, Value: room[:0]}
			if write {
				calls[k].Kind, calls[k].Value = kv.Put, room
				copy(room, c.value)
			}
		}
		if err := p.m.Batch(calls); err != nil {
			return err
		}
		for k := range calls {
			if call := &calls[k]; call.Kind == kv.Get {
				c.check(call.Key, call.Value, call.Done)
			}
		}
	}
	return nil
}

func (p mapPeer) close() error { return errors.Join(p.m.Close(), p.end()) }
