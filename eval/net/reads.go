package net

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/set"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// choice is who has chosen how much a table reads at once.
type choice string

const (
	byCosts choice = "costs measured here" // as tables do
	byLP    choice = "costs of EDR"        // LP's machine
	byTrial choice = "best by trial"       // the fastest of all that were tried
)

// readLoads are loads at which searches are short, and ever longer.
func readLoads() []float64 { return []float64{.5, .8, .9, .95} }

var best = record.K("by", string(byTrial))

// Reads is how well tables choose how much they read at once.
func Reads() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "reads",
		Short: "LP 3.5: how much to read at once, by costs measured here, by LP's, and by trial",
		Long: `Looks up keys in the memory of another rank, one-sided: in an index without borders
and in a set, at loads up to 0.95, in batches and one at a time. Reads are as long as follows from
the costs of gets that the tables have measured themselves, from those of LP's network, and as is
fastest by trial of lengths from a line to 4 KiB and more. Rank 0 looks up, all others wait. In the
set the last two are fixed lengths, and the next chunk is requested ahead, as in OP.

It measures the engine that it is started on: -n 2 is queues over memory of this process; farhash
run -n 2 starts it over shared memory, and with --rendezvous over a network.`,
		Takes:    "two minutes",
		Ranks:    []int{2},
		Runs:     3,
		OneSided: true,
		Views: []view.View{{Name: "NetReads", Title: "lengths of reads, by load",
			Columns: []view.Column{{Unit: "kop/s", Head: "thousand a second", Spread: true},
				{Unit: "bytes", Head: "bytes of a read", Digits: 4},
				{Unit: "kop/s", Head: "/ best", Over: best}},
			Plots: []view.Plot{{Title: "batches in a set", X: "load", Y: "kop/s", Over: best,
				YName: "rate by that of the best", Where: []record.Key{record.K("table", "set"),
					record.K("calls", kinds[0])}}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			r := &reads{}
			experiment.CountVar(flags, &r.records, "records", 1<<18,
				"records, and buckets of the set")
			flags.IntVar(&r.depth, "in-flight", 64, "operations of a batch that are in flight")
			flags.DurationVar(&r.piece, "piece", 20*time.Millisecond,
				"about how long each of 7 measurements of a length takes")
			return r
		},
	}
}

// reads measures all loads.
type reads struct {
	records experiment.Count
	depth   int
	piece   time.Duration
}

// Check refuses what makes no sense.
func (r *reads) Check() error {
	return errors.Join(experiment.InRange("records", r.records, 1<<12, 1<<28),
		experiment.InRange("in-flight", r.depth, 1, maxInFlight),
		experiment.InRange("piece", r.piece.Seconds(), 0.001, 60))
}

// Round measures everything once.
func (r *reads) Round(ctx context.Context, job rma.Job, seed uint64, emit experiment.Emit) error {
	if job.Size() < 2 {
		return errors.New("this needs two ranks or more")
	}
	for _, load := range readLoads() {
		for _, table := range []func(context.Context, rma.Job, float64, uint64) ([]*candidate,
			func() error, error){r.ofIndex, r.ofSet} {
			if err := r.compare(ctx, job, load, seed, table, emit); err != nil {
				return fmt.Errorf("load %v: %w", load, err)
			}
		}
	}
	return nil
}

// candidate is a way to read.
type candidate struct {
	table  string
	choice choice                        // byTrial: one of those that are tried
	got    func() (reads, bytes float64) // so far
	batch  func(number int) error        // looks up readBatch keys
	single func(number int) error        // looks up one
	rates  [2][]float64                  // by kind
	bytes  [2]float64                    // of a read, by kind
}

// kinds are the kinds of calls.
var kinds = [2]string{"batches", "one at a time"}

const (
	readBatch      = 1024
	maxReadBuckets = 1 << 16 // that a set examines for a word
	readTurns      = 7
)

