package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
)

// swaps is how many compare-and-swaps a rank has made through queues.
func swaps(m *Map) uint64 { return m.Stats().Queues.CompareAndSwaps }

// A rank that has a table move asks the other one to move the slots in its memory.
func TestOwnersMoveTheirSlots(t *testing.T) {
	var all [2]atomic.Uint64 // swaps of each rank
	eachCarrier(t, 2, Config{Slots: 1 << 12, MaxSlots: 1 << 13, Bytes: 1 << 21},
		func(m *Map) error {
			ctx := context.Background()
			var err error
			for i := m.job.Rank(); i < 3000 && err == nil; i += m.job.Size() {
				_, err = m.Put(numbered(i), numbered(i))
			}
			if err = errors.Join(err, m.job.Barrier(ctx)); err != nil {
				return err
			}
			before := swaps(m)
			if m.job.Rank() == 0 {
				err = m.withSession(func(s *session) error {
					now, err := m.state(ctx)
					if err == nil {
						now, err = m.begin(ctx, now, m.latest.Load().shape.size()+1)
					}
					return errors.Join(err, s.finishMove(ctx, now))
				})
			}
			if err = errors.Join(err, m.job.Barrier(ctx)); err != nil {
				return err
			}
			made := swaps(m) - before
			all[m.job.Rank()].Store(made)
			if err = m.job.Barrier(ctx); err != nil {
				return err
			}
			if made == 0 || all[0].Load() > all[1].Load()*3/2 {
				return fmt.Errorf("rank %d has made %d swaps, rank 0 %d, rank 1 %d",
					m.job.Rank(), made, all[0].Load(), all[1].Load())
			}
			return m.CheckAll(ctx)
		})
}

// Batches of any length into a small table have it move, in time: a rank that answers calls
// declines what the table has no room for, and moves no slot of another rank. So few requests are
// needed.
func TestShippedGrowth(t *testing.T) {
	keys := 20_000
	if memory.RaceEnabled {
		keys = 6_000
	}
	for _, batch := range []int{keys, keys / 8} {
		for writers := 1; writers <= 2; writers++ {
			eachCarrier(t, 2, Config{MaxKey: 8, MaxValue: 8}, func(m *Map) error {
				ctx, rank := context.Background(), m.job.Rank()
				calls := make([]Call, batch)
				for at := 0; at < keys && rank < writers; at += batch {
					for i := range calls {
						n := numbered((at+i)*writers + rank)
						calls[i] = Call{Kind: Put, Key: n, Value: n}
					}
					if err := m.Batch(calls); err != nil {
						return err
					}
					for i := range calls {
						if !calls[i].Done {
							return fmt.Errorf("put %d was not made", at+i)
						}
					}
				}
				if err := m.job.Barrier(ctx); err != nil {
					return err
				}
				// A key that moves takes a get of its item, and others of slots.
				gets := m.Stats().Queues.Gets
				if most := uint64(8 * keys * writers); gets > most {
					return fmt.Errorf("rank %d has made %d gets, more than %d", rank, gets, most)
				}
				n, err := m.Len(ctx)
				if n != uint64(keys*writers) {
					err = errors.Join(err, fmt.Errorf("%d keys", n))
				}
				return errors.Join(err, m.job.Barrier(ctx), m.CheckAll(ctx))
			})
		}
	}
}

// Who moves parts of a rank at the same time gets other ones each, and then those that are left.
func TestPartsInTurn(t *testing.T) {
	var p progress
	p.begin(1, 8, 1, 2)
	var got []int
	for range 4 {
		parts, more := p.of(1, 4, 8, 2)
		if got = append(got, parts...); !more {
			t.Errorf("no more parts after %v", got)
		}
	}
	if !slices.Equal(got, []int{4, 5, 6, 7, 4, 5, 6, 7}) {
		t.Errorf("the parts are %v", got)
	}
	for part := 4; part < 7; part++ {
		p.finish(1, part)
	}
	if parts, more := p.of(1, 4, 8, 2); more || !slices.Equal(parts, []int{7}) {
		t.Errorf("at the end the parts are %v, more %v", parts, more)
	}
}

