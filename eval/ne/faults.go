package ne

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/ne/nessie"
)

// literally is the paper's protocol read to the letter.
const literally impl = "nessie-literal"

// Faults counts what the paper's protocol loses.
func Faults() *experiment.Experiment {
	rate := func(unit, head string) view.Column {
		return view.Column{Unit: unit, Head: head, Whole: true}
	}
	return &experiment.Experiment{
		Name:  "faults",
		Short: "acknowledged writes that the paper's protocol loses, beside the map",
		Long: `Clients of a simulated cluster do workload A of YCSB: half reads and half writes of
records drawn with a skew of 0.99 (Zipf), so that a record has several writers. Of --new percent
of the writes each is of a new key, and deletes the oldest new key of the same client: keys migrate,
and the load stays. Some clients are killed at random moments; their memory stays, as it would at
NE's server. In the end, when all have stopped, the table is read.

A write is lost if it was acknowledged, and its key has no value in the end, or one whose write was
acknowledged before the lost one began: one for each key. nessie is the most favourable reading of
the paper, nessie-literal the paper to the letter. What the server does with the invalid items of
dead clients is open: it keeps, removes or publishes them, or publishes those whose key has no valid
item (alone). dead are those of kept where an item of a dead client is in the way. A deleted key
is back if it has a value though its delete was acknowledged. All figures are shares of all calls of
a kind; with more deaths more is lost.`,
		Takes:        "1 min",
		Example:      "--load 0.25 --new 10 --killed 0,4 --seeds 1000",
		Reproducible: true,
		Views: []view.View{{Name: "NEFaults", Title: "acknowledged writes lost, per million",
			Columns: []view.Column{rate("kept", ""), rate("dead", ""), rate("removed", ""),
				rate("published", ""), rate("alone", ""), rate("writes", ""), rate("deaths", "")},
			Plots: []view.Plot{{Title: "writes lost per million, with deaths", Panel: "new",
				Only: func(c *record.Case) bool { return c.Number("killed") > 0 }, X: "load",
				Y: "kept", YName: "per million writes"}}},
			{Name: "NEFaults", Title: "deleted keys that are back, per million deletes",
				Columns: []view.Column{rate("back-kept", "kept"), rate("back-removed", "removed"),
					rate("back-published", "published"), rate("back-alone", "alone"),
					rate("deletes", "")}},
			{Name: "NEFaults", Title: "wrong reads, per million",
				Notes: `missed: of a key that was never deleted nothing was found. old: the value
was overwritten before the read began. stuck: the read was given up.`,
				Columns: []view.Column{rate("missed", ""), rate("old", ""), rate("stuck", ""),
					rate("reads", "")}}},
		New: newFaults,
	}
}

// faults runs what the flags say.
type faults struct {
	impls               []impl
	loads               []float64
	newPercents, killed []int
	hosts, seeds        int
	slots               experiment.Count
	us                  int64
	valueBytes          int
}

func newFaults(flags *pflag.FlagSet) experiment.Runner {
	f := &faults{valueBytes: 100}
	all := []impl{thePapers, literally, ours}
	experiment.ChoiceVar(flags, &f.impls, "impl", all, all, "what is simulated, a list of")
	flags.Float64SliceVar(&f.loads, "load", []float64{.15, .25, .4}, "loads of the table, a list")
	flags.IntSliceVar(&f.newPercents, "new", []int{0, 50}, "percent of the writes that are of "+
		"new keys, a list")
	flags.IntSliceVar(&f.killed, "killed", []int{0, 4}, "clients that are killed, a list")
	flags.IntVar(&f.hosts, "hosts", 16, "hosts, of one client each")
	experiment.CountVar(flags, &f.slots, "slots", 1<<8, "slots of all clients")
	flags.Int64Var(&f.us, "us", 5000, "virtual time of the workload")
	flags.IntVar(&f.seeds, "seeds", 100, "how often everything is simulated")
	return f
}

// Check refuses what makes no sense.
func (f *faults) Check() error {
	err := errors.Join(experiment.InRange("hosts", f.hosts, 2, 1<<8),
		experiment.InRange("seeds", f.seeds, 1, 1e6),
		experiment.InRange("us", int(f.us), 100, 1e6),
		experiment.InRange("slots", f.slots, 1<<8, maxSlots))
	for _, load := range f.loads {
		err = errors.Join(err, experiment.InRange("load", load, .01, maxNessieLoad))
		if records := load * float64(f.slots); int(records) <= f.hosts*newWindow {
			err = errors.Join(err, fmt.Errorf("--slots %v at a load of %v have %d records, fewer "+
				"than there are clients", f.slots, load, int(records)))
		}
	}
	for _, n := range f.newPercents {
		err = errors.Join(err, experiment.InRange("new", n, 0, 100))
	}
	for _, n := range f.killed {
		err = errors.Join(err, experiment.InRange("killed", n, 0, f.hosts-1))
	}
	return err
}

