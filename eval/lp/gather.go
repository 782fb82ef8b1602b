package lp

import (
	"context"
	"errors"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

// LP 7 asks of a network whose requests name several places at once whether the three buckets of a
// key should be read so. A request has 16 bytes for each place beyond the first, and its answer the
// bytes of all; a card is busy with the header once.

// gathered has the limits that are simulated: a request names one place, the three buckets of a
// key, or the buckets of all lookups that a worker has in flight.
var gathered = []int{1, 3, 3 * simulatedDepth}

// gather is the experiment.
func gather() *experiment.Experiment {
	return &experiment.Experiment{
		Name: "gather", Computed: true, Reproducible: true, Takes: "20 s",
		Short: "LP 7: several reads in one request, by load",
		Long: `Simulates lookups with LP's network whose requests name up to so many places: one,
three, which are the buckets of a key, and 48, which are those of all 16 lookups that each of 28
workers has in flight. The lengths of reads are those for requests of one place.`,
		Views: []view.View{{Name: "LPGather", Across: "places", Title: "LP 7: several reads in " +
			"one request, simulated",
			Notes: `Million lookups a second, and messages of a lookup.`,
			Columns: []view.Column{{Unit: "sim-Mrecords/s", Head: "M/s", Digits: 1},
				{Unit: "messages", Digits: 2}},
			Plots: []view.Plot{{Title: "throughput, simulated", Panel: "places", X: "load",
				Y: "sim-Mrecords/s", YName: "million lookups/s"}}}},
		New: atLoads(simulateGather),
	}
}

// simulateGather does all loads.
func simulateGather(ctx context.Context, loads []float64, each int, emit experiment.Emit) error {
	for _, load := range loads {
		for _, of := range []impl{cuckooParallel, linearModel, orderedAdaptive} {
			if err := gatherIn(ctx, newCase(of, load), each, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// gatherIn does all numbers of places with a table.
func gatherIn(ctx context.Context, of lookupCase, each int, emit experiment.Emit) error {
	t, err := newSimulatedTable(ctx, of.shape(), of.newKeys(0, int(of.load*simulatedBytes/8)))
	if err != nil {
		return err
	}
	for _, places := range gathered {
		t.gather = places
		s, err := t.simulate(ctx, of.lookups(), simulatedWorkers, each, each)
		if err != nil {
			return errors.Join(err, t.close())
		}
		lookups := simulatedWorkers * each
		emit(record.Record{Name: "LPGather", N: lookups, Keys: []record.Key{
			record.K("load", of.load), record.K("impl", string(of.impl)),
			record.K("places", places)}, Values: []record.Value{
			{Value: float64(s.stats.Matches) / s.elapsedNs() * 1e3, Unit: "sim-Mrecords/s"},
			{Value: float64(s.messages) / float64(lookups), Unit: "messages"}}})
	}
	return t.close()
}
