package lab

import (
	"math/rand/v2"

	"github.com/farhash/farhash/rma/sim"
)

// schedule is what a seed decides beside the table itself.
type schedule struct {
	opts    sim.Options
	calls   int   // of each rank
	pauseNs int64 // the longest between two calls
}

const (
	maxRanks = 4
	maxCalls = 16
	// callsOfEngine is about how many calls of the engine a rank makes at most. A rank
	// that is to die does so in one of them.
	callsOfEngine = 1500
	// programNs is about how long a schedule takes at most.
	programNs = 1_000_000
	// drainNs is longer than anything can be on its way.
	drainNs = 10_000_000
	// maxSteps is far more than a schedule takes: ranks that run on for ever fail.
	maxSteps = 1 << 22
)

// draw makes the schedule of a seed.
func draw(seed uint64) schedule {
	rng := rand.New(rand.NewPCG(seed, 0x1ab))
	ranks := min(1+rng.IntN(2*maxRanks), maxRanks) // mostly maxRanks
	s := schedule{opts: sim.Random(ranks, seed), calls: 1 + rng.IntN(maxCalls)}
	s.opts.MaxSteps = maxSteps
	if rng.IntN(2) == 0 {
		s.opts.View = sim.ViewOwn
	}
	if rng.IntN(2) == 0 { // gets so slow that much happens between their words
		s.opts.TearNs = 1 + rng.Int64N(100_000)
	}
	if rng.IntN(2) == 0 {
		s.pauseNs = 1 + rng.Int64N(10_000)
	}
	switch rng.IntN(6) {
	case 0, 1:
		s.kill(rng)
	case 2:
		s.cut(rng)
	}
	return s
}

// kill has some ranks die, but never all.
func (s *schedule) kill(rng *rand.Rand) {
	f := &s.opts.Faults
	f.MemorySurvives = rng.IntN(2) == 0
	for _, rank := range rng.Perm(s.opts.Ranks)[1:] {
		switch rng.IntN(3) {
		case 0:
			f.Kills = append(f.Kills, sim.Kill{Rank: rank, AtCall: 1 + rng.Uint64N(callsOfEngine)})
		case 1:
			f.Kills = append(f.Kills, sim.Kill{Rank: rank, AtNs: 1 + rng.Int64N(programNs)})
		}
	}
}

// cut takes a link away for a while, shorter or longer than cards keep trying.
func (s *schedule) cut(rng *rand.Rand) {
	hosts := (s.opts.Ranks + s.opts.RanksPerHost - 1) / s.opts.RanksPerHost
	if hosts < 2 {
		return
	}
	pair := rng.Perm(hosts)
	from := rng.Int64N(programNs)
	s.opts.Faults.RetryNs = programNs / 10
	s.opts.Faults.Cuts = []sim.Cut{{A: pair[0], B: pair[1], FromNs: from,
		ToNs: from + 1 + rng.Int64N(programNs/4)}}
}

// sleep has ranks sleep now and then, for up to so long, and half of the schedules have gets that
// take as long.
func (s *schedule) sleep(seed uint64, ns int64) {
	rng := rand.New(rand.NewPCG(seed, 0x51e))
	s.opts.StallEvery, s.opts.StallNs = 20+rng.IntN(300), ns
	if rng.IntN(2) == 0 {
		s.opts.TearNs = ns
	}
}

// faulty reports whether the engine may fail a call.
func (s *schedule) faulty() bool {
	return len(s.opts.Faults.Kills)+len(s.opts.Faults.Cuts) > 0
}
