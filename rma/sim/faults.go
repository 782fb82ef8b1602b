package sim

import (
	"fmt"
	"math"
)

// Faults are the faults of a cluster, other than delays. The zero value has none.
type Faults struct {
	Kills []Kill
	// One call of the engine in KillEvery kills the rank that makes it, 0 for none, and
	// at most MaxKills do; 0 means all ranks but one.
	KillEvery int
	MaxKills  int
	// MemorySurvives: operations on the memory of a killed rank succeed as before, as in
	// memory that the ranks of a host share. Otherwise they fail.
	MemorySurvives bool
	// DetectNs is how long it takes until others notice that a rank is gone.
	// 0 means [defaultDetectNs].
	DetectNs int64

	Cuts []Cut
	// RetryNs is how long a card tries to send a message on a link that is cut, before the
	// operation fails. 0 means [defaultRetryNs].
	RetryNs int64

	// Of LossEvery messages between hosts one is lost, 0 for none. Its card sends it again after
	// ResendNs, and each time that it is lost again after twice as long. 0 means
	// [defaultResendNs]. While messages are lost, those from one rank to another arrive in the
	// order in which they have left: what follows a lost one waits for it.
	LossEvery int
	ResendNs  int64

	Slow []Slow
}

const (
	// defaultDetectNs is 1 ms.
	defaultDetectNs = 1_000_000
	// defaultRetryNs is 4 ms, of the order of the retries of an InfiniBand card.
	defaultRetryNs = 4_000_000
	// defaultResendNs is 200 ms, the shortest time after which TCP on Linux sends again what
	// nothing follows.
	defaultResendNs = 200_000_000
)

// Kill ends a rank as SIGKILL does. What it has posted and not submitted is lost; of
// what it has sent, some arrives, words of a put one by one.
type Kill struct {
	Rank int
	// AtCall is the call of the engine, counted from 1, in which it dies, before that
	// call does anything. When 0 it dies at AtNs instead.
	AtCall uint64
	AtNs   int64
}

// Cut is a link between two hosts that transmits nothing for a time. Messages that would leave then
// are held until the link is back, or lost if that takes longer than RetryNs. Collective calls are
// not affected.
type Cut struct {
	A, B   int // hosts; host h has ranks h*RanksPerHost and on
	FromNs int64
	ToNs   int64 // 0 means for ever
}

// Slow makes a rank slow: the time of its processor and the latency of all messages
// from and to its memory are multiplied by Factor.
type Slow struct {
	Rank   int
	Factor float64
}

func (f *Faults) check(o Options) error {
	hosts := (o.Ranks + o.RanksPerHost - 1) / o.RanksPerHost
	for _, k := range f.Kills {
		if k.Rank < 0 || k.Rank >= o.Ranks || k.AtNs < 0 || k.AtNs > MaxNs {
			return fmt.Errorf("sim: %+v is no Kill of %d ranks", k, o.Ranks)
		}
	}
	for _, cut := range f.Cuts {
		if min(cut.A, cut.B) < 0 || max(cut.A, cut.B) >= hosts || cut.A == cut.B ||
			cut.FromNs < 0 || cut.FromNs > MaxNs || cut.ToNs < 0 || cut.ToNs > MaxNs {
			return fmt.Errorf("sim: %+v is no Cut between two of %d hosts", cut, hosts)
		}
	}
	for _, s := range f.Slow {
		if s.Rank < 0 || s.Rank >= o.Ranks || !(s.Factor >= 1e-3 && s.Factor <= 1e6) {
			return fmt.Errorf("sim: %+v is no Slow of %d ranks with a factor of 0.001 to 1e6",
				s, o.Ranks)
		}
	}
	if f.KillEvery < 0 || f.MaxKills < 0 {
		return fmt.Errorf("sim: KillEvery %d and MaxKills %d must not be negative",
			f.KillEvery, f.MaxKills)
	}
	if f.LossEvery < 0 || f.LossEvery == 1 {
		return fmt.Errorf("sim: LossEvery must be 2 or more, or 0 for none, not %d", f.LossEvery)
	}
	return nil
}