// Round simulates everything once.
func (f *faults) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, percent := range f.newPercents {
		for _, load := range f.loads {
			for _, killed := range f.killed {
				for _, i := range f.impls {
					c := faultCase{faults: f, impl: i, load: load, newPercent: percent,
						killed: killed}
					if err := c.run(ctx, emit); err != nil {
						return fmt.Errorf("%s, load %v, %d%% new keys, %d killed: %w", i, load,
							percent, killed, err)
					}
				}
			}
		}
	}
	return job.Barrier(ctx)
}

// faultCase is one table under one load.
type faultCase struct {
	*faults
	impl       impl
	load       float64
	newPercent int
	killed     int
	records    uint64
	law        *measure.Law
	seed       uint64
	h          *faultHistory
	counts     faultCounts
	victims    []bool // by rank
}

// The workload begins when the table has been filled, and the table is read when all have stopped.
const (
	faultsBeginNs = 200_000_000
	faultsStopNs  = 2_000_000_000 // after the end

	faultsTearNs   = 20
	faultsJitterNs = 2_000
	// One call in 500 comes up to half a millisecond late, as if the client had no processor.
	faultsStallEvery, faultsStallNs = 500, 500_000

	newShift  = 32 // new keys have numbers of their own
	newWindow = 1  // new keys of a client at a time

	fastestUs = 15 // an operation takes at least as long
)

func (c *faultCase) run(ctx context.Context, emit experiment.Emit) error {
	c.records = uint64(c.load * float64(c.slots))
	if c.newPercent > 0 {
		c.records -= uint64(c.hosts * newWindow)
	}
	c.law = measure.NewLaw(measure.Zipf, int(c.records))
	cost, err := sim.Preset("roce")
	if err != nil {
		return err
	}
	for seed := range uint64(c.seeds) {
		c.seed, c.h = seed, newFaultHistory(&c.counts)
		rng := rand.New(rand.NewPCG(seed, 1))
		c.victims = make([]bool, c.hosts)
		var faults sim.Faults
		faults.MemorySurvives = true
		for _, victim := range rng.Perm(c.hosts - 1)[:c.killed] {
			c.victims[1+victim] = true
			faults.Kills = append(faults.Kills, sim.Kill{Rank: 1 + victim,
				AtNs: faultsBeginNs + rng.Int64N(c.us*1000)})
		}
		_, err := sim.Run(sim.Options{Ranks: c.hosts, Seed: 1 + seed, Cost: cost, Faults: faults,
			TearNs: faultsTearNs, JitterNs: faultsJitterNs, StallEvery: faultsStallEvery,
			StallNs: faultsStallNs, Context: ctx, MaxTimeNs: sim.MaxNs,
			MaxSteps: math.MaxUint64}, func(job rma.Job) error {
			return errors.Join(c.rank(ctx, job.(*sim.Job)), job.Close())
		})
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		c.counts.killed += uint64(c.killed)
	}
	emit(record.Record{Name: "NEFaults", N: int(c.counts.acknowledged), Keys: []record.Key{
		record.K("new", c.newPercent), record.K("load", c.load), record.K("killed", c.killed),
		record.K("impl", string(c.impl))}, Values: c.counts.values()})
	return nil
}

// rank is a client.
func (c *faultCase) rank(ctx context.Context, job *sim.Job) error {
	st, err := c.open(ctx, job)
	if err != nil {
		return err
	}
	client := faultClient{faultCase: c, job: job, store: st, key: make([]byte, 8),
		value: make([]byte, c.valueBytes), rng: rand.New(rand.NewPCG(c.seed, uint64(job.Rank())))}
	for n := uint64(job.Rank()); n < c.records && err == nil; n += uint64(c.hosts) {
		err = client.put(n)
	}
	if err = rma.AllSucceeded(ctx, job, "filling the table", err); err != nil {
		return errors.Join(err, st.close())
	}
	if job.NowNs() > faultsBeginNs {
		return errors.Join(errors.New("filling the table took too long"), st.close())
	}
	job.Sleep(faultsBeginNs - job.NowNs())
	endNs := faultsBeginNs + c.us*1000
	for job.NowNs() < endNs && err == nil {
		err = client.one()
	}
	job.Sleep(endNs + faultsStopNs - job.NowNs())
	if job.Rank() == 0 && err == nil {
		err = c.audit(ctx, st)
	}
	job.Sleep(endNs + 2*faultsStopNs - job.NowNs())
	return errors.Join(err, st.close())
}

// audit reads the table when all have stopped.
func (c *faultCase) audit(ctx context.Context, st faultStore) error {
	entries, err := st.entries(ctx)
	if err != nil {
		return err
	}
	for rule := range rules {
		c.h.audit(rule, entries, c.victims)
	}
	return nil
}

// faultClient is one client and its new keys.
type faultClient struct {
	*faultCase
	job        *sim.Job
	store      faultStore
	rng        *rand.Rand
	key, value []byte
	made       uint64
	new        []uint64
}