// compare measures the candidates of a table in turns. Collective.
func (r *reads) compare(ctx context.Context, job rma.Job, load float64, seed uint64,
	table func(context.Context, rma.Job, float64, uint64) ([]*candidate, func() error, error),
	emit experiment.Emit) error {
	all, closeAll, err := table(ctx, job, load, seed)
	if err != nil {
		return err
	}
	if job.Rank() == 0 {
		for turn := 0; turn <= readTurns && err == nil; turn++ { // the first one warms up
			for _, c := range all {
				err = errors.Join(err, c.turn(0, readBatch, r.piece, c.batch),
					c.turn(1, 1, r.piece, c.single))
			}
		}
	}
	err = rma.AllSucceeded(ctx, job, "net: reads", err)
	if err = errors.Join(err, closeAll()); err != nil || job.Rank() != 0 {
		return err
	}
	for kind, calls := range kinds {
		fastest := slices.MaxFunc(all, func(a, b *candidate) int {
			return int(1e3 * (a.rate(kind) - b.rate(kind)))
		})
		for _, by := range []choice{byCosts, byLP, byTrial} {
			c := fastest
			if by != byTrial {
				c = all[slices.IndexFunc(all, func(c *candidate) bool { return c.choice == by })]
			}
			emit(record.Record{Name: "NetReads", N: readTurns, Keys: []record.Key{
				record.K("table", c.table), record.K("calls", calls), record.K("load", load),
				record.K("by", string(by))},
				Values: []record.Value{{Value: c.rate(kind), Unit: "kop/s"},
					{Value: c.bytes[kind], Unit: "bytes"}}})
		}
	}
	return nil
}

// turn measures about a piece of time.
func (c *candidate) turn(kind, keys int, piece time.Duration, call func(int) error) error {
	readsBefore, bytesBefore := c.got()
	begin, done, elapsed := time.Now(), 0, time.Duration(0)
	for ; elapsed < piece; elapsed = time.Since(begin) {
		if err := call(done); err != nil {
			return fmt.Errorf("%s, %s: %w", c.table, c.choice, err)
		}
		done++
	}
	c.rates[kind] = append(c.rates[kind], float64(done*keys)/elapsed.Seconds()/1e3)
	reads, bytes := c.got()
	c.bytes[kind] = (bytes - bytesBefore) / (reads - readsBefore)
	return nil
}

// rate is the median of all turns but the first, in thousand keys a second.
func (c *candidate) rate(kind int) float64 { return median(c.rates[kind][1:]) }

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// costsOf are the costs where a get takes as long as so many bytes of it.
func costsOf(bytes float64) rma.GetCosts {
	return rma.GetCosts{Ns: bytes + lineBytes, ByteNs: 1, EachNs: bytes + lineBytes, EachByteNs: 1}
}

// tried are the bytes that a get is held to cost as much as, in the trial.
func tried() []float64 { return []float64{32, 128, 512, 2 << 10, 8 << 10, 32 << 10, 128 << 10} }

// ofIndex are readers of one index by several costs. Collective.
func (r *reads) ofIndex(ctx context.Context, job rma.Job, load float64, seed uint64) (
	all []*candidate, closeAll func() error, err error) {
	x, err := index.Build(ctx, job, index.Config{KeySize: 4, ValueSize: 4, Load: load,
		Access: rma.OneSided}, probeRecords(int(r.records), job.Rank(), job.Size()))
	if err != nil {
		return nil, nil, err
	}
	if err := ownersAgree(ctx, x, job); err != nil {
		return nil, nil, errors.Join(err, x.Close())
	}
	closeAll = x.Close
	if job.Rank() > 0 {
		return nil, closeAll, nil
	}
	keys := r.keys(job, seed)
	add := func(by choice, costs rma.GetCosts) error {
		b, err := x.NewReader(index.Lookups{OneSided: true, GuideBytes: -1, Depth: r.depth,
			Costs: costs})
		if err == nil {
			all = append(all, readerCandidate(b, by, keys))
		}
		return err
	}
	edr := readsize.EDR()
	err = errors.Join(add(byCosts, rma.GetCosts{}), add(byLP, costsOf(edr.LatencyNs/edr.ByteNs)))
	for _, bytes := range tried() {
		err = errors.Join(err, add(byTrial, costsOf(bytes)))
	}
	if err != nil {
		return nil, nil, errors.Join(err, x.Close())
	}
	return all, closeAll, nil
}

// keys are keys in the memory of other ranks.
func (r *reads) keys(job rma.Job, seed uint64) (keys []byte) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for len(keys) < 4*16*readBatch {
		key := probeKey(rng.IntN(int(r.records)))
		if ownerOfKey(key, job.Size()) > 0 {
			keys = append(keys, key...)
		}
	}
	return keys
}

