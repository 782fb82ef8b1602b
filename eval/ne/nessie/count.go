package nessie

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/farhash/farhash/rma"
)

// Trips are the round trips of a write of a new key by a single writer, by what its slots have.
type Trips struct {
	Empty  float64 // both are empty
	One    float64 // the one or the other is: the sum of both
	First  float64 // none is, and the key in the primary slot can move
	Second float64 // or else that in the secondary
}

// Algorithms are the trips of Algorithms 1 and 2, where no slot has been used before:
//
//	both slots empty       item and slots; check; flag                   3
//	the secondary taken    item and slots; item there; check; flag       4
//	the primary taken      item and slots; item there; swap; check; flag 5
//	both                   item and slots; items there                   2
//	  a key moves          slot; item; copy and slot; clear; flag        5
//	  or cannot            slot; item; copy and slot                     3
//	  and then one of the above                                          4 or 5
var Algorithms = Trips{3, 4 + 5, 2 + 5 + 4, 2 + 3 + 5 + 5}

// Repaired are the trips of the repair that docs/nessie.md has, counted in the same way:
//
//	the primary empty      item and slots                                1
//	it alone taken         item and slots; item there, slot; swap        3
//	both                   item and slots; items there                   2
//	  a key moves          copy and slot; swap                           2
//	  or cannot            copy and slot                                 1
//	  and the other moves                                                2
var Repaired = Trips{1, 1 + 3, 2 + 2, 2 + 1 + 2}

// AtOnce are the counts of NE 5.1, with transactions:
//
//	both slots empty       item and slots                                1
//	one taken              item and slots; item there; slots             3
//	both                   item and slots; items there; slots            3
//	  the key cannot move  slots once more                               4
var AtOnce = Trips{1, 3 + 3, 3, 4}

// Law is the mean at a load, where every slot is taken with that chance whatever the others
// are, and the second migration always succeeds: what NE 4 assumes.
func (t Trips) Law(load float64) float64 {
	free := 1 - load
	return t.Empty*free*free + t.One*load*free + load*load*(t.First*free+t.Second*load)
}

// LawDone is the mean of those writes that one migration is enough for.
func (t Trips) LawDone(load float64) float64 {
	four := math.Pow(load, 4)
	return (t.Law(load) - four*t.Second) / (1 - four)
}

// Filling is how a table is filled before something is counted in it.
type Filling int

const (
	// Independent takes each slot with the same chance, as NE 4 assumes, by a key whose other slot
	// may be any. No algorithm with two slots for a key fills a table so at high loads.
	Independent Filling = iota
	// Written writes keys. One for which one migration is not enough is left out, as NE
	// would have called its server for it.
	Written
)

// Counted is what writes of new keys have met and needed.
type Counted struct {
	Keys       uint64 // in the table before
	Secondary  uint64 // of them, in their secondary slot
	Writes     uint64
	Done       uint64  // of them, with at most one migration
	RoundTrips uint64  // of those that were done
	Loads      float64 // the sum of the loads that the writes have met
	Ns         int64   // virtual time of those that were done, in a simulated job
	GetNs      int64   // the same of reads of keys in any items, as many as Writes
}

// Add adds another count.
func (c *Counted) Add(d Counted) {
	c.Keys += d.Keys
	c.Secondary += d.Secondary
	c.Writes += d.Writes
	c.Done += d.Done
	c.RoundTrips += d.RoundTrips
	c.Loads += d.Loads
	c.Ns += d.Ns
	c.GetNs += d.GetNs
}

// minCountedSlots is how many slots there are at least, so that there are some writes.
const minCountedSlots = 1000

// Count fills an empty table, which nobody else uses, to 0.01 less than a load. Each rank owns as
// many items. Rank 0 then counts writes of new keys, a fiftieth of the slots, and as many reads. A
// write for which one migration is not enough changes nothing. Keys have 8 bytes. Collective.
func (t *Table) Count(ctx context.Context, how Filling, load float64, seed uint64) (c Counted,
	err error) {
	if t.cfg.MaxKey < 8 || t.total < minCountedSlots || !(load >= .01 && load < 1) {
		return c, fmt.Errorf("kv: counting needs keys of 8 bytes, not %d, at least %d slots, "+
			"not %d, and a load from 0.01 to below 1, not %g", t.cfg.MaxKey, minCountedSlots,
			t.total, load)
	}
	s, err := t.newSession()
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.mover.links = 0
	rng := rand.New(rand.NewPCG(seed, math.Float64bits(load)))
	if how == Written {
		err = s.writeKeys(ctx, seed, uint64((load-.01)*float64(t.total)))
	} else {
		err = s.scatter(ctx, rng, load-.01)
	}
	err = rma.AllSucceeded(ctx, t.job, "filling the table", err)
	if err != nil || t.job.Rank() > 0 {
		return c, err
	}
	keys, secondary, err := t.keys(ctx)
	if err != nil {
		return c, err
	}
	c.Keys, c.Secondary = uint64(len(keys)), secondary
	if err := s.countWrites(ctx, rng, &c); err != nil {
		return c, err
	}
	began := t.nowNs()
	for range c.Writes {
		if err := s.call(ctx, Read, keys[rng.IntN(len(keys))], nil); err != nil || !s.op.found {
			return c, errors.Join(err, errors.New("kv: a key is not found, and it is there"))
		}
	}
	c.GetNs = t.nowNs() - began
	return c, nil
}

