package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
)

// MaxRanks is the largest number of ranks of a simulated cluster.
const MaxRanks = 1 << 16

// Options are the simulated cluster and its faults. The zero value of a field causes no delays and
// no faults; only Ranks must be given.
type Options struct {
	Ranks        int
	RanksPerHost int // ranks that share a network card and, among them, memory; 0 means 1

	// Seed decides everything that is left to chance.
	Seed uint64

	// Cost is the time that computing and messages take. The zero value means [EDR].
	Cost Cost

	// Gather is the most gets that a message asks for: those that follow each other in a Submit,
	// from one rank. Its answer brings the words of all. 0 and 1: each get has messages of its own.
	Gather int

	// View says which segments Window.Words returns.
	View View
	// Incoherent atomics read a word and write it a while later, as network cards do:
	// what a CPU or a put writes in between is lost. Other atomics of the engine
	// wait. Window.CPUAtomicsCoherent is false then.
	Incoherent bool
	// TearNs is how long a get or put of several words may take at the memory: its words
	// are then read or written in pieces and in any order. 0 means all at once.
	TearNs int64
	// JitterNs is the largest delay of a message, evenly distributed. It makes operations
	// overtake each other.
	JitterNs int64
	// Of StallEvery messages one is late by up to StallNs, and of StallEvery calls of
	// the engine one comes that much late, as if the rank had not had a processor.
	// 0 means none.
	StallEvery int
	StallNs    int64

	Faults Faults

	// PatienceNs is for how long a rank that waits for any of its operations waits for the first
	// alone; 0 means for ever. Networks whose messages take less show no difference.
	PatienceNs int64

	// MaxTimeNs ends the run with an error when virtual time passes it; 0 means 100 days.
	MaxTimeNs int64
	// MaxSteps ends the run with an error after so many events and calls of the engine,
	// so that no run is endless. 0 means [defaultMaxSteps].
	MaxSteps uint64
	// Context ends the run, with its error, soon after it ends, whatever the ranks do; nil: none.
	Context context.Context

	// Trace gets a line for every event and every fault; nil for none.
	Trace io.Writer
}

// defaultMaxSteps takes a few minutes of real time.
const defaultMaxSteps = 1 << 31

// View says to which segments of a window a rank has direct access.
type View uint8

const (
	ViewNone View = iota // none: all access is one-sided
	ViewOwn              // the rank's own
	ViewHost             // the ones of its host, also of ranks of it that are lost
	ViewAll              // all of them, as on one host
)

func (o Options) complete() (Options, error) {
	if o.RanksPerHost == 0 {
		o.RanksPerHost = 1
	}
	if o.Cost == (Cost{}) {
		o.Cost = EDR()
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = defaultMaxSteps
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	switch {
	case o.Ranks < 1 || o.Ranks > MaxRanks:
		return o, fmt.Errorf("sim: a cluster has 1 to %d ranks, not %d", MaxRanks, o.Ranks)
	case o.RanksPerHost < 0:
		return o, fmt.Errorf("sim: RanksPerHost must be at least 1, not %d", o.RanksPerHost)
	case o.View > ViewAll:
		return o, fmt.Errorf("sim: View must be ViewNone, ViewOwn, ViewHost or ViewAll, not %d",
			o.View)
	case o.Gather < 0:
		return o, fmt.Errorf("sim: Gather must not be negative: %d", o.Gather)
	case o.StallEvery < 0:
		return o, fmt.Errorf("sim: StallEvery must not be negative: %d", o.StallEvery)
	}
	for _, d := range []struct {
		name string
		ns   int64
	}{{"TearNs", o.TearNs}, {"JitterNs", o.JitterNs}, {"StallNs", o.StallNs},
		{"PatienceNs", o.PatienceNs},
		{"MaxTimeNs", o.MaxTimeNs}, {"Faults.DetectNs", o.Faults.DetectNs},
		{"Faults.RetryNs", o.Faults.RetryNs}, {"Faults.ResendNs", o.Faults.ResendNs}} {
		if d.ns < 0 || d.ns > MaxNs {
			return o, fmt.Errorf("sim: %s must be 0 to %d, not %d", d.name, int64(MaxNs), d.ns)
		}
	}
	if err := o.Cost.check(); err != nil {
		return o, err
	}
	return o, o.Faults.check(o)
}

// Random draws options from a seed, for tests that want many different clusters:
// cards and ranks on a host, torn gets and puts, jitter, stalls, slow ranks, atomics
// that are coherent with CPUs or not. It has no direct access and no kills: set View, and
// Faults.Kills or Faults.KillEvery, for these.
func Random(ranks int, seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	upTo := func(limit int64) int64 { // in half of all cases none
		if rng.IntN(2) == 0 {
			return 0
		}
		return 1 + rng.Int64N(limit)
	}
	names := Presets()
	cost, _ := Preset(names[rng.IntN(len(names))])
	o := Options{Ranks: ranks, Seed: seed, Cost: cost, RanksPerHost: 1 + rng.IntN(3),
		Incoherent: rng.IntN(2) == 0, TearNs: upTo(5_000), JitterNs: upTo(10_000)}
	if rng.IntN(2) == 0 {
		o.StallEvery, o.StallNs = 2+rng.IntN(50), 1+rng.Int64N(50_000)
	}
	if rng.IntN(4) == 0 {
		o.Faults.Slow = []Slow{{Rank: rng.IntN(max(ranks, 1)), Factor: 1 + 20*rng.Float64()}}
	}
	return o
}
