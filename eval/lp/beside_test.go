package lp

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/invariant"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
)

// simulatedTrial simulates the cases of a trial that are chosen, and measures nothing.
func simulatedTrial(t *testing.T, name string, lookups experiment.Count,
	choose func(c lookupCase) bool) (of *trial, table *record.Table) {
	t.Helper()
	if invariant.Enabled {
		t.Skip("it takes long where every step is checked, and has no races")
	}
	all := trials()
	of = all[slices.IndexFunc(all, func(of *trial) bool { return of.name == name })]
	r := &trialRunner{trial: of, records: defaultRecords, lookups: lookups,
		workers: simulatedWorkers}
	var records []record.Record
	for _, cases := range byTable(of.cases, lookupCase.sameTable) {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c lookupCase) bool {
			return !choose(c)
		})
		if len(cases) == 0 {
			continue
		}
		if err := r.simulate(context.Background(), cases, 1, func(is record.Record) {
			records = append(records, is)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return of, record.NewTable(of.name, records)
}

// TestTable2Errors: charging LP's header makes the simulated throughputs those of LP Table 2 within
// a few percent. Without it short reads are too fast.
func TestTable2Errors(t *testing.T) {
	if mean, largest := errorsOf([]float64{110, 70, 100}, []float64{100, 100, 100}); !near(mean,
		40./3, 1e-9) || !near(largest, -30, 1e-9) {
		t.Errorf("errors of 10, -30 and 0 %%: %v in the mean, at most %v", mean, largest)
	}
	cost := simulatedCost()
	if rate := 1e3 * cost.BytesPerNs / float64(cost.HeaderBytes); !near(rate, 72, 0.5) {
		t.Errorf("%v million reads a second without payload, want 72 (LP: 87)", rate)
	}
	of, table := simulatedTrial(t, "LPTable2", 14<<10, func(lookupCase) bool { return true })
	errors := record.NewTable(table2ErrorsName, of.derive(table))
	for _, want := range []struct {
		header        string
		mean, largest float64
	}{{"charged", 3.5, 10.6}, {"not charged", 13.2, 28}} {
		is := values{errors.Find(record.K("header", want.header))}
		mean, largest := is.of("mean"), is.of("largest")
		if is.of("cells") != 9 || !near(mean, want.mean, 0.8) ||
			!near(largest, want.largest, 1.5) {
			t.Errorf("header %s: errors of %.1f %% in the mean, at most %.1f %%, want %v",
				want.header, mean, largest, want)
		}
	}
}

// TestFitTimes: the two times are found again, and added for each read and once a lookup, or once
// a round.
func TestFitTimes(t *testing.T) {
	all := trials()
	of := all[slices.IndexFunc(all, func(of *trial) bool { return of.name == "LPFigure9" })]
	const lookupNs, readNs = 700, 900
	var records []record.Record
	for _, is := range figure9Latencies[:3] {
		c := latencyCase(is.impl, is.load)
		paper, reads := 2900., 1.
		if is.impl.kind().layout == cuckoo {
			paper, reads = 4700, 3
		}
		ns := paper - lookupNs - reads*readNs
		if is.impl == cuckooSequential {
			ns = 3900
		}
		records = append(records, record.Record{Name: of.name, Keys: of.keys(&c),
			Values: append(paperFigure9(&c), record.Value{Value: ns, Unit: "sim-p50-ns"},
				record.Value{Value: reads, Unit: "sim-p50-reads"})})
	}
	table := record.NewTable(of.name, records)
	if is := of.fitTimes(table); !near(is.lookupNs, lookupNs, 1e-6) ||
		!near(is.readNs, readNs, 1e-6) {
		t.Errorf("%+v, want %d and %d", is, lookupNs, readNs)
	}
	fitted := record.NewTable(figure9LatenciesName, of.derive(table))
	for i, want := range [][3]float64{{2900, 2900, 2900}, {4700, 4700, 4700},
		{7990, 3900 + lookupNs + 3*readNs, 3900 + 3*lookupNs + 3*readNs}} {
		is := values{fitted.Cases[i]}
		if !near(is.of("lp-ns"), want[0], 1e-6) || !near(is.of("once-ns"), want[1], 1e-6) ||
			!near(is.of("rounds-ns"), want[2], 1e-6) {
			t.Errorf("%+v, want %v", is.Case, want)
		}
	}
}

// TestFigure9Times: with the fitted times sequential cuckoo takes less than LP has if the time of a
// lookup passes once, and more if it passes in every round; so do the slowest of linear probing.
func TestFigure9Times(t *testing.T) {
	of, table := simulatedTrial(t, "LPFigure9", 14<<10, func(c lookupCase) bool {
		return c.load == fittedLoad || c.load == 0.8
	})
	fitted := record.NewTable(figure9LatenciesName, of.derive(table))
	ns := func(load float64, of impl, at, unit string) float64 {
		is := fitted.Find(record.K("load", load), record.K("impl", string(of)), record.K("at", at))
		return values{is}.of(unit)
	}
	for _, is := range figure9Latencies[:2] {
		if lp, got := ns(is.load, is.impl, is.at, "lp-ns"), ns(is.load, is.impl, is.at,
			"once-ns"); !near(got, lp, 1) {
			t.Errorf("%s: %v ns, LP has %v, to which it is fitted", is.impl, got, lp)
		}
	}
	for unit, bounds := range map[string][2]float64{"once-ns": {1.45, 1.6},
		"rounds-ns": {1.75, 1.9}} {
		ratio := ns(fittedLoad, cuckooSequential, "p50", unit) /
			ns(fittedLoad, cuckooParallel, "p50", unit)
		if !(ratio > bounds[0] && ratio < bounds[1]) {
			t.Errorf("%s: sequential cuckoo takes %.2f times as long, want %v; LP has %v", unit,
				ratio, bounds, lpSequential)
		}
	}
	for _, is := range []impl{linearFixed, linearModel} {
		once, rounds := ns(0.8, is, "p90", "once-ns"), ns(0.8, is, "p90", "rounds-ns")
		if !(math.Abs(once-5050) < 100 && math.Abs(rounds-5800) < 100) {
			t.Errorf("%s: %.0f and %.0f ns", is, once, rounds)
		}
	}
}