// one does one operation.
func (c *faultClient) one() error {
	switch draw := c.rng.IntN(200); {
	case draw < 100:
		return c.get(c.law.Draw(c.rng))
	case draw >= 100+c.newPercent:
		return c.put(c.law.Draw(c.rng))
	}
	number := uint64(1+c.job.Rank())<<newShift | c.made
	c.made++
	if err := c.put(number); err != nil {
		return err
	}
	if c.new = append(c.new, number); len(c.new) <= newWindow {
		return nil
	}
	number, c.new = c.new[0], c.new[1:]
	return c.delete(number)
}

func (c *faultClient) put(number uint64) error {
	measure.FillKey(c.key, number)
	id := c.h.calls(number, c.job.NowNs())
	measure.FillValue(c.value, number, id)
	done, err := c.store.put(c.key, c.value)
	if done && err == nil {
		c.h.acknowledge(id, c.job.NowNs())
	}
	return err
}

func (c *faultClient) get(number uint64) error {
	measure.FillKey(c.key, number)
	newest := c.h.newest(number)
	value, ok, done, err := c.store.get(c.key, c.value[:0])
	switch {
	case err != nil:
		return err
	case !done:
		c.h.reads(readStuck)
	case !ok:
		c.h.reads(readNothing)
	default:
		if !measure.RightValue(value, number, make([]byte, len(value))) {
			return fmt.Errorf("key %d has a value that nobody has written", number)
		}
		c.h.readsValue(binary.LittleEndian.Uint64(value), newest)
	}
	return nil
}

func (c *faultClient) delete(number uint64) error {
	measure.FillKey(c.key, number)
	c.h.deletes(number)
	done, err := c.store.delete(c.key)
	if done && err == nil {
		c.h.deleted(number)
	}
	return err
}

// faultStore is a table. A call that is not done was given up: it may have taken effect.
type faultStore interface {
	put(key, value []byte) (done bool, err error)
	get(key, dst []byte) (value []byte, ok, done bool, err error)
	delete(key []byte) (done bool, err error)
	// entries are what the table has in the end; keys of the map count as in their primary slot.
	// The map is checked.
	entries(ctx context.Context) ([]nessie.Entry, error)
	close() error
}

// faultAttempts is how often an operation of the paper's protocol is tried: for about 10 ms.
const faultAttempts = 20

// open makes an empty table. Collective.
func (c *faultCase) open(ctx context.Context, job rma.Job) (faultStore, error) {
	// A client may own the items of all keys, and has those that it writes now. In the map a
	// deleted key keeps its slot.
	operations := uint64(c.us) / fastestUs
	slots, items := uint64(c.slots), 2*uint64(c.slots)+operations
	if c.impl == ours {
		m, err := kv.New(ctx, job, kv.Config{Slots: slots + operations*uint64(c.hosts), MaxKey: 8,
			MaxValue: c.valueBytes, Bytes: uint64(c.hosts) * items * itemBytes(8, c.valueBytes)})
		return faultMap{m}, err
	}
	t, err := nessie.New(ctx, job, nessie.Config{SlotsPerRank: slots / uint64(c.hosts),
		ItemsPerRank: items, MaxKey: 8, MaxValue: c.valueBytes, Attempts: faultAttempts,
		Literal: c.impl == literally})
	return faultTable{t}, err
}

// faultTable is a table of the paper's protocol.
type faultTable struct{ t *nessie.Table }

// givenUp takes an error that says that an operation was given up.
func givenUp(err error) (done bool, is error) {
	var busy *nessie.BusyError
	var full *nessie.FullError
	if errors.As(err, &busy) || errors.As(err, &full) && !full.Items {
		return false, nil
	}
	return err == nil, err
}

func (s faultTable) put(key, value []byte) (done bool, err error) {
	return givenUp(s.t.Write(context.Background(), key, value))
}

func (s faultTable) get(key, dst []byte) (value []byte, ok, done bool, err error) {
	value, ok, err = s.t.Read(context.Background(), key, dst)
	done, err = givenUp(err)
	return value, ok, done, err
}

func (s faultTable) delete(key []byte) (done bool, err error) {
	_, err = s.t.Delete(context.Background(), key)
	return givenUp(err)
}

func (s faultTable) entries(ctx context.Context) ([]nessie.Entry, error) {
	return s.t.Entries(ctx)
}

func (s faultTable) close() error { return s.t.Close() }

// faultMap is a map of package kv.
type faultMap struct{ m *kv.Map }

func (s faultMap) put(key, value []byte) (done bool, err error) {
	_, err = s.m.Put(key, value)
	return err == nil, err
}

func (s faultMap) get(key, dst []byte) (value []byte, ok, done bool, err error) {
	value, _, ok, err = s.m.Get(key, dst)
	return value, ok, err == nil, err
}

func (s faultMap) delete(key []byte) (done bool, err error) {
	_, err = s.m.Delete(key)
	return err == nil, err
}

func (s faultMap) entries(ctx context.Context) (all []nessie.Entry, err error) {
	for pair, err := range s.m.All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, nessie.Entry{Key: append([]byte(nil), pair.Key...),
			Value: append([]byte(nil), pair.Value...), Primary: true, Valid: true})
	}
	return all, s.m.Check(ctx)
}

func (s faultMap) close() error { return s.m.Close() }