// deadlyCall is the first call of the engine in which a rank is killed, 0 for none.
func (f *Faults) deadlyCall(rank int) (first uint64) {
	for _, k := range f.Kills {
		if k.Rank == rank && k.AtCall > 0 && (first == 0 || k.AtCall < first) {
			first = k.AtCall
		}
	}
	return first
}

// plan is the faults in the units of the scheduler.
type plan struct {
	detect, retry instant
	slow          []float64 // by rank
	deadlyCalls   bool      // a call of the engine may kill
	killsLeft     int       // by chance
	cuts          []cut
	resend        instant
	last          map[connection]instant // when the last message arrives; nil: nothing is lost
}

type cut struct {
	a, b     int
	from, to instant
}

// makePlan reads the options and has the kills by time happen.
func (c *cluster) makePlan() {
	f := &c.opts.Faults
	p := &c.plan
	p.detect, p.retry = instant(f.DetectNs)*nanosecond, instant(f.RetryNs)*nanosecond
	if f.DetectNs == 0 {
		p.detect = defaultDetectNs * nanosecond
	}
	if f.RetryNs == 0 {
		p.retry = defaultRetryNs * nanosecond
	}
	if p.resend = instant(f.ResendNs) * nanosecond; f.ResendNs == 0 {
		p.resend = defaultResendNs * nanosecond
	}
	if f.LossEvery > 0 {
		p.last = map[connection]instant{}
	}
	p.slow = make([]float64, c.opts.Ranks)
	for id := range p.slow {
		p.slow[id] = 1
	}
	for _, s := range f.Slow {
		p.slow[s.Rank] *= s.Factor
	}
	for i, k := range f.Kills {
		if k.AtCall > 0 {
			p.deadlyCalls = true
		} else {
			c.schedule(instant(k.AtNs)*nanosecond, event{kind: strike, n: uint32(i)})
		}
	}
	if f.KillEvery > 0 {
		p.deadlyCalls = true
		if p.killsLeft = f.MaxKills; p.killsLeft == 0 {
			p.killsLeft = c.opts.Ranks - 1
		}
	}
	for _, k := range f.Cuts {
		to := instant(k.ToNs) * nanosecond
		if k.ToNs == 0 {
			to = math.MaxInt64
		}
		p.cuts = append(p.cuts, cut{k.A, k.B, instant(k.FromNs) * nanosecond, to})
	}
}

// drawKill kills the rank in its present call if the options or chance say so.
func (c *cluster) drawKill(r *rank) {
	p := &c.plan
	if r.calls == r.deadlyCall {
		c.strike(r)
	} else if p.killsLeft > 0 && c.chance(c.opts.Faults.KillEvery) {
		p.killsLeft--
		c.strike(r)
	}
}

// strike ends a rank: it is unwound as soon as it is its turn, and does nothing more.
func (c *cluster) strike(r *rank) {
	if r.dead || r.ended {
		return
	}
	c.trace("rank %d is killed in its call %d", r.id, r.calls)
	c.report.Kills++
	r.dead, r.diedAt = true, c.now
	c.alive--
	if r != c.current {
		c.wakeAt(r, c.now)
	}
	r.leave(true)
}

// memoryLost reports whether a rank's memory has gone with it.
func (c *cluster) memoryLost(id int) bool {
	return c.ranks[id].dead && !c.opts.Faults.MemorySurvives
}

// departure is when a message that is ready to leave at a moment can leave, and
// false if the link is cut for longer than its card tries.
func (c *cluster) departure(from, to int, ready instant) (instant, bool) {
	at := ready
	for again := true; again; {
		again = false
		for _, k := range c.plan.cuts {
			if (k.a == from && k.b == to || k.a == to && k.b == from) && k.from <= at && at < k.to {
				at, again = k.to, true
			}
		}
		if at-ready > c.plan.retry {
			return 0, false
		}
	}
	if at > ready {
		c.report.Held++
	}
	return at, true
}
