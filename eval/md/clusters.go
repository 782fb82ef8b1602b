package md

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
)

// Fitted so that lock-free reads and writes of uniform keys on 5 hosts are as fast as in MD.
const (
	fittedSendNs   = 6_300
	fittedAnswerNs = 29_600
)

// clusters are simulated clusters of several sizes.
type clusters struct {
	hosts                      []int
	procs, seeds               int
	preset                     string
	sendNs, answerNs, atomicNs float64
	tearNs                     int64
	cost                       sim.Cost
}

// clusterFlags are the flags that say what the clusters are.
func (c *clusters) clusterFlags(flags *pflag.FlagSet, hosts ...int) {
	flags.IntSliceVar(&c.hosts, "hosts", hosts, "numbers of hosts")
	flags.IntVar(&c.procs, "procs", 128, "ranks of each host")
	flags.StringVar(&c.preset, "preset", "ndr", fmt.Sprintf("network, one of %v", sim.Presets()))
	flags.Float64Var(&c.sendNs, "send-ns", fittedSendNs, "time of the MPI library for a message")
	flags.Float64Var(&c.answerNs, "answer-ns", fittedAnswerNs,
		"time of the MPI library for the answer to a get or an atomic")
	flags.Float64Var(&c.atomicNs, "atomic-ns", 0,
		"for how long an atomic keeps the card of its target from the next one")
	flags.Int64Var(&c.tearNs, "tear-ns", 4, "how long a get or put of a bucket takes at "+
		"the memory; 4: its bytes at 400 Gb/s")
	flags.IntVar(&c.seeds, "seeds", 3, "how often everything is simulated")
}

// checkClusters refuses what makes no sense.
func (c *clusters) checkClusters() error {
	cost, err := sim.Preset(c.preset)
	if err != nil {
		return fmt.Errorf("--preset: %w", err)
	}
	c.cost = cost
	c.cost.AtomicNs = c.atomicNs
	if len(c.hosts) == 0 {
		return errors.New("--hosts needs a number")
	}
	for _, hosts := range c.hosts {
		err = errors.Join(err, experiment.InRange("hosts", hosts, 1, sim.MaxRanks/max(c.procs, 1)))
	}
	return errors.Join(err, inTime("send-ns", c.sendNs/1e3), inTime("answer-ns", c.answerNs/1e3),
		experiment.InRange("procs", c.procs, 1, sim.MaxRanks),
		experiment.InRange("seeds", c.seeds, 1, 1000))
}

// inTime refuses a time of a flag that is negative or longer than 1,000 seconds.
func inTime(flag string, us float64) error {
	const maxUs = 1e9
	if !(us >= 0 && us < maxUs) {
		return fmt.Errorf("--%s: out of range", flag)
	}
	return nil
}

// run simulates ranks once.
func (c *clusters) run(ctx context.Context, ranks int, seed uint64,
	rank func(*libraryJob) error) error {
	_, err := sim.Run(sim.Options{Ranks: ranks, RanksPerHost: c.procs, Seed: 1 + seed,
		Cost: c.cost, TearNs: c.tearNs, Context: ctx, MaxTimeNs: sim.MaxNs,
		MaxSteps: math.MaxUint64}, func(job rma.Job) error {
		return errors.Join(rank(newLibraryJob(job.(*sim.Job), c.sendNs, c.answerNs)), job.Close())
	})
	return err
}
