package bench

import (
	"fmt"
	"slices"
	"time"
)

// NetImpl names what reaches from one host to another.
type NetImpl string

const (
	NetRaw      NetImpl = "raw"       // gets by a loop in C around UCX: see bench/internal/rawucx
	NetEngine   NetImpl = "engine"    // gets by a queue of the engine
	NetOneSided NetImpl = "one-sided" // a set whose batches are gets and compare-and-swaps
	NetShipped  NetImpl = "shipped"   // a set whose batches travel to the owners
	NetRedis    NetImpl = "redis"     // servers, by pipelines of SADD
)

// NetImpls lists them.
func NetImpls() []NetImpl {
	return []NetImpl{NetRaw, NetEngine, NetOneSided, NetShipped, NetRedis}
}

// gets tells whether it does gets, and no find-or-put.
func (i NetImpl) gets() bool { return i == NetRaw || i == NetEngine }

// NetTraffic says which ranks work on whose memory.
type NetTraffic string

const (
	// NetOneWay has the ranks of the first host work on memory of all others.
	NetOneWay NetTraffic = "one-way"
	// NetBothWays has all ranks work on memory of the hosts that they are not on.
	NetBothWays NetTraffic = "both-ways"
)

// NetTraffics lists them.
func NetTraffics() []NetTraffic { return []NetTraffic{NetOneWay, NetBothWays} }

// What NetConfig has where it is left at zero.
const (
	DefaultNetBatch    = 4096
	DefaultNetInFlight = 64
	DefaultNetBuckets  = 8 << 20
	DefaultNetPiece    = 300 * time.Millisecond
	DefaultNetNew      = 0.5
)

const (
	netBatchMax    = 1 << 20
	netInFlightMax = 1 << 12
	netBytesMax    = 1 << 16
	netLine        = 64      // bytes; gets are of multiples of it
	netLoad        = .5      // of the table, at most
	netWarm        = 1 << 13 // words of each client that are there before
	netWarmGets    = 1 << 9
	netWarmSingles = 1 << 7
	netMost        = 1 << 22 // operations of a client in one measurement

	// Operations one at a time are measured in so many shorter turns: how fast two processes
	// take turns depends on where the system has put them, for tenths of seconds.
	netTurns = 3
)

// NetConfig says what is measured between hosts. All ranks give the same, but for Progress.
type NetConfig struct {
	// PerHost is how many ranks each host has: rank r is on host r / PerHost.
	PerHost  int
	Impls    []NetImpl    // empty: all
	Traffics []NetTraffic // empty: all
	// Batch is the words of one call of the batch operation, and of the pipelines of Redis.
	Batch int // 0: DefaultNetBatch
	// InFlight is how many gets are under way, and how many operations of a one-sided batch.
	InFlight int   // 0: DefaultNetInFlight
	Bytes    []int // of gets; empty: 64 and 512
	// Buckets of the table, of all ranks. 0: DefaultNetBuckets.
	Buckets uint64
	// New is the share of words in a batch that are not in the table; less than 0 for none,
	// 0 for DefaultNetNew. Operations one at a time ask for words that are there.
	New float64
	// Piece is about how long one measurement takes. 0: DefaultNetPiece.
	Piece time.Duration
	// Address is HOST:PORT of some host in the network that joins the ranks, to find out by
	// which address this host is reached: servers of Redis listen there. Empty: no Redis.
	Address string
	// Link says what is between the hosts, for the report.
	Link string
	// Engine says which it is, for the report.
	Engine string
	// Progress is told every sample on rank 0, if not nil.
	Progress func(NetSample)
}

