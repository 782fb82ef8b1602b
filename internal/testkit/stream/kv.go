package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
)

// mapTable is a map, which loses nothing.
type mapTable struct {
	items
	m        *kv.Map
	key      int // bytes
	value    int
	known    map[uint64]*known     // of this rank's own items
	versions map[uint64]kv.Version // of those whose value is known
	sums     map[uint64]*bounds    // of counters, which items have beside their values
}

// bounds are what a counter is at least and at most. It only grows.
type bounds struct{ least, most int64 }

// mapOf opens a map, one that moves or one that stays.
func (o opener) mapOf(moves bool) (table, error) {
	t := &mapTable{items: o.items, key: 24, value: 40, known: map[uint64]*known{},
		versions: map[uint64]kv.Version{}, sums: map[uint64]*bounds{}}
	ranks := uint64(o.job.Size())
	cfg := kv.Config{Slots: ranks << 10, Bytes: ranks << 19}
	if moves {
		t.key, t.value = 8, 8
		cfg.Copies, cfg.Slots, cfg.MaxSlots = true, 16*ranks, ranks<<10
	}
	cfg.MaxKey, cfg.MaxValue = t.key, t.value
	var err error
	if t.m, err = kv.New(o.ctx, o.job, cfg); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *mapTable) step(n int) error {
	drawn, calls, numbers := t.draw(n), make([]kv.Call, n), make([]uint64, n)
	for i, item := range drawn {
		c := &calls[i]
		c.Key, c.Kind = keyOf(item, t.key), kv.Kind(t.rng.IntN(6))
		switch c.Kind {
		case kv.Get, kv.Delete:
		case kv.Add:
			c.Key, c.Delta = t.counterOf(item), 1+t.rng.Int64N(1000)
		default:
			numbers[i] = t.next()
			c.Value = valueOf(item, numbers[i], t.value)
		}
		if v, known := t.versions[item]; c.Kind == kv.CompareAndPut && known {
			c.Version = v
		}
	}
	err := t.m.Batch(calls)
	for i, item := range drawn {
		var wrong error
		if c := &calls[i]; c.Kind == kv.Add {
			wrong = t.judgeSum(item, c, err)
		} else {
			wrong = t.judge(item, c, numbers[i], err)
		}
		if wrong != nil {
			return wrong
		}
	}
	return err
}

// counterOf is the key of the counter of an item, which is the key of no item.
func (t *mapTable) counterOf(item uint64) []byte { return valueOf(item, 1, t.key) }

// judgeSum compares the answer to an Add with what is known, and learns from it.
func (t *mapTable) judgeSum(item uint64, c *kv.Call, batch error) error {
	b := t.sums[item]
	if b == nil {
		b = &bounds{}
		if isShared(item) { // to which the other ranks add as well
			b.most = math.MaxInt64 / 2
		}
		t.sums[item] = b
	}
	var gone *rma.RankError
	var full *kv.FullError
	switch {
	case errors.As(c.Err, &full):
	case c.Err != nil && !errors.As(c.Err, &gone):
		return c.Err
	case c.Err != nil || batch != nil && !c.Done: // done or not
		b.most += c.Delta
	case !c.Done || c.Sum < b.least+c.Delta || c.Sum > b.most+c.Delta:
		return fmt.Errorf("%d is added to the counter of item %d: done %v, sum %d; known %+v",
			c.Delta, item, c.Done, c.Sum, *b)
	default:
		b.least = c.Sum
		if !isShared(item) {
			b.most = c.Sum
		}
	}
	return nil
}

// judge compares an answer with what is known, and learns from it.
func (t *mapTable) judge(item uint64, c *kv.Call, number uint64, batch error) error {
	if c.Kind == kv.Get && c.Done && c.Err == nil {
		found, err := numberOf(item, c.Value)
		if err != nil {
			return err
		}
		number = found
	}
	if isShared(item) {
		return nil
	}
	v := t.known[item]
	if v == nil {
		v = &known{}
		t.known[item] = v
	}
	var gone *rma.RankError
	var full *kv.FullError
	switch {
	case errors.As(c.Err, &full) && c.Kind != kv.Delete:
		return nil // what a loss has cost is not given back
	case c.Err != nil && !errors.As(c.Err, &gone):
		return c.Err
	case c.Err != nil || batch != nil && !c.Done:
		if c.Kind != kv.Get { // done or not
			v.maybe = append(v.maybe, number)
			delete(t.versions, item)
		}
		return nil
	}
	return t.compare(item, c, number, v)
}

// compare compares an answer without an error.
func (t *mapTable) compare(item uint64, c *kv.Call, number uint64, v *known) error {
	certain, there := len(v.maybe) == 0, v.last != 0
	version, versioned := t.versions[item]
	right := true
	switch c.Kind {
	case kv.Get:
		if !c.Done {
			number = 0
		}
		right = v.may(number)
	case kv.Put:
		right = c.Done
	case kv.Delete:
		right, number = !certain || c.Done == there, 0
	case kv.PutIfAbsent:
		right = !certain || c.Done == !there
	case kv.CompareAndPut: // without a version it expected that the item is not there
		right = !certain || c.Done == (versioned || !there)
	}
	if !right {
		return fmt.Errorf("%v of item %d: done %v, number %d; known %+v, version %d", c.Kind, item,
			c.Done, number, v, version)
	}
	if c.Kind == kv.Delete || c.Done && c.Kind != kv.Get {
		*v = known{last: number}
		t.versions[item] = c.Version
		if c.Kind == kv.Delete {
			delete(t.versions, item)
		}
	}
	return nil
}

func (t *mapTable) check(ctx context.Context) error { return t.m.Check(ctx) }

// finish examines every item of this rank.
func (t *mapTable) finish(context.Context) error {
	for item, v := range t.known {
		value, _, there, err := t.m.Get(keyOf(item, t.key), nil)
		if err != nil {
			return err
		}
		number := uint64(0)
		if there {
			if number, err = numberOf(item, value); err != nil {
				return err
			}
		}
		if !v.may(number) {
			return fmt.Errorf("item %d has number %d; known %+v", item, number, v)
		}
	}
	for item, b := range t.sums {
		value, _, there, err := t.m.Get(t.counterOf(item), nil)
		if err != nil {
			return err
		}
		sum := int64(0)
		if there {
			sum = int64(binary.LittleEndian.Uint64(value))
		}
		if sum < b.least || sum > b.most {
			return fmt.Errorf("the counter of item %d is %d; known %+v", item, sum, *b)
		}
	}
	return nil
}

func (t *mapTable) close() error { return t.m.Close() }