// countWrites counts writes of new keys.
func (s *session) countWrites(ctx context.Context, rng *rand.Rand, c *Counted) error {
	taken := c.Keys
	for range s.t.total / 50 {
		s.count = counts{}
		began := s.t.nowNs()
		fits, err := s.write(ctx, drawKey(rng))
		if err != nil {
			return err
		}
		c.Writes++
		c.Loads += float64(taken) / float64(s.t.total)
		if fits {
			taken++
			c.Done++
			c.RoundTrips += s.count.trips
			c.Ns += s.t.nowNs() - began
		}
	}
	return nil
}

// write writes a key without a value, if the migrations that are allowed make room for it.
func (s *session) write(ctx context.Context, key []byte) (fits bool, err error) {
	err = s.call(ctx, Write, key, nil)
	var full *FullError
	if errors.As(err, &full) && !full.Items {
		return false, nil
	}
	return err == nil, err
}

// FirstServer writes new keys into an empty table, which nobody else uses, until one migration is
// not enough for a key, so that NE would call its server. It returns the load of the table. Keys
// have 8 bytes. The job has one rank.
func (t *Table) FirstServer(ctx context.Context, seed uint64) (load float64, err error) {
	s, err := t.newSession()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.mover.links = 0
	rng := rand.New(rand.NewPCG(seed, t.total))
	for n := 0; ; n++ {
		if fits, err := s.write(ctx, drawKey(rng)); err != nil || !fits {
			return float64(n) / float64(t.total), err
		}
	}
}

// nowNs is the virtual time of a simulated job, and 0 in others.
func (t *Table) nowNs() int64 {
	if clock, ok := t.job.(interface{ NowNs() int64 }); ok {
		return clock.NowNs()
	}
	return 0
}

func drawKey(rng *rand.Rand) []byte { return binary.LittleEndian.AppendUint64(nil, rng.Uint64()) }

// writeKeys writes keys until n slots are taken, one rank after the other, each its part.
func (s *session) writeKeys(ctx context.Context, seed, n uint64) error {
	rank, ranks := uint64(s.t.job.Rank()), uint64(s.t.job.Size())
	rng := rand.New(rand.NewPCG(seed, rank))
	for turn := range ranks {
		var err error
		for left := (n + turn) / ranks; turn == rank && left > 0 && err == nil; {
			var fits bool
			if fits, err = s.write(ctx, drawKey(rng)); fits {
				left--
			}
		}
		if err := rma.AllSucceeded(ctx, s.t.job, "writing keys", err); err != nil {
			return err
		}
	}
	return nil
}

// keys are all keys of the table, and how many of them are in their secondary slot.
func (t *Table) keys(ctx context.Context) (keys [][]byte, secondary uint64, err error) {
	all, err := t.Entries(ctx)
	for _, e := range all {
		keys = append(keys, e.Key)
		if !e.Primary {
			secondary++
		}
	}
	return keys, secondary, err
}

// scatter takes slots with that chance each. Ranks, which draw the same, take turns: so they own
// the items.
func (s *session) scatter(ctx context.Context, rng *rand.Rand, load float64) error {
	wanted, n := make([]bool, s.t.total), uint64(0)
	for i := range wanted {
		if wanted[i] = rng.Float64() < load; wanted[i] {
			n++
		}
	}
	o, ranks := s.op, uint64(s.t.job.Size())
	for left := n; left > 0; {
		o.key, o.value = drawKey(rng), nil
		p, sec := s.t.slotsOf(o.key)
		if rng.IntN(2) == 0 {
			p, sec = sec, p
		}
		if !wanted[p] {
			continue
		}
		wanted[p] = false
		left--
		if left%ranks != uint64(s.t.job.Rank()) {
			continue
		}
		o.sent = false
		o.start((*op).place, p, sec)
		if err := s.run(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// place puts the key into slot p, which is empty.
func (o *op) place(q rma.Queue) step {
	if !o.take(q, o.key, o.value) {
		return nil
	}
	o.cas(q, o.p, 0, o.n, &o.i)
	return (*op).publish
}