// A rank says that nearly all of its slots are taken, and then, if that changes nothing, makes the
// calls. Who is told has the table move, also before all slots of others are taken.
func TestCrowded(t *testing.T) {
	eachCarrier(t, 2, Config{Slots: 1 << 12, MaxSlots: 1 << 16, MaxKey: 8, MaxValue: 8},
		func(m *Map) error {
			ctx := context.Background()
			if m.job.Rank() > 0 {
				return m.job.Barrier(ctx)
			}
			first, n := m.latest.Load(), 0
			if m.batches.Segments.Of(0) == nil {
				return m.job.Barrier(ctx)
			}
			for ; !m.isCrowded(); n++ { // by calls that have the table move for no other reason
				c := [1]Call{{Kind: Put, Key: numbered(n)}}
				m.makeShipped(c[:])
			}
			calls := []Call{{Kind: Put, Key: numbered(n)}, {Kind: Get, Key: numbered(0)}}
			for round := range maxCrowded + 1 {
				for i := range calls {
					calls[i].Err = nil
				}
				m.makeShipped(calls)
				for i, c := range calls {
					if declined := c.Err == errCrowded; declined != (round < maxCrowded) {
						return fmt.Errorf("round %d, call %d: %w", round, i, c.Err)
					}
				}
			}
			b := batch{m: m, calls: []Call{{Kind: Put, Key: numbered(n + 1)}}}
			err := b.makeRoom([]int{0})
			if now := m.latest.Load(); err != nil || now.gen == first.gen || !b.calls[0].Done {
				err = fmt.Errorf("table %d is followed by %d, error %w", first.gen, now.gen, err)
			}
			return errors.Join(err, m.Check(ctx), m.job.Barrier(ctx))
		})
}

// When a rank finds the table moving it declines what is left of a request, not to search a table
// that is full for each call.
func TestDeclinesWhatFollows(t *testing.T) {
	eachCarrier(t, 2, Config{Slots: 1 << 12, MaxSlots: 1 << 16, MaxKey: 8, MaxValue: 8},
		func(m *Map) error {
			ctx := context.Background()
			if m.job.Rank() > 0 {
				return m.job.Barrier(ctx)
			}
			_, err := m.Put(numbered(0), nil)
			now, stateErr := m.state(ctx)
			if err = errors.Join(err, stateErr); err == nil {
				now, err = m.begin(ctx, now, now.shape().size()+1)
			}
			if err == nil { // one slot that has moved sends new keys to the next table
				err = m.withSession(func(s *session) error {
					_, err := s.moveOwn(now, 99)
					return err
				})
			}
			if err != nil {
				return err
			}
			calls := make([]Call, 3*m.partCalls())
			for i := range calls {
				calls[i] = Call{Kind: Put, Key: numbered(i + 1)}
			}
			last := &calls[len(calls)-1]
			*last = Call{Kind: Get, Key: numbered(0)}
			m.makeShipped(calls)
			if calls[0].Err != errCrowded || last.Err != errCrowded {
				err = fmt.Errorf("the first call has %v, the last one %v", calls[0].Err, last.Err)
			}
			return errors.Join(err, m.Batch(calls), m.Check(ctx), m.job.Barrier(ctx))
		})
}

// A rank whose items are all used, many by removed keys, has the table begin to move, and declines
// the call: the move frees the items of all ranks.
func TestFullToAnswer(t *testing.T) {
	const items = 64
	eachCarrier(t, 2, Config{Slots: 1 << 10, MaxSlots: 1 << 10, Bytes: 2 * items * unitBytes,
		MaxKey: 8, MaxValue: 8}, func(m *Map) error {
		ctx := context.Background()
		if m.job.Rank() > 0 {
			return m.job.Barrier(ctx)
		}
		var err error
		call := [1]Call{}
		for i := 0; i < 8*items && err == nil && call[0].Err == nil; i++ {
			call[0] = Call{Kind: Put, Key: numbered(i)}
			if m.makeShipped(call[:]); call[0].Err == nil {
				_, err = m.Delete(numbered(i))
			}
		}
		now, stateErr := m.state(ctx)
		if err = errors.Join(err, stateErr); call[0].Err != errCrowded || !now.moving() {
			return fmt.Errorf("the call has %v, the table moves %v, error %w", call[0].Err,
				now.moving(), err)
		}
		_, putErr := m.Put(call[0].Key, nil)
		return errors.Join(err, putErr, m.Check(ctx), m.job.Barrier(ctx))
	})
}
