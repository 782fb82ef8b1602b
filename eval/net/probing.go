package net

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/lp/baseline"
)

// probe is a way to look up keys in the memory of another host.
type probe string

const (
	twoSided      probe = "two-sided linear"  // an index whose batches are shipped
	oneSidedProbe probe = "one-sided ordered" // an index, with one read for each key
	oneSidedThree probe = "one-sided cuckoo"  // three reads for each key, in parallel
	oneSidedLP    probe = "one-sided linear"  // with LP's read sizes
)

func probes() []probe { return []probe{twoSided, oneSidedThree, oneSidedProbe, oneSidedLP} }

// probeLoads are loads from one that is easy up to the highest of LP.
func probeLoads() []float64 { return []float64{.5, .65, .8, .9, .95} }

// Probing is the open question of LP 7: two-sided linear probing or one-sided cuckoo hashing.
func Probing() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "probing",
		Hosts: true,
		Short: "LP 7: two-sided linear probing beside one-sided cuckoo hashing, by load",
		Long: `Measures lookups of keys of 4 bytes with values of 4 bytes in the memory of other
hosts, at loads up to 0.95, by clients on the first host. Two-sided are batches that are shipped to
the owners, which search their own memory. One-sided are reads of the slots. Every value is checked.

farhash run --rendezvous starts it on each host, as net hosts. Build farhash-eval with -tags ucx.`,
		Takes: "half a minute",
		Runs:  5,
		Views: []view.View{{Name: "NetProbing", Title: "lookups between hosts, by load",
			Columns: []view.Column{{Unit: "kop/s", Head: "thousand a second", Spread: true},
				{Unit: "messages/op", Digits: 4},
				{Unit: "kop/s", Head: "/ cuckoo", Over: record.K("impl", string(oneSidedThree))}},
			Plots: []view.Plot{{Title: "lookups between hosts", X: "load", Y: "kop/s",
				LogY: true}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			p := &probing{}
			experiment.CountVar(flags, &p.records, "records", 1<<20, "records of all ranks")
			flags.IntVar(&p.batch, "batch", usualBatch, "keys of one call")
			flags.IntVar(&p.depth, "in-flight", 64, "one-sided lookups in flight")
			flags.DurationVar(&p.piece, "piece", 300*time.Millisecond,
				"about how long one measurement takes")
			return p
		},
	}
}

// probing measures all loads.
type probing struct {
	hosts   runner
	records experiment.Count
	batch   int
	depth   int
	piece   time.Duration
}

// Check refuses what makes no sense.
func (p *probing) Check() error {
	err := errors.Join(experiment.InRange("records", p.records, 1<<10, 1<<28),
		experiment.InRange("batch", p.batch, 2, maxBatch),
		experiment.InRange("in-flight", p.depth, 1, maxInFlight),
		experiment.InRange("piece", p.piece.Seconds(), 0.001, 60))
	if err != nil {
		return err
	}
	return p.hosts.findHosts()
}

// Round measures everything once.
func (p *probing) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	ships, err := canShip(ctx, job)
	if err == nil && !ships {
		err = errors.New("the engine carries no batches")
	}
	if err != nil {
		return err
	}
	for _, load := range probeLoads() {
		if err := p.load(ctx, job, load, emit); err != nil {
			return fmt.Errorf("load %v: %w", load, err)
		}
	}
	return nil
}

// load measures all probes at a load. Collective.
func (p *probing) load(ctx context.Context, job rma.Job, load float64,
	emit experiment.Emit) (err error) {
	x, err := index.Build(ctx, job, index.Config{KeySize: 4, ValueSize: 4, Load: load,
		Access: rma.Shipped}, probeRecords(int(p.records), job.Rank(), job.Size()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Barrier(ctx), x.Close()) }()
	if err := ownersAgree(ctx, x, job); err != nil {
		return err
	}
	var tables [2]*baseline.Table
	for i, slots := range []int{4, 0} { // cuckoo and linear
		tables[i], err = baseline.Build(ctx, job, baseline.Config{KeyBytes: 4, ValueBytes: 4,
			Records: int(p.records), Load: load, Distinct: true, BucketSlots: slots,
			Empty: probeKey(int(p.records))}, probeRecords(int(p.records), 0, 1))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, tables[i].Close()) }()
	}
	for _, of := range probes() {
		if err := p.measure(ctx, job, of, load, x, tables, emit); err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
	}
	return nil
}

// prober looks up keys, and says what messages it took.
type prober struct {
	lookUp   func(keys []byte, found func(i int, v index.Value)) error
	messages func() uint64
	close    func() error
}

