package net

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// Loss is what a batch takes on a slow network that loses messages, on a simulated cluster.
func Loss() *experiment.Experiment {
	whole := func(unit, head string) view.Column {
		return view.Column{Unit: unit, Head: head, Whole: true}
	}
	return &experiment.Experiment{
		Name:  "loss",
		Short: "batches on a slow network that loses messages, simulated",
		Long: `Has the ranks of a simulated cluster run batches of one-sided operations:
find-or-put of new words (set), puts and gets of a cache and of a map (kv), puts of a map that
begins with 8,192 slots and has to grow (kv-grow), and lookups of an index. The code of the tables
is the real one, the network and the time are simulated. Everything is done without losses, and
again with one message lost in so many; it is sent again after a while, and what follows it between
the same two ranks waits. Milliseconds of virtual time are of one batch; trips is the mean in round
trips.`,
		Takes:   "10 s",
		Runs:    1,
		Example: "--round-trip 2ms --lose 1000",
		Views: []view.View{{Name: "NetLoss", Title: "batches in virtual time", Across: "loss",
			Columns: []view.Column{whole("virtual-ms", "ms"), whole("p50-ms", "p50"),
				whole("max-ms", "max"), {Unit: "trips", Digits: 1}},
			Plots: []view.Plot{{Title: "a batch", Panel: "loss", X: "table", Y: "virtual-ms"}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			l := &loss{}
			flags.IntVar(&l.ranks, "ranks", 2, "ranks, each on a host of its own")
			flags.DurationVar(&l.roundTrip, "round-trip", 20*time.Millisecond,
				"time of a message and its answer")
			flags.IntVar(&l.lose, "lose", 100, "of so many messages one is lost")
			flags.DurationVar(&l.resend, "resend", 200*time.Millisecond,
				"after which a lost message is sent again; twice as long each time")
			flags.IntVar(&l.batch, "batch", 256, "operations of a batch")
			flags.IntVar(&l.depth, "depth", 64, "operations in flight")
			flags.IntVar(&l.batches, "batches", 30, "batches of each rank")
			return l
		},
	}
}

// loss runs what the flags say.
type loss struct {
	ranks, lose, batch, batches, depth int
	roundTrip, resend                  time.Duration
}

// Check refuses what makes no sense.
func (l *loss) Check() error {
	return errors.Join(experiment.InRange("ranks", l.ranks, 2, 1<<10),
		experiment.InRange("round-trip", l.roundTrip.Seconds(), 1e-6, 60),
		experiment.InRange("lose", l.lose, 2, 1<<30),
		experiment.InRange("resend", l.resend.Seconds(), 1e-6, 3600),
		experiment.InRange("batch", l.batch, 1, 1<<16),
		experiment.InRange("depth", l.depth, 1, 1<<12),
		experiment.InRange("batches", l.batches, 1, 1<<16))
}

// lossTables make a table, and return what runs a batch on it.
var lossTables = []struct {
	name string
	open func(l *loss, ctx context.Context, job *sim.Job) (batch func() error, err error)
}{
	{"set", (*loss).set}, {"cache-put", (*loss).cachePut}, {"cache-get", (*loss).cacheGet},
	{"kv-put", (*loss).kvPut}, {"kv-get", (*loss).kvGet}, {"kv-grow", (*loss).kvGrow},
	{"index", (*loss).index},
}

// Round simulates everything once.
func (l *loss) Round(ctx context.Context, job rma.Job, seed uint64, emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, every := range []int{0, l.lose} {
		for _, table := range lossTables {
			var took []int64 // of the batches of all ranks, in ns
			_, err := sim.Run(l.options(ctx, every, seed), func(job rma.Job) error {
				return l.measure(ctx, job.(*sim.Job), table.open, &took)
			})
			if err != nil {
				return fmt.Errorf("%s, one message of %d lost: %w", table.name, every, err)
			}
			emit(l.record(table.name, every, took))
		}
	}
	return job.Barrier(ctx)
}

// options are a cluster that loses one message of so many, or none.
func (l *loss) options(ctx context.Context, every int, seed uint64) sim.Options {
	cost := sim.EDR()
	cost.LatencyNs = float64(l.roundTrip.Nanoseconds()) / 2
	return sim.Options{Ranks: l.ranks, Seed: seed, Cost: cost, View: sim.ViewOwn,
		PatienceNs: rma.Patience.Nanoseconds(), Context: ctx, MaxSteps: math.MaxUint64,
		Faults: sim.Faults{LossEvery: every, ResendNs: l.resend.Nanoseconds()}}
}

// measure runs the batches of one rank.
func (l *loss) measure(ctx context.Context, job *sim.Job,
	open func(*loss, context.Context, *sim.Job) (func() error, error), took *[]int64) error {
	batch, err := open(l, ctx, job)
	if err == nil {
		err = job.Barrier(ctx)
	}
	for i := 0; err == nil && i < l.batches; i++ {
		begin := job.NowNs()
		err = batch()
		*took = append(*took, job.NowNs()-begin)
	}
	if err != nil {
		return err
	}
	return job.Barrier(ctx)
}

func (l *loss) record(table string, every int, took []int64) record.Record {
	slices.Sort(took)
	total := int64(0)
	for _, ns := range took {
		total += ns
	}
	const ms = 1e6
	mean := float64(total) / float64(len(took))
	share := 0.0
	if every > 0 {
		share = 1 / float64(every)
	}
	return record.Record{Name: "NetLoss", N: len(took),
		Keys: []record.Key{record.K("ranks", l.ranks), record.K("rtt", l.roundTrip),
			record.K("batch", l.batch), record.K("table", table), record.K("loss", share)},
		Values: []record.Value{{Value: mean / ms, Unit: "virtual-ms"},
			{Value: float64(took[len(took)/2]) / ms, Unit: "p50-ms"},
			{Value: float64(took[len(took)-1]) / ms, Unit: "max-ms"},
			{Value: mean / float64(l.roundTrip.Nanoseconds()), Unit: "trips"}}}
}

const lossValue = 104 // bytes, beside a key of 8

// room is twice as many keys as all batches put.
func (l *loss) room() uint64 { return uint64(2 * l.ranks * l.batch * l.batches) }

// newKeys draws keys.
func newKeys(rng *rand.Rand, keys []byte) {
	for i := 0; i < len(keys); i += 8 {
		binary.LittleEndian.PutUint64(keys[i:], rng.Uint64())
	}
}

func (l *loss) set(ctx context.Context, job *sim.Job) (func() error, error) {
	table, err := set.New(ctx, job, set.Config{Buckets: l.room(), Depth: l.depth})
	rng, words, results := job.Rand(), make([]uint64, l.batch), make([]set.Result, l.batch)
	return func() error {
		for i := range words {
			words[i] = rng.Uint64() >> 1
		}
		return table.FindOrPutBatch(words, results)
	}, err
}

func (l *loss) newCache(ctx context.Context, job *sim.Job) (*cache.Cache, error) {
	return cache.New(ctx, job, cache.Config{KeySize: 8, ValueSize: lossValue, Buckets: l.room(),
		Depth: l.depth})
}

func (l *loss) cachePut(ctx context.Context, job *sim.Job) (func() error, error) {
	table, err := l.newCache(ctx, job)
	rng, keys, values := job.Rand(), make([]byte, 8*l.batch), make([]byte, lossValue*l.batch)
	results := make([]cache.Result, l.batch)
	return func() error {
		newKeys(rng, keys)
		return table.PutBatch(keys, values, results)
	}, err
}

func (l *loss) cacheGet(ctx context.Context, job *sim.Job) (func() error, error) {
	table, err := l.newCache(ctx, job)
	if err != nil {
		return nil, err
	}
	keys, values := make([]byte, 8*l.batch), make([]byte, lossValue*l.batch)
	found, results := make([]bool, l.batch), make([]cache.Result, l.batch)
	newKeys(job.Rand(), keys)
	return func() error { return table.GetBatch(keys, values, found) },
		table.PutBatch(keys, values, results)
}

// mapCalls makes a map with so many slots at first, and a batch of calls with keys and values.
func (l *loss) mapCalls(ctx context.Context, job *sim.Job, slots uint64) (*kv.Map, []byte,
	[]kv.Call, error) {
	table, err := kv.New(ctx, job, kv.Config{Slots: slots, MaxSlots: max(slots, l.room()),
		Bytes: 512 * l.room(), Depth: l.depth})
	keys, value, calls := make([]byte, 8*l.batch), make([]byte, lossValue), make([]kv.Call, l.batch)
	for i := range calls {
		calls[i] = kv.Call{Kind: kv.Put, Key: keys[8*i : 8*i+8], Value: value}
	}
	return table, keys, calls, err
}

func (l *loss) puts(ctx context.Context, job *sim.Job, slots uint64) (func() error, error) {
	table, keys, calls, err := l.mapCalls(ctx, job, slots)
	rng := job.Rand()
	return func() error {
		newKeys(rng, keys)
		return table.Batch(calls)
	}, err
}

func (l *loss) kvPut(ctx context.Context, job *sim.Job) (func() error, error) {
	return l.puts(ctx, job, l.room())
}

// kvGrow begins with as many slots as a map that is given no sizes.
func (l *loss) kvGrow(ctx context.Context, job *sim.Job) (func() error, error) {
	return l.puts(ctx, job, 1<<13)
}

func (l *loss) kvGet(ctx context.Context, job *sim.Job) (func() error, error) {
	table, keys, calls, err := l.mapCalls(ctx, job, l.room())
	if err != nil {
		return nil, err
	}
	newKeys(job.Rand(), keys)
	if err := table.Batch(calls); err != nil {
		return nil, err
	}
	for i := range calls {
		calls[i].Kind = kv.Get
	}
	return func() error {
		for i := range calls {
			calls[i].Value = calls[i].Value[:0]
		}
		return table.Batch(calls)
	}, nil
}

// index looks up keys that are there.
func (l *loss) index(ctx context.Context, job *sim.Job) (func() error, error) {
	keys, value := make([]byte, 8*l.batch), make([]byte, lossValue)
	newKeys(job.Rand(), keys)
	table, err := index.Build(ctx, job, index.Config{KeySize: 8, ValueSize: lossValue},
		func(yield func(index.Record, error) bool) {
			for i := range l.batch {
				if !yield(index.Record{Key: keys[8*i : 8*i+8], Value: value}, nil) {
					return
				}
			}
		})
	if err != nil {
		return nil, err
	}
	reader, err := table.NewReader(index.Lookups{Depth: l.depth})
	return func() error { return reader.LookupBatch(keys, func(int, index.Value) {}) }, err
}
