package op

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/op/schemes"
)

const (
	schemesRuns    = 3
	schemesBuckets = 1 << 18
	schemesFinds   = 1 << 15 // of words that are there, and of others, at each load

	// insertsOfLoad is over which part of the load inserts are counted, as in OP 4.1.
	insertsOfLoad = 0.02
	mostLoad      = 0.99
	// fullShare of the inserts of a step may fail; if more do, the scheme has no such load.
	fullShare = 0.1
	// otherWords is where words begin that no table has.
	otherWords = 1 << 31
)

var schemesLoads = []float64{.1, .25, .5, .6, .7, .75, .8, .85, .9, .95}

// drawnSchemes are the schemes that plots have.
var drawnSchemes = []string{"linear-8", "linear-32", "quadratic", "line-32", "hopscotch-32",
	"cuckoo-2x4", "cuckoo-2x8", "cuckoo-2x8-breadth", "chained"}

// Schemes compares the hashing schemes of OP 2.2 by round trips.
func Schemes() *experiment.Experiment {
	return &experiment.Experiment{
		Name:  "schemes",
		Short: "OP 2.2 and 4.3: round trips of hashing schemes that clients reach one-sided",
		Long: `Fills a table by each scheme that OP 2.2 compares, and counts one-sided operations
of its client and how often it waits for them. linear-C is OP's. Inserts look for the word first, as
find-or-put does, and are counted between load-0.02 and load; finds are counted at the load. Package
eval/op/schemes says how each scheme works. There is one client: several need locks or versions for
hopscotch and cuckoo, so that these figures are lower bounds.`,
		Takes:        "10 s",
		Example:      "--loads 0.6,0.7,0.8 --scheme linear-32,cuckoo-2x4 --buckets 1Mi",
		Runs:         schemesRuns,
		Reproducible: true,
		Views:        schemesViews(),
		New: func(flags *pflag.FlagSet) experiment.Runner {
			s := &comparison{}
			experiment.CountVar(flags, &s.buckets, "buckets", schemesBuckets,
				"size of the tables, a power of two")
			flags.Float64SliceVar(&s.loads, "loads", schemesLoads, "loads of the tables, a list")
			experiment.ChoiceVar(flags, &s.schemes, "scheme", schemes.Schemes(),
				schemes.Schemes(), "what is compared, a list of")
			flags.Uint64Var(&s.seed, "seed", 1, "decides everything that is left to chance")
			return s
		},
	}
}

// schemesViews have a row for each scheme and a column for each load.
func schemesViews() []view.View {
	byLoad := func(title, notes, unit string, digits int) view.View {
		return view.View{Name: "OPSchemes", Title: title, Notes: notes, Across: "load",
			Columns: []view.Column{{Unit: unit, Digits: digits, Whole: digits == 0}}}
	}
	trips := func(what, notes, unit string) view.View {
		v := byLoad("round trips of "+what, notes, unit, 3)
		v.Plots = []view.Plot{{Title: "round trips of " + what, X: "load", Y: unit,
			YName: "round trips", LogY: true, Only: func(c *record.Case) bool {
				return slices.Contains(drawnSchemes, c.Get("scheme"))
			}}}
		return v
	}
	moving := func(v view.View) view.View {
		v.Only = func(c *record.Case) bool { return schemes.Scheme(c.Get("scheme")).Moves() }
		return v
	}
	return []view.View{
		trips("a find, present word", "", "present"),
		trips("a find, absent word", "", "absent"),
		trips("an insert", "With its search and its compare-and-swaps. Inserts that find no room "+
			"are left out.", "insert"),
		byLoad("bytes read by a find, present word", "", "present-bytes", 0),
		byLoad("bytes read by a find, absent word", "", "absent-bytes", 0),
		byLoad("bytes read by an insert", "", "insert-bytes", 0),
		byLoad("gets of an insert", "", "insert-gets", 3),
		moving(byLoad("words that an insert moves", "Its compare-and-swaps are one more.",
			"moves", 3)),
		moving(byLoad("inserts that find no room, %", "", "full-%", 2)),
		{Name: "OPSchemesFull", Title: "load at which an insert first finds no room",
			Columns: []view.Column{{Unit: "load", Digits: 3, Spread: true}}},
	}
}

// comparison runs what the flags say.
type comparison struct {
	buckets experiment.Count
	loads   []float64
	schemes []schemes.Scheme
	seed    uint64
}

// Check refuses what makes no sense.
func (s *comparison) Check() error {
	var errs []error
	for _, load := range s.loads {
		errs = append(errs, experiment.InRange("loads", load, insertsOfLoad, mostLoad))
	}
	if len(s.loads) == 0 {
		errs = append(errs, errors.New("--loads needs a number"))
	}
	s.loads = slices.Compact(slices.Sorted(slices.Values(s.loads)))
	err := experiment.InRange("buckets", s.buckets, schemes.MinBuckets, schemes.MaxBuckets)
	if err == nil && s.buckets&(s.buckets-1) != 0 {
		err = fmt.Errorf("--buckets must be a power of two, not %d", uint64(s.buckets))
	}
	return errors.Join(append(errs, err)...)
}