// readerCandidate is a reader of an index.
func readerCandidate(b *index.Reader, by choice, keys []byte) *candidate {
	c := &candidate{table: "index", choice: by}
	c.got = func() (reads, bytes float64) {
		s := b.Stats()
		return float64(s.Requests), float64(s.Bytes)
	}
	c.batch = func(number int) error {
		from := 4 * readBatch * (number % 16)
		found := 0
		err := b.LookupBatch(keys[from:from+4*readBatch], func(int, index.Value) { found++ })
		if err == nil && found != readBatch {
			err = fmt.Errorf("%d keys have %d values", readBatch, found)
		}
		return err
	}
	var value []byte
	c.single = func(number int) error {
		from := 4 * (number % (16 * readBatch))
		v, ok, err := b.Get(keys[from:from+4], value[:0])
		if value = v; err == nil && !ok {
			err = errors.New("a key is not there")
		}
		return err
	}
	return c
}

// ofSet are sets of the same words with several C. Collective.
func (r *reads) ofSet(ctx context.Context, job rma.Job, load float64, seed uint64) (
	all []*candidate, closeAll func() error, err error) {
	var sets []*set.Set
	closeAll = func() (err error) {
		for _, s := range sets {
			err = errors.Join(err, s.Close())
		}
		return err
	}
	plan, err := readsize.NewPlan(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8,
		MaxSlots: 512})
	if err != nil {
		return nil, nil, err
	}
	add := func(by choice, chunk int) error {
		s, err := set.New(ctx, job, set.Config{Buckets: uint64(r.records), Chunk: chunk,
			Chunks: maxReadBuckets / cmp.Or(chunk, 64), Depth: r.depth, Access: rma.OneSided})
		if err != nil {
			return err
		}
		sets = append(sets, s)
		words, err := r.fill(ctx, job, s, load, seed)
		if job.Rank() == 0 && err == nil {
			all = append(all, setCandidate(s, by, words))
		}
		return err
	}
	if err = add(byCosts, 0); err == nil {
		err = add(byLP, plan.Chunk(load))
	}
	for chunk := 8; chunk <= 512 && err == nil; chunk *= 2 {
		err = add(byTrial, chunk)
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return all, closeAll, nil
}

// fill fills a set up to a load, and returns words of other ranks where this one is rank 0.
func (r *reads) fill(ctx context.Context, job rma.Job, s *set.Set, load float64, seed uint64) (
	words []uint64, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(job.Rank())))
	buf, results := make([]uint64, readBatch), make([]set.Result, readBatch)
	for left := int(load * float64(r.records) / float64(job.Size())); left > 0 && err == nil; {
		some := buf[:min(left, readBatch)]
		for i := range some {
			some[i] = rng.Uint64() >> 1
		}
		err = s.FindOrPutBatch(some, results[:len(some)])
		left -= len(some)
	}
	if err = rma.AllSucceeded(ctx, job, "net: filling", err); err != nil {
		return nil, err
	}
	for w, err := range s.Local(ctx) {
		if err != nil {
			return nil, err
		}
		if words = append(words, w); len(words) == 16*readBatch {
			break
		}
	}
	for i := 0; len(words) < 16*readBatch; i++ {
		words = append(words, words[i])
	}
	all, err := measure.GatherWords(ctx, job, words)
	if err != nil || job.Rank() > 0 {
		return nil, err
	}
	words = slices.Concat(all[1:]...)
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return words, nil
}

// setCandidate is a set with some C.
func setCandidate(s *set.Set, by choice, words []uint64) *candidate {
	c := &candidate{table: "set", choice: by}
	results, batches := make([]set.Result, readBatch), len(words)/readBatch
	c.got = func() (reads, bytes float64) {
		q := s.Stats().Queues
		return float64(q.Gets), float64(q.Bytes)
	}
	c.batch = func(number int) error {
		from := readBatch * (number % batches)
		err := s.ContainsBatch(words[from:from+readBatch], results)
		if err == nil && slices.ContainsFunc(results, func(r set.Result) bool {
			return r != set.Found
		}) {
			err = errors.New("a word is not there")
		}
		return err
	}
	c.single = func(number int) error {
		switch found, err := s.Contains(words[number%len(words)]); {
		case err != nil:
			return err
		case !found:
			return errors.New("a word is not there")
		}
		return nil
	}
	return c
}
