package lp

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/lp/baseline"
)

// computed is a Runner that measures nothing.
type computed struct {
	check func() error
	emit  func(experiment.Emit) error
}

func (c computed) Check() error { return c.check() }

func (c computed) Round(_ context.Context, _ rma.Job, _ uint64, emit experiment.Emit) error {
	return c.emit(emit)
}

// hintSays is what LP 5.8 says of its Fig. 13; oblivious reads know no cluster.
var hintSays = []struct {
	load float64
	x    int
	says string
}{
	{0.65, -30, "the oblivious size"}, {0.25, -30, "the oblivious size"},
	{0.65, -20, "fewer slots than oblivious"},
	{0.65, -4, "to the end of the cluster, fewer than oblivious"},
	{0.25, -4, "to the end of the cluster, more than oblivious"},
	{0.65, 10, "the oblivious size"}, {0.25, 10, "the oblivious size"},
}

const (
	hintLength       = 10 // slots of the cluster
	hintFrom, hintTo = -30, 20
)

// figure13 has the read sizes of LP's model by the place where a read begins.
func figure13() *experiment.Experiment {
	slots := view.Column{Unit: "slots", Head: " ", Whole: true}
	said := slots
	said.Head = ""
	return &experiment.Experiment{
		Name:         "figure13",
		Short:        "LP Fig. 13: read sizes near a known cluster, computed",
		Computed:     true,
		Reproducible: true,
		Views: []view.View{
			{Name: "LPFigure13", Title: "LP Fig. 13: slots of a read by LP's model that begins " +
				"at x, where a cluster is known that begins at x = 0 and has 10 slots",
				Notes: "Computed; LP has curves alone.", Across: "load",
				Columns: []view.Column{slots}, Plots: []view.Plot{{
					Title: "slots of a read near a cluster of 10 slots", X: "x",
					XName: "where the read begins", Y: "slots"}}},
			{Name: "LPFigure13Says", Title: "What LP says in words", Columns: []view.Column{said,
				{Unit: "oblivious-slots", Head: "oblivious", Whole: true}}},
		},
		New: func(*pflag.FlagSet) experiment.Runner {
			return computed{func() error { return nil }, hints}
		},
	}
}

func hints(emit experiment.Emit) error {
	for _, load := range []float64{0.25, 0.65} {
		c, is := lpConfig(8), laws(load)
		s := sizes(c, load)
		for x := hintFrom; x <= hintTo; x++ {
			slots := baseline.Hinted(c, is.Absent, -x, hintLength, s)
			size := []record.Value{{Value: float64(slots), Unit: "slots"},
				{Value: float64(s.Capped), Unit: "oblivious-slots"}}
			keys := []record.Key{record.K("x", x), record.K("load", load)}
			emit(record.Record{Name: "LPFigure13", N: 1, Keys: keys, Values: size})
			for _, says := range hintSays {
				if says.load == load && says.x == x {
					emit(record.Record{Name: "LPFigure13Says", N: 1, Values: size,
						Keys: append(keys[:2:2], record.K("LP", says.says))})
				}
			}
		}
	}
	return nil
}

// costPlan is what the cost of lookups by read size is computed for.
type costPlan struct {
	load       float64
	gbps, mops float64
	config     readsize.Config
}