// Round fills a table of each scheme.
func (s *comparison) Round(ctx context.Context, job rma.Job, seed uint64,
	emit experiment.Emit) error {
	if job.Rank() != 0 {
		return job.Barrier(ctx)
	}
	for _, scheme := range s.schemes {
		table, err := schemes.New(scheme, int(s.buckets), s.seed+seed)
		if err != nil {
			return err
		}
		f := &filling{Table: table, seed: s.seed + seed, buckets: int(s.buckets)}
		if err := s.fill(ctx, f, scheme, emit); err != nil {
			return fmt.Errorf("%s: %w", scheme, err)
		}
	}
	return job.Barrier(ctx)
}

// fill raises the load of a table and counts operations at each load that is asked for.
func (s *comparison) fill(ctx context.Context, f *filling, scheme schemes.Scheme,
	emit experiment.Emit) error {
	rng := rand.New(rand.NewPCG(f.seed, 1))
	for _, load := range s.loads {
		_, ok := f.to(load - insertsOfLoad)
		inserts, still := f.to(load)
		if !ok || !still {
			break
		}
		r := record.Record{Name: "OPSchemes", N: inserts.n, Keys: []record.Key{
			record.K("buckets", s.buckets.String()), record.K("load", load),
			record.K("scheme", string(scheme))}}
		for _, o := range []struct {
			name string
			*total
		}{{"present", f.find(rng, true)}, {"absent", f.find(rng, false)}, {"insert", inserts}} {
			if o.wrong > 0 {
				return fmt.Errorf("%d answers at load %v were wrong", o.wrong, load)
			}
			r.Values = append(r.Values, record.Value{Value: o.mean(o.Trips), Unit: o.name},
				record.Value{Value: o.mean(o.Bytes), Unit: o.name + "-bytes"},
				record.Value{Value: o.mean(o.Gets), Unit: o.name + "-gets"})
		}
		emit(withValues(r, inserts))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if scheme.Moves() {
		for f.firstFull == 0 && len(f.words) < f.buckets {
			f.to(float64(len(f.words)+1) / float64(f.buckets))
		}
		emit(record.Record{Name: "OPSchemesFull", N: 1, Keys: []record.Key{
			record.K("buckets", s.buckets.String()), record.K("scheme", string(scheme))},
			Values: []record.Value{{Value: f.firstFull, Unit: "load"}}})
	}
	return f.Check()
}

// withValues adds what inserts alone have.
func withValues(r record.Record, inserts *total) record.Record {
	r.Values = append(r.Values, record.Value{Value: inserts.mean(inserts.Swaps), Unit: "swaps"},
		record.Value{Value: inserts.mean(inserts.Moves), Unit: "moves"},
		record.Value{Value: 100 * float64(inserts.full) / float64(inserts.n+inserts.full),
			Unit: "full-%"})
	return r
}

// total is what operations took.
type total struct {
	schemes.Cost
	n, full, wrong int
}

func (t *total) mean(of int) float64 { return float64(of) / float64(max(t.n, 1)) }

// filling is a table that words are inserted into.
type filling struct {
	schemes.Table
	seed      uint64
	buckets   int
	tried     uint64
	words     []uint64 // that are there
	firstFull float64  // load at which there was no room for the first time; 0: there always was
}

// word is one of a sequence of distinct words.
func (f *filling) word(i uint64) uint64 { return measure.Mix64(f.seed<<32 + i + 1) }

// to inserts until the table has a load. It gives up if there is no room for many words.
func (f *filling) to(load float64) (inserts *total, ok bool) {
	inserts = &total{}
	before, goal := len(f.words), int(load*float64(f.buckets))
	for len(f.words) < goal {
		word := f.word(f.tried)
		f.tried++
		answer, cost := f.FindOrPut(word)
		switch answer {
		case schemes.Inserted:
			f.words = append(f.words, word)
			inserts.n++
			inserts.Add(cost)
		case schemes.Full:
			if f.firstFull == 0 {
				f.firstFull = float64(len(f.words)) / float64(f.buckets)
			}
			if inserts.full++; float64(inserts.full) > 1+fullShare*float64(goal-before) {
				return inserts, false
			}
		default:
			inserts.wrong++
		}
	}
	return inserts, true
}

// find looks for words that are there, or for others.
func (f *filling) find(rng *rand.Rand, present bool) *total {
	t := &total{}
	for i := range min(schemesFinds, f.buckets) {
		word := f.word(otherWords + uint64(i))
		if present {
			word = f.words[rng.IntN(len(f.words))]
		}
		found, cost := f.Find(word)
		if t.n++; found != present {
			t.wrong++
		}
		t.Add(cost)
	}
	return t
}
