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

// Counted is what writes of new keys have met and needed.
type Counted struct {
	Writes     uint64
	Done       uint64  // of them, with at most one migration
	RoundTrips uint64  // of those that were done
	Loads      float64 // the sum of the loads that the writes have met
	Ns         int64   // virtual time of those that were done, in a simulated job
	GetNs      int64   // the same of reads of keys in any items, as many as Writes
}

// Add adds another count.
func (c *Counted) Add(d Counted) {
	c.Writes += d.Writes
	c.Done += d.Done
	c.RoundTrips += d.RoundTrips
	c.Loads += d.Loads
	c.Ns += d.Ns
	c.GetNs += d.GetNs
}

// minCountedSlots is how many slots there are at least, so that there are some writes.
const minCountedSlots = 1000

// Count fills an empty table, which nobody else uses, to 0.01 less than a load, as NE 4 assumes
// it: each slot is taken with that chance, by a key whose other slot may be any. Each rank owns as
// many items. Rank 0 then counts writes of new keys, a fiftieth of the slots, and as many reads. A
// write for which one migration is not enough changes nothing. Keys have 8 bytes. Collective.
func (t *Table) Count(ctx context.Context, load float64, seed uint64) (c Counted, err error) {
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
	keys, taken, err := s.scatter(ctx, rng, load-.01)
	err = rma.AllSucceeded(ctx, t.job, "filling the table", err)
	if err != nil || t.job.Rank() > 0 {
		return c, err
	}
	for range t.total / 50 {
		s.count = counts{}
		began := t.nowNs()
		err := s.call(ctx, Write, drawKey(rng), nil)
		var full *FullError
		if err != nil && (!errors.As(err, &full) || full.Items) {
			return c, err
		}
		c.Writes++
		c.Loads += float64(taken) / float64(t.total)
		if err == nil {
			taken++
			c.Done++
			c.RoundTrips += s.count.trips
			c.Ns += t.nowNs() - began
		}
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

// nowNs is the virtual time of a simulated job, and 0 in others.
func (t *Table) nowNs() int64 {
	if clock, ok := t.job.(interface{ NowNs() int64 }); ok {
		return clock.NowNs()
	}
	return 0
}

func drawKey(rng *rand.Rand) []byte { return binary.LittleEndian.AppendUint64(nil, rng.Uint64()) }

// scatter takes slots with that chance each, and returns how many, and all keys. Ranks, which draw
// the same, take turns: so they own the items.
func (s *session) scatter(ctx context.Context, rng *rand.Rand, load float64) (keys [][]byte,
	n uint64, err error) {
	wanted := make([]bool, s.t.total)
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
		keys = append(keys, o.key)
		if left%ranks != uint64(s.t.job.Rank()) {
			continue
		}
		o.sent = false
		o.start((*op).place, p, sec)
		if err := s.run(ctx, o); err != nil {
			return nil, 0, err
		}
	}
	return keys, n, nil
}

// place puts the key into slot p, which is empty.
func (o *op) place(q rma.Queue) step {
	if !o.take(q, o.key, o.value) {
		return nil
	}
	o.cas(q, o.p, 0, o.n, &o.i)
	return (*op).publish
}
