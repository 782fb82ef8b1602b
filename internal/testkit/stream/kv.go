package stream

import (
	"context"
	"errors"
	"fmt"

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
}

// mapOf opens a map, one that moves or one that stays.
func (o opener) mapOf(moves bool) (table, error) {
	t := &mapTable{items: o.items, key: 24, value: 40, known: map[uint64]*known{},
		versions: map[uint64]kv.Version{}}
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
		c.Key, c.Kind = keyOf(item, t.key), kv.Kind(t.rng.IntN(5))
		if c.Kind != kv.Get && c.Kind != kv.Delete {
			numbers[i] = t.next()
			c.Value = valueOf(item, numbers[i], t.value)
		}
		if v, known := t.versions[item]; c.Kind == kv.CompareAndPut && known {
			c.Version = v
		}
	}
	err := t.m.Batch(calls)
	for i, item := range drawn {
		if wrong := t.judge(item, &calls[i], numbers[i], err); wrong != nil {
			return wrong
		}
	}
	return err
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
	return nil
}

func (t *mapTable) close() error { return t.m.Close() }
