package ne

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/ne/nessie"
)

// Simulate is the latencies of NE 4, on a simulated cluster.
func Simulate() *experiment.Experiment {
	us := func(unit, head string) view.Column {
		return view.Column{Unit: unit, Head: head, Digits: 1}
	}
	return &experiment.Experiment{
		Name:  "simulate",
		Short: "NE 4: latencies of the map and of the paper's protocol on a simulated cluster",
		Long: `Takes the virtual time of puts of new keys and of gets by one rank of a simulated
cluster, while the others are idle. Every rank owns as many pairs as another. Both have filled their
tables by themselves; puts for which the paper's protocol would call its server, as one migration is
not enough, are left out. NE 4 says of a put at load 0.75 that it takes about 100 us.`,
		Takes:        "10 s",
		Example:      "--hosts 4 --preset ndr",
		Reproducible: true,
		Views: []view.View{{Name: "NESimulated", Title: "latencies in us",
			Notes: `"server" is the share of puts for which one migration is not enough: these are
left out. "secondary" is the share of the keys in their secondary slot.`,
			Columns: []view.Column{us("ne-put-us", "NE put"), us("nessie-put-us", "Nessie put"),
				{Unit: "nessie-server", Head: "server", Digits: 2},
				us("nessie-get-us", "Nessie get"),
				{Unit: "nessie-secondary", Head: "secondary", Digits: 2},
				us("put-us", "map put"), us("get-us", "map get")},
		}, {Name: "NELatency", Title: "puts of new keys beside a TCP round trip, in us",
			Notes:   `NE 4: a put at load 0.75 takes about 100 us, less than a round trip of TCP.`,
			Columns: []view.Column{us("us", "")},
			Plots: []view.Plot{{Title: "put of a new key, and a round trip of TCP", X: "load",
				Y: "us", YName: "us", Paper: "ne-us", PaperName: "NE"}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &simulation{}
			flags.IntVar(&s.hosts, "hosts", 16, "hosts, of one rank each")
			flags.StringVar(&s.preset, "preset", "roce", fmt.Sprintf("network, one of %v",
				sim.Presets()))
			experiment.CountVar(flags, &s.slots, "slots", 1<<15, "slots of all ranks")
			flags.Uint64Var(&s.seed, "seed", 1, "decides everything that is left to chance")
			return s
		},
	}
}

// NE 4 prints one latency of a put, at one load. The abstract has less than 25 us at "a reasonable
// hash table load factor", which NE 4 says is 0.5 or 0.25: there its own round trips make more.
const printedLoad, printedUs = 0.75, 100

// simulation runs what the flags say.
type simulation struct {
	hosts  int
	preset string
	slots  experiment.Count
	seed   uint64
	cost   sim.Cost
}

// Check refuses what makes no sense.
func (s *simulation) Check() (err error) {
	if s.cost, err = sim.Preset(s.preset); err != nil {
		return fmt.Errorf("--preset: %w", err)
	}
	return errors.Join(experiment.InRange("hosts", s.hosts, 2, 1<<10),
		experiment.InRange("slots", s.slots, minSlots, maxSlots))
}

// Round simulates everything once.
func (s *simulation) Round(ctx context.Context, job rma.Job, _ uint64,
	emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, load := range loads {
		r := record.Record{Name: "NESimulated", N: int(s.slots) / 50, Keys: []record.Key{
			record.K("preset", s.preset), record.K("hosts", s.hosts), record.K("load", load)}}
		if load == printedLoad && s.preset == "roce" {
			r.Values = append(r.Values, record.Value{Value: printedUs, Unit: "ne-put-us"})
		}
		_, err := sim.Run(sim.Options{Ranks: s.hosts, Seed: s.seed, Cost: s.cost,
			Context: ctx, MaxTimeNs: sim.MaxNs, MaxSteps: math.MaxUint64}, func(job rma.Job) error {
			return errors.Join(s.nessie(ctx, job, load, &r), s.ours(ctx, job, load, &r),
				job.Close())
		})
		if err != nil {
			return fmt.Errorf("load %v: %w", load, err)
		}
		emit(r)
		s.emitBesideTCP(&r, load, emit)
	}
	return job.Barrier(ctx)
}

// emitBesideTCP gives the puts at a load again, and a round trip of TCP: more than NE's 100 us.
func (s *simulation) emitBesideTCP(r *record.Record, load float64, emit experiment.Emit) {
	for _, of := range []struct{ op, unit string }{{"put, paper's protocol", "nessie-put-us"},
		{"put, map", "put-us"}, {"TCP, at least", ""}} {
		is := record.Record{Name: "NELatency", N: r.N, Keys: []record.Key{
			record.K("preset", s.preset), record.K("hosts", s.hosts), record.K("load", load),
			record.K("op", of.op)}}
		if of.unit == "" {
			is.Values = []record.Value{{Value: printedUs, Unit: "us"}}
		}
		for _, v := range r.Values {
			switch v.Unit {
			case of.unit:
				is.Values = append(is.Values, record.Value{Value: v.Value, Unit: "us"})
			case "ne-put-us":
				if of.unit == "nessie-put-us" {
					is.Values = append(is.Values, record.Value{Value: v.Value, Unit: "ne-us"})
				}
			}
		}
		emit(is)
	}
}

// nessie measures the paper's protocol at a load.
func (s *simulation) nessie(ctx context.Context, job rma.Job, load float64,
	r *record.Record) error {
	slots := uint64(s.slots) / uint64(s.hosts)
	n, err := countNessie(ctx, job, slots, false, nessie.Written, load, s.seed)
	if err != nil {
		return fmt.Errorf("the paper's protocol: %w", err)
	}
	if job.Rank() == 0 {
		r.Values = append(r.Values,
			record.Value{Value: float64(n.Ns) / float64(n.Done) / 1e3, Unit: "nessie-put-us"},
			record.Value{Value: float64(n.GetNs) / float64(n.Writes) / 1e3, Unit: "nessie-get-us"},
			record.Value{Value: 1 - float64(n.Done)/float64(n.Writes), Unit: "nessie-server"},
			record.Value{Value: float64(n.Secondary) / float64(n.Keys), Unit: "nessie-secondary"})
	}
	return nil
}

// ours measures the map at a load. Ranks put keys in turns, rank 0 then puts some more and gets
// keys of all ranks.
func (s *simulation) ours(ctx context.Context, job rma.Job, load float64, r *record.Record) error {
	ranks := uint64(job.Size())
	m, err := kv.New(ctx, job, kv.Config{Slots: uint64(s.slots), MaxKey: 8, MaxValue: 100,
		Bytes: 2 * (uint64(s.slots) + ranks*spareItems) * itemBytes(8, 100)})
	if err != nil {
		return err
	}
	w := counter{m: m, key: make([]byte, 8), value: make([]byte, 100), scratch: make([]byte, 100)}
	w.stamp = uint64(job.Rank()) << 32
	filled, some := uint64((load-.01)*float64(m.Slots())), m.Slots()/50
	for i := uint64(job.Rank()); i < filled && err == nil; i += ranks {
		err = w.put(i)
	}
	if err := rma.AllSucceeded(ctx, job, "filling the map", err); err != nil {
		return errors.Join(err, m.Close())
	}
	if job.Rank() == 0 {
		err = s.times(&w, filled, some, job.(*sim.Job).NowNs, r)
	}
	return errors.Join(rma.AllSucceeded(ctx, job, "measuring the map", err), m.Close())
}

// times measures puts of new keys and gets of some that are there.
func (s *simulation) times(w *counter, filled, some uint64, nowNs func() int64,
	r *record.Record) error {
	began := nowNs()
	for i := range some {
		if err := w.put(filled + i); err != nil {
			return err
		}
	}
	put := nowNs() - began
	rng := rand.New(rand.NewPCG(s.seed, 0))
	began = nowNs()
	for range some {
		if err := w.get(rng.Uint64N(filled)); err != nil {
			return err
		}
	}
	get := nowNs() - began
	r.Values = append(r.Values,
		record.Value{Value: float64(put) / float64(some) / 1e3, Unit: "put-us"},
		record.Value{Value: float64(get) / float64(some) / 1e3, Unit: "get-us"})
	return nil
}
