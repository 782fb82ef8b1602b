package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// The cache as a table of the lab. It is no linearizable one: its values follow the rules of a
// regular register that may forget. So each get is held against the writes alone: there is
// an order of them, and of this get, in which it comes after the put whose value it found,
// with no other write between (weak regularity for many writers).

// labOp is an operation on a key.
type labOp struct {
	kind   kind
	number uint64 // of a write, from 1 on; no two of a schedule have the same
	ttlNs  int64  // of a put; 0: for ever
}

// mayExpire reports whether the pair of a put may be gone by a time, and mustExpire whether it is.
func mayExpire(put lab.Operation, ns int64) bool {
	ttl := put.What.(labOp).ttlNs
	return ttl != 0 && put.CallNs+ttl <= ns
}

func mustExpire(put lab.Operation, ns int64) bool {
	ttl := put.What.(labOp).ttlNs
	return ttl != 0 && put.ReturnNs != lab.Open && put.ReturnNs+ttl < ns
}

func (o labOp) String() string {
	if o.kind == kindGet {
		return "get"
	}
	return fmt.Sprintf("%s %d", [...]string{kindPut: "put", kindRemove: "delete"}[o.kind], o.number)
}

// labFound is the answer of a get: the number of the put whose value it found, 0 for none.
type labFound uint64

// labModel is the register of one key.
var labModel = porcupine.Model{
	Partition: eachGet,
	Init:      func() any { return labFound(0) },
	Step: func(state, input, output any) (bool, any) {
		switch op := input.(labOp); op.kind {
		case kindPut:
			return true, labFound(op.number)
		case kindRemove:
			return true, labFound(0)
		}
		return output == state, state
	},
}