func (p *probing) open(of probe, x *index.Index, tables [2]*baseline.Table) (prober, error) {
	var r interface {
		LookupBatch(keys []byte, found func(i int, v index.Value)) error
		Close() error
	}
	var counts func() index.Counts
	switch of {
	case oneSidedThree, oneSidedLP:
		t, policy := tables[0], baseline.Parallel
		if of == oneSidedLP {
			t, policy = tables[1], baseline.Model
		}
		b, err := t.NewReader(baseline.Lookups{Policy: policy, Depth: p.depth})
		if err != nil {
			return prober{}, err
		}
		r, counts = b, b.Counts
	default:
		b, err := x.NewReader(index.Lookups{OneSided: of == oneSidedProbe, Depth: p.depth})
		if err != nil {
			return prober{}, err
		}
		r, counts = b, func() index.Counts { return b.Stats().Counts }
	}
	return prober{lookUp: r.LookupBatch, close: r.Close, messages: func() uint64 {
		c := counts()
		return c.Requests + c.HeapRequests + c.ShippedRequests
	}}, nil
}

// measure measures a probe. Collective.
func (p *probing) measure(ctx context.Context, job rma.Job, of probe, load float64,
	x *index.Index, tables [2]*baseline.Table, emit experiment.Emit) error {
	by, err := p.open(of, x, tables)
	if err != nil {
		return err
	}
	batches := p.sample(job)
	if err := job.Barrier(ctx); err != nil {
		return err
	}
	done, messages, elapsed := 0, uint64(0), time.Duration(0)
	if batches != nil {
		err = p.lookUp(&by, batches[0])
		before, begin := by.messages(), time.Now()
		for ; err == nil && elapsed < p.piece; elapsed = time.Since(begin) {
			err = p.lookUp(&by, batches[done%len(batches)])
			done++
		}
		messages = by.messages() - before
	}
	if err = rma.AllSucceeded(ctx, job, "net: lookups", errors.Join(err, by.close())); err != nil {
		return err
	}
	all, err := measure.GatherWords(ctx, job, []uint64{uint64(done * p.batch), messages,
		uint64(elapsed)})
	if err != nil {
		return err
	}
	var rate, lookups, sum float64
	for _, w := range all {
		if w[2] > 0 {
			rate += float64(w[0]) / float64(w[2]) * 1e6
		}
		lookups, sum = lookups+float64(w[0]), sum+float64(w[1])
	}
	emit(record.Record{Name: "NetProbing", N: int(lookups), Keys: []record.Key{
		record.K("load", load), record.K("impl", string(of))},
		Values: []record.Value{{Value: rate, Unit: "kop/s"},
			{Value: sum / lookups, Unit: "messages/op"}}})
	return nil
}

// sample has batches of keys in the memory of other hosts, nil on a rank that is no client.
func (p *probing) sample(job rma.Job) (batches [][]byte) {
	const few = 16
	if job.Rank() >= p.hosts.perHost {
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(job.Rank()), 7))
	for range few {
		var keys []byte
		for len(keys) < 4*p.batch {
			key := probeKey(rng.IntN(int(p.records)))
			if ownerOfKey(key, job.Size()) >= p.hosts.perHost {
				keys = append(keys, key...)
			}
		}
		batches = append(batches, keys)
	}
	return batches
}

// lookUp looks up a batch, and checks what is found.
func (p *probing) lookUp(by *prober, keys []byte) error {
	found, wrong := 0, 0
	err := by.lookUp(keys, func(i int, v index.Value) {
		if found++; binary.LittleEndian.Uint32(v) != ^binary.LittleEndian.Uint32(keys[4*i:]) {
			wrong++
		}
	})
	if err == nil && (found != len(keys)/4 || wrong > 0) {
		err = fmt.Errorf("%d keys have %d values, of which %d are wrong", len(keys)/4, found, wrong)
	}
	return err
}

// probeKey is the key with a number.
func probeKey(number int) []byte {
	return binary.LittleEndian.AppendUint32(nil, (uint32(number)+1)*0x9E3779B1)
}

// probeRecords are the records of a rank.
func probeRecords(n, rank, ranks int) iter.Seq2[index.Record, error] {
	return func(yield func(index.Record, error) bool) {
		for i := rank; i < n; i += ranks {
			key := probeKey(i)
			value := binary.LittleEndian.AppendUint32(nil, ^binary.LittleEndian.Uint32(key))
			if !yield(index.Record{Key: key, Value: value}, nil) {
				return
			}
		}
	}
}

// ownerOfKey is the rank that has the records of a key, in an index and in a baseline.
func ownerOfKey(key []byte, ranks int) int {
	const golden = 0x9E3779B97F4A7C15
	word := uint64(binary.LittleEndian.Uint32(key)) * golden
	rank, _ := bits.Mul64((word^word>>32)*golden, uint64(ranks))
	return int(rank)
}

// ownersAgree reports an error if keys have other owners than ownerOfKey says.
func ownersAgree(ctx context.Context, x *index.Index, job rma.Job) error {
	for r, err := range x.Local(ctx) {
		if err == nil && ownerOfKey(r.Key, job.Size()) != job.Rank() {
			err = fmt.Errorf("key %x is of rank %d, and should not be", r.Key, job.Rank())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