// complete fills in defaults and refuses what makes no sense.
func (c *NetConfig) complete() error {
	c.Impls, c.Traffics = orAll(c.Impls, NetImpls()), orAll(c.Traffics, NetTraffics())
	c.Bytes = orAll(c.Bytes, []int{netLine, 8 * netLine})
	for number, standard := range map[*int]int{&c.Batch: DefaultNetBatch,
		&c.InFlight: DefaultNetInFlight} {
		if *number == 0 {
			*number = standard
		}
	}
	if c.Buckets == 0 {
		c.Buckets = DefaultNetBuckets
	}
	if c.Piece == 0 {
		c.Piece = DefaultNetPiece
	}
	if c.New == 0 {
		c.New = DefaultNetNew
	}
	c.New = max(c.New, 0)
	if err := checkList("implementation", c.Impls, NetImpls()); err != nil {
		return err
	}
	if err := checkList("traffic", c.Traffics, NetTraffics()); err != nil {
		return err
	}
	if err := checkList("size of gets", c.Bytes, nil); err != nil {
		return err
	}
	return c.checkNumbers()
}

func (c *NetConfig) checkNumbers() error {
	switch {
	case c.PerHost < 1:
		return fmt.Errorf("bench: a host must have 1 rank at least, not %d", c.PerHost)
	case c.Batch < 2 || c.Batch > netBatchMax:
		return fmt.Errorf("bench: a batch must have 2 to %d words, not %d", netBatchMax, c.Batch)
	case c.InFlight < 2 || c.InFlight > netInFlightMax:
		return fmt.Errorf("bench: there must be 2 to %d gets in flight, not %d", netInFlightMax,
			c.InFlight)
	case c.New > 1:
		return fmt.Errorf("bench: the share of new words must be at most 1, not %v", c.New)
	case c.Piece < time.Millisecond || c.Piece > time.Minute:
		return fmt.Errorf("bench: a measurement must take 1ms to 1m, not %v", c.Piece)
	}
	for _, bytes := range c.Bytes {
		if bytes < netLine || bytes > netBytesMax || bytes%netLine != 0 {
			return fmt.Errorf("bench: gets must have %d to %d bytes, a multiple of %d, not %d",
				netLine, netBytesMax, netLine, bytes)
		}
	}
	return nil
}

// checkJob refuses ranks and tables that do not go together.
func (c *NetConfig) checkJob(size int) error {
	if size < 2*c.PerHost || size%c.PerHost != 0 {
		return fmt.Errorf("bench: %d ranks, %d on each host, are not two hosts or more", size,
			c.PerHost)
	}
	least := uint64(2 * netWarm * c.PerHost * size)
	if c.Buckets < least || c.Buckets > 1<<34 {
		return fmt.Errorf("bench: the table must have %d to %d buckets for %d ranks, not %d",
			least, uint64(1)<<34, size, c.Buckets)
	}
	return nil
}

// NetCase is what a sample is of.
type NetCase struct {
	Impl    NetImpl
	Traffic NetTraffic
	// Batch is the words of one call, and for gets how many are in flight. 1: one at a time,
	// by one rank.
	Batch int
	Bytes int // of a get; 0 for the others
}

// turns are the cases of some traffic in the order in which they are measured.
func (c *NetConfig) turns(t NetTraffic) (all []NetCase) {
	cases := c.cases(t)
	for range netTurns {
		for _, of := range cases {
			if of.Batch == 1 {
				all = append(all, of)
			}
		}
	}
	for _, of := range cases {
		if of.Batch > 1 {
			all = append(all, of)
		}
	}
	return all
}

// cases are what is measured with some traffic. One at a time is for one way.
func (c *NetConfig) cases(t NetTraffic) (all []NetCase) {
	add := func(impl NetImpl, batch int) {
		if !slices.Contains(c.Impls, impl) {
			return
		}
		if !impl.gets() {
			all = append(all, NetCase{impl, t, batch, 0})
			return
		}
		for _, bytes := range c.Bytes {
			all = append(all, NetCase{impl, t, batch, bytes})
		}
	}
	for _, impl := range NetImpls() {
		if t == NetOneWay && impl != NetShipped { // a set does not ship one operation
			add(impl, 1)
		}
	}
	for _, impl := range NetImpls() {
		if impl.gets() {
			add(impl, c.InFlight)
		} else {
			add(impl, c.Batch)
		}
	}
	return all
}