// eachGet gives a history for each get that found a value, of the get, of the put that the
// value is from, and of the writes that can only come between the two. Other
// writes can come before both or after both.
func eachGet(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	for _, get := range history {
		found, _ := get.Output.(labFound)
		if found == 0 {
			continue // it may always be forgotten
		}
		part := []porcupine.Operation{get}
		at := slices.IndexFunc(history, func(o porcupine.Operation) bool {
			op := o.Input.(labOp)
			return op.kind == kindPut && op.number == uint64(found)
		})
		if at >= 0 {
			part = append(part, history[at])
			for _, o := range history {
				if o.Input.(labOp).kind != kindGet && o.Call > history[at].Return &&
					o.Return < get.Call {
					part = append(part, o)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// labCache is what a rank does with a cache.
type labCache struct {
	c     *Cache
	keys  int
	calls int // so far
	nowNs func() int64
}

// Calls on lab caches happen at one time each, the one at which they begin.
func (l *labCache) timed(call lab.Call) lab.Call {
	do := call.Do
	call.Do = func(answers []any) error {
		if l.c.clock != nil {
			l.c.clock.reach(uint64(l.nowNs()))
		}
		return do(answers)
	}
	return call
}

// reach moves a clock on to a time, if that has not come yet.
func (k *clock) reach(ns uint64) {
	for old := k.ns.Load(); old < ns && !k.ns.CompareAndSwap(old, ns); old = k.ns.Load() {
	}
}

// labTable is a cache in some mode.
func labTable(mode Mode, access rma.Access) *lab.Table {
	shared := stopped() // where ranks answer for others at any time
	shared.ns.Store(1)
	open := func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		cfg := labConfig(rng)
		cfg.Buckets *= uint64(job.Size())
		cfg.Mode, cfg.Access, cfg.clock = mode, access, shared
		nowNs := func() int64 { return time.Now().UnixNano() }
		if simulated, ok := job.(*sim.Job); ok {
			nowNs, cfg.clock = simulated.NowNs, stopped()
			cfg.clock.ns.Store(1)
		}
		c, err := New(ctx, job, cfg)
		if err != nil {
			return nil, err
		}
		return &labCache{c: c, keys: 1 + rng.IntN(6), nowNs: nowNs}, nil
	}
	return &lab.Table{Name: mode.String(), Open: open, Model: labModel}
}

// labConfig draws a cache, with the buckets of a rank. In half of them keys fight for buckets.
func labConfig(rng *rand.Rand) Config {
	cfg := Config{KeySize: 8 * (1 + rng.IntN(3)), ValueSize: 8 * (1 + rng.IntN(6)),
		Buckets: uint64(1 + rng.IntN(6)), Depth: 1 + rng.IntN(4), Retries: rng.IntN(4) - 1}
	if rng.IntN(2) == 0 {
		cfg.Buckets = 16
	}
	if rng.IntN(3) == 0 {
		cfg.TTL = time.Duration(1 + rng.IntN(labTTL))
	}
	switch rng.IntN(3) {
	case 0:
		cfg.Addressing = Paper
	case 1:
		cfg.GroupBuckets = 1
	}
	return cfg
}

// labTTL is the longest TTL: some calls take longer, and some do not.
const labTTL = 50_000 // ns

// Draw chooses a call on one key or on several, some of them perhaps twice.
func (l *labCache) Draw(rng *rand.Rand) lab.Call {
	keys := make([]int, 1)
	if rng.IntN(3) == 0 {
		keys = make([]int, 1+rng.IntN(maxLabKeys))
	}
	for i := range keys {
		keys[i] = rng.IntN(l.keys)
	}
	l.calls++
	switch rng.IntN(9) {
	case 0:
		return l.timed(l.remove(keys[0]))
	case 1:
		return l.timed(l.update(keys[0]))
	case 2, 3, 4:
		return l.timed(l.get(keys))
	}
	ttl := time.Duration(0)
	if l.c.cfg.TTL != 0 {
		ttl = []time.Duration{0, Forever, time.Duration(1 + rng.IntN(labTTL))}[rng.IntN(3)]
	}
	return l.timed(l.put(keys, ttl))
}

// write is a put for a history.
func (l *labCache) write(number uint64, ttl time.Duration) labOp {
	if ttl == 0 {
		ttl = l.c.cfg.TTL
	}
	return labOp{kindPut, number, int64(max(ttl, 0))}
}

const maxLabKeys = 6

// number is the number of a write: all ranks, all their calls and all keys of these differ.
func (l *labCache) number(i int) uint64 {
	return uint64((l.c.job.Rank()<<8|l.calls)*maxLabKeys+i) + 1
}

func (l *labCache) pack(keys []int) (packed []byte) {
	for _, key := range keys {
		packed = append(packed, spread(uint64(key+1), l.c.cfg.KeySize)...)
	}
	return packed
}

func (l *labCache) get(keys []int) lab.Call {
	inputs := make([]lab.Input, len(keys))
	for i, key := range keys {
		inputs[i] = lab.Input{Key: key, What: labOp{kind: kindGet}}
	}
	return lab.Call{Inputs: inputs, Do: func(answers []any) error {
		values, found := make([]byte, len(keys)*l.c.cfg.ValueSize), make([]bool, len(keys))
		var err error
		if len(keys) == 1 {
			found[0], err = l.c.Get(l.pack(keys), values)
		} else {
			err = l.c.GetBatch(l.pack(keys), values, found)
		}
		for i := range keys {
			value := values[i*l.c.cfg.ValueSize:][:l.c.cfg.ValueSize]
			answer, bad := foundIn(value, found[i])
			if bad != nil {
				return bad
			}
			if found[i] || err == nil {
				answers[i] = answer
			}
		}
		return err
	}}
}

// foundIn is the number of the put that a value comes from.
func foundIn(value []byte, found bool) (labFound, error) {
	if !found {
		return 0, nil
	}
	number, err := gather(value)
	return labFound(number), err
}

func (l *labCache) put(keys []int, ttl time.Duration) lab.Call {
	var inputs []lab.Input
	var values []byte
	for i, key := range keys {
		inputs = append(inputs, lab.Input{Key: key, What: l.write(l.number(i), ttl)})
		values = append(values, spread(l.number(i), l.c.cfg.ValueSize)...)
	}
	return lab.Call{Inputs: inputs, Do: func(answers []any) error {
		results := make([]Result, len(keys))
		var err error
		if len(keys) == 1 {
			results[0], err = l.c.PutTTL(l.pack(keys), values, ttl)
		} else {
			err = l.c.PutBatchTTL(l.pack(keys), values, ttl, results)
		}
		for i, r := range results {
			if r != 0 {
				answers[i] = r
			}
		}
		return err
	}}
}

func (l *labCache) remove(key int) lab.Call {
	inputs := []lab.Input{{Key: key, What: labOp{kind: kindRemove, number: l.number(0)}}}
	return lab.Call{Inputs: inputs, Do: func(answers []any) error {
		deleted, err := l.c.Delete(l.pack([]int{key}))
		if err == nil {
			answers[0] = deleted
		}
		return err
	}}
}

// update is a get and a put.
func (l *labCache) update(key int) lab.Call {
	number := l.number(0)
	inputs := []lab.Input{{Key: key, What: labOp{kind: kindGet}},
		{Key: key, What: l.write(number, 0)}}
	return lab.Call{Inputs: inputs, Do: func(answers []any) error {
		var bad error
		r, err := l.c.Update(l.pack([]int{key}), func(value []byte, found bool) bool {
			answers[0], bad = foundIn(value, found)
			copy(value, spread(number, l.c.cfg.ValueSize))
			return bad == nil
		})
		if r != 0 {
			answers[1] = r
		}
		return errors.Join(bad, err)
	}}
}

// Audit reads every key.
func (l *labCache) Audit() (calls []lab.Call) {
	for key := range l.keys {
		calls = append(calls, l.timed(l.get([]int{key})))
	}
	return calls
}

// Check makes sure that nothing was found that had expired; where no rank has died, that no lock
// is left, and where nothing has gone wrong, that what modes with locks promise beyond the other
// holds.
func (l *labCache) Check(ctx context.Context, history []lab.Operation) error {
	if err := noneExpired(history); err != nil {
		return err
	}
	if len(l.c.job.Failed()) > 0 {
		return nil
	}
	open := slices.ContainsFunc(history, func(o lab.Operation) bool { return o.Answer == nil })
	for rank := range l.c.ranks {
		if err := noLocks(ctx, l.c, rank); err != nil {
			return err
		}
		if l.c.cfg.Mode == Coarse && !open {
			if err := l.c.checkPart(ctx, rank); err != nil {
				return err
			}
		}
	}
	if open {
		return nil
	}
	return nothingLost(l.c.cfg.Mode, history)
}

// noneExpired: no get that began after a pair had expired has found it.
func noneExpired(history []lab.Operation) error {
	puts := map[labFound]lab.Operation{}
	for _, o := range history {
		if op := o.What.(labOp); op.kind == kindPut {
			puts[labFound(op.number)] = o
		}
	}
	for _, get := range history {
		found, _ := get.Answer.(labFound)
		if put, ok := puts[found]; ok && mustExpire(put, get.CallNs) {
			return fmt.Errorf("an expired pair is found:\n%v\n%v", put, get)
		}
	}
	return nil
}

// noLocks makes sure that nobody holds a lock in the memory of a rank.
func noLocks(ctx context.Context, c *Cache, rank int) error {
	w, err := c.newWalker(rank)
	if err != nil {
		return err
	}
	return errors.Join(w.locks(ctx), w.faults.Err(), w.r.Close())
}

// nothingLost: unless something was evicted, a key that was put and not deleted is found until it
// has expired.
func nothingLost(mode Mode, history []lab.Operation) error {
	if slices.ContainsFunc(history, func(o lab.Operation) bool { return o.Answer == Evicted }) {
		return nil
	}
	for _, get := range history {
		if get.Answer != labFound(0) {
			continue
		}
		for _, put := range history {
			if put.Key == get.Key && put.What.(labOp).kind == kindPut &&
				put.ReturnNs < get.CallNs && !mayVanish(mode, put, get, history) {
				return fmt.Errorf("a pair has vanished:\n%v\n%v", put, get)
			}
		}
	}
	return nil
}

// mayVanish reports whether there is a reason for which the pair of a put need not be there
// when get reads it: it, or one that took its place, has expired. In LockFree that are also others
// in the middle of it: writes that may choose the same bucket, and gets of the key, which may give
// the bucket up; and puts of the key that come later, to which the same may happen.
func mayVanish(mode Mode, put, get lab.Operation, history []lab.Operation) bool {
	return slices.ContainsFunc(history, func(o lab.Operation) bool {
		what, same := o.What.(labOp).kind, o.Key == put.Key
		if same && o.ReturnNs >= put.CallNs && mayExpire(o, get.ReturnNs) {
			return true
		}
		if o == put || o.ReturnNs < put.CallNs || o.CallNs > get.ReturnNs {
			return false
		}
		if mode != LockFree || o.CallNs > put.ReturnNs {
			return same && (what == kindRemove || what == kindPut && mode == LockFree)
		}
		return same || what != kindGet
	})
}
