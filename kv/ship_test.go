package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
)

// TestLabShipped: the histories of ranks whose batches are shipped are linearizable, while the
// table moves as well. The simulation carries no requests, so these are ranks in real time.
func TestLabShipped(t *testing.T) {
	calls := 150
	if memory.RaceEnabled || testing.Short() {
		calls = 50
	}
	still := func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		cfg, keys := drawLab(rng)
		cfg.Access = rma.Shipped
		return newLab(ctx, job, cfg, keys, 0)
	}
	moving := func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
		cfg, keys, moveEvery := drawMoving(rng)
		cfg.Access = rma.Shipped
		return newLab(ctx, job, cfg, keys, moveEvery)
	}
	for _, table := range []*lab.Table{
		{Name: "map", Model: labModel, Open: still},
		{Name: "map that moves", Model: labModel, Open: moving},
	} {
		for _, e := range carriers {
			for seed := range uint64(6) {
				if err := table.Live(e, 3, calls, seed); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// eachCarrier runs fn on ranks whose batches are shipped.
func eachCarrier(t *testing.T, ranks int, cfg Config, fn func(m *Map) error) {
	for _, e := range carriers {
		t.Run(e.Name, func(t *testing.T) {
			if err := withMap(e, ranks, cfg, fn); err != nil {
				t.Error(err)
			}
		})
	}
}

// sized is a string of the given size, or longer if its number needs more.
func sized(prefix string, i, size int) []byte {
	b := fmt.Appendf(nil, "%s%d ", prefix, i)
	return append(b, bytes.Repeat([]byte{byte(i)}, max(0, size-len(b)))...)
}

// TestShippedSizes: keys and values of all sizes arrive as they were put, also those that no
// request and no answer has room for; and the room in answers adapts to the values.
func TestShippedSizes(t *testing.T) {
	cfg := Config{Slots: 1 << 10, Bytes: 1 << 24, MaxKey: MaxSize,
		MaxValue: MaxSize}
	eachCarrier(t, 3, cfg, func(m *Map) error {
		if m.job.Rank() > 0 {
			return m.job.Barrier(context.Background())
		}
		for _, size := range []int{0, 1, 100, 3000, 0, 20_000, MaxSize, 1} {
			if err := putAndGet(m, min(100, 300_000/(size+1)), size); err != nil {
				return fmt.Errorf("values of %d bytes: %w", size, err)
			}
		}
		return m.job.Barrier(context.Background())
	})
}

// putAndGet puts keys with values, and gets them until no call is handed back by its owner. That
// is so as soon as answers have room enough, or where the values are too long for any answer.
func putAndGet(m *Map, n, size int) error {
	calls := make([]Call, n)
	remote := 0
	for i := range calls {
		calls[i] = Call{Kind: Put, Key: sized("key", i, size/2*(i%3)),
			Value: sized("value", i, size)}
		if m.owner(calls[i].Key) == 2 {
			remote++
		}
	}
	if err := m.Batch(calls); err != nil {
		return err
	}
	for round := 0; ; round++ {
		gets := make([]Call, n)
		for i := range gets {
			gets[i] = Call{Kind: Get, Key: calls[i].Key, Value: []byte("before ")}
		}
		before := m.Stats().Kinds[Get].Calls
		if err := m.Batch(gets); err != nil {
			return err
		}
		for i, c := range gets {
			if !c.Done || string(c.Value) != "before "+string(calls[i].Value) ||
				c.Version != calls[i].Version {
				return fmt.Errorf("call %d: %v, version %d and %d, %d bytes", i, c.Done, c.Version,
					calls[i].Version, len(c.Value))
			}
		}
		mine := int(m.Stats().Kinds[Get].Calls - before)
		if remote == 0 || mine <= n-remote || size > 8000 && round > 12 {
			return nil
		}
		if round > 20 {
			return fmt.Errorf("%d of %d keys are in another rank, and still %d calls are made here",
				remote, n, mine)
		}
	}
}

// TestShippedCounts: over all ranks calls are counted that were made, where they were made.
func TestShippedCounts(t *testing.T) {
	const ranks, rounds, n = 4, 8, 40
	cfg := small(false)
	cfg.MaxValue = 8
	eachCarrier(t, ranks, cfg, func(m *Map) error {
		ctx := context.Background()
		for round := range rounds {
			calls := make([]Call, n)
			for i := range calls {
				calls[i] = Call{Kind: Kind(i % int(kinds)), Key: []byte{byte(i * round % 50)}}
				if calls[i].Kind.givesValue() {
					calls[i].Value = numbered(i)
				}
			}
			if err := m.Batch(calls); err != nil {
				return err
			}
		}
		if err := m.job.Barrier(ctx); err != nil {
			return err
		}
		s, sum := m.Stats(), uint64(0)
		if s.Served == 0 || s.Queues.Ships == 0 || s.Access.Access != rma.Shipped {
			return fmt.Errorf("rank %d: %+v", m.job.Rank(), s)
		}
		for _, k := range s.Kinds {
			sum += k.Calls
		}
		sum, err := lab.Sum(ctx, m.job, sum)
		if err == nil && sum != ranks*rounds*n {
			err = fmt.Errorf("%d calls are counted as %d", ranks*rounds*n, sum)
		}
		return errors.Join(err, m.Check(ctx), m.job.Barrier(ctx))
	})
}

// TestShippedFull: where the owner has no item the requesting rank puts into its own, and when
// there is none left either the error is a FullError.
func TestShippedFull(t *testing.T) {
	for _, kind := range []Kind{Put, Add} {
		t.Run(kind.String(), func(t *testing.T) { shippedFull(t, kind) })
	}
}

func shippedFull(t *testing.T, kind Kind) {
	cfg := Config{Slots: 256, Bytes: 20 * 64, MaxKey: 8, MaxValue: 8}
	eachCarrier(t, 2, cfg, func(m *Map) error {
		ctx := context.Background()
		if m.job.Rank() == 1 {
			return m.job.Barrier(ctx)
		}
		calls := make([]Call, 60)
		for i := range calls {
			calls[i] = Call{Kind: kind, Key: []byte{byte(i)}, Value: []byte{1}, Delta: 1}
		}
		err := m.Batch(calls)
		var full *FullError
		if !errors.As(err, &full) || !full.Items {
			return fmt.Errorf("60 puts of 40 items give %w", err)
		}
		put := uint64(0)
		for _, c := range calls {
			if c.Err == nil && c.Done && (kind == Put || c.Sum == 1) {
				put++
			}
		}
		n, err := m.Len(ctx)
		if n != put || put < 30 {
			err = errors.Join(err, fmt.Errorf("%d puts were done, and %d keys are there", put, n))
		}
		return errors.Join(err, m.Check(ctx), m.job.Barrier(ctx))
	})
}

// TestShippedToClosed: calls of a rank that does not answer any more are made one-sided.
func TestShippedToClosed(t *testing.T) {
	eachCarrier(t, 2, small(true), func(m *Map) error {
		ctx := context.Background()
		if m.job.Rank() == 1 {
			return errors.Join(m.batches.Close(), m.job.Barrier(ctx), m.job.Barrier(ctx))
		}
		err := errors.Join(m.job.Barrier(ctx), stream(m, 100))
		if m.Stats().Queues.Ships == 0 {
			err = errors.Join(err, errors.New("nothing was tried"))
		}
		return errors.Join(err, m.job.Barrier(ctx))
	})
}

// TestShippedLost: when a rank is lost, the calls of others are made all the same, and the error
// has the number of the rank.
func TestShippedLost(t *testing.T) {
	const ranks, lost = 3, 2
	ctx := context.Background()
	for _, e := range carriers {
		err := e.Run(ranks, func(job rma.Job) error {
			cut := -1
			cfg := small(false)
			cfg.Access = rma.Shipped
			m, err := New(ctx, lab.Cut(job, &cut), forRanks(cfg, job.Size()))
			if err != nil {
				return err
			}
			if job.Rank() == 0 {
				err = loseRank(m, &cut, lost)
			}
			return errors.Join(err, job.Barrier(ctx))
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

func loseRank(m *Map, cut *int, lost int) error {
	calls := make([]Call, 30)
	for i := range calls {
		calls[i] = Call{Kind: Put, Key: []byte{byte(i)}, Value: []byte{byte(i)}}
	}
	if err := m.Batch(calls); err != nil {
		return err
	}
	*cut = lost
	for i := range calls {
		if i%2 == 0 {
			calls[i].Kind, calls[i].Value = Get, nil
		}
	}
	var gone *rma.RankError
	if err := m.Batch(calls); !errors.As(err, &gone) || gone.Rank != lost {
		return fmt.Errorf("a batch with a lost rank gives %w", err)
	}
	done := 0
	for i, c := range calls {
		switch {
		case m.owner(c.Key) == lost && c.Err == nil:
			return fmt.Errorf("call %d of a key on a lost rank has no error", i)
		case c.Err == nil && (!c.Done || c.Value[0] != byte(i)):
			return fmt.Errorf("call %d: %+v", i, c)
		case c.Err == nil:
			done++
		case !errors.As(c.Err, &gone):
			return fmt.Errorf("call %d: %w", i, c.Err)
		}
	}
	if done == 0 {
		return errors.New("no call was made")
	}
	return nil
}