// cost is what a lookup costs by read size, like LP Fig. 10b.
func cost() *experiment.Experiment {
	return &experiment.Experiment{
		Name:         "cost",
		Short:        "LP's cost of a lookup by read size at any load, as in Fig. 10b, computed",
		Computed:     true,
		Reproducible: true,
		Long: `Computes what a lookup costs by the size of its reads, on the machine of LP 5.1 or
another one: what LP's model minimises, E[X(R)]*T(R), with rings where it does, and what that
comes to for keys that are there. Farhash model prints read sizes and costs by policy.`,
		Example: "--load 0.95 --slot 16 --gbps 400",
		Views: []view.View{{Name: "LPCost", Title: "expected ns of a lookup by slots of a read",
			Notes: `Computed. "cap" is how many slots the link has room for.`, Across: "curve",
			Only: func(c *record.Case) bool { // few rows
				slots := c.Get("slots")
				n := int(c.Number("slots"))
				return n&(n-1) == 0 || slots == c.Get("capped") || slots == c.Get("uncapped")
			},
			Columns: []view.Column{{Unit: "ns", Head: " ", Whole: true},
				{Unit: "chosen-ns", Head: "chosen", Whole: true}},
			Plots: []view.Plot{{Title: "cost of a lookup", X: "slots", XName: "slots of a read",
				Y: "ns", YName: "expected ns", LogX: true, LogY: true, Paper: "chosen-ns",
				PaperName: "chosen by LP's model"}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			p := &costPlan{config: lpConfig(8)}
			flags.Float64Var(&p.load, "load", 0.8, "occupied part of the table")
			flags.IntVar(&p.config.SlotBytes, "slot", 8, "bytes of a slot")
			flags.IntVar(&p.config.MaxSlots, "max-slots", 0, "most slots of one read, 0: no limit")
			m := &p.config.Machine
			flags.Float64Var(&m.LatencyNs, "latency-ns", m.LatencyNs, "c, a read of no bytes")
			flags.Float64Var(&p.gbps, "gbps", 100, "bandwidth of the link, Gb/s")
			flags.Float64Var(&p.mops, "mops", 87.17, "rho0, million reads of no bytes a second")
			flags.Float64Var(&m.HeaderBytes, "header", m.HeaderBytes,
				"bytes of a message without payload")
			return computed{p.check, p.run}
		},
	}
}

func (p *costPlan) check() error {
	m := &p.config.Machine
	m.LinkBytesPerSecond, m.ByteNs, m.MessagesPerSecond = p.gbps/8*1e9, 8/p.gbps, p.mops*1e6
	if !(p.load > 0 && p.load <= readsize.MaxLoad) {
		return fmt.Errorf("--load must be above 0 and up to %v, not %v", readsize.MaxLoad, p.load)
	}
	return p.config.Check()
}

func (p *costPlan) run(emit experiment.Emit) error {
	c := p.config
	s, err := readsize.NewSizes(c, p.load)
	is, err2 := readsize.NewLaws(p.load)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	curves := []struct {
		name string
		ns   func(slots int) float64
	}{
		{"LP's model, E[X] T", func(slots int) float64 {
			return is.Absent.ModelReads(slots) * c.ReadNs(slots)
		}},
		{"linear, present key", func(slots int) float64 { return c.Cost(is.Present, slots).Ns }},
		{"ordered, present key", func(slots int) float64 {
			return c.Cost(is.OrderedPresent, slots).Ns
		}},
		{"cuckoo, parallel", func(int) float64 {
			return readsize.Cuckoo{Ways: 3, Slots: 4}.Parallel(c).Ns
		}},
	}
	maxSlots := 4 * max(s.Uncapped, s.Capped, min(s.Cap, 1000), 16) // beyond all that is chosen
	for slots := 1; slots <= maxSlots; slots++ {
		chosen := slots == s.Capped || slots == s.Uncapped
		if slots > 256 && slots&(slots-1) != 0 && slots%(maxSlots/128) != 0 && !chosen {
			continue // lines are smooth there
		}
		for i, curve := range curves {
			ns := curve.ns(slots)
			r := record.Record{Name: "LPCost", N: 1, Keys: []record.Key{record.K("load", p.load),
				record.K("slot-bytes", c.SlotBytes), record.K("cap", s.Cap),
				record.K("capped", s.Capped), record.K("uncapped", s.Uncapped),
				record.K("slots", slots), record.K("curve", curve.name)},
				Values: []record.Value{{Value: ns, Unit: "ns"}}}
			if chosen && i == 0 {
				r.Values = append(r.Values, record.Value{Value: ns, Unit: "chosen-ns"})
			}
			emit(r)
		}
	}
	return nil
}
