package kv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// swaps is how many compare-and-swaps a rank has made through queues.
func swaps(m *Map) uint64 { return m.Stats().Queues.CompareAndSwaps }

// A batch that has a table move asks the other rank to move what is in its memory. Who answers a
// request, or makes a single call, moves all.
func TestOwnersMoveTheirSlots(t *testing.T) {
	var all [2]atomic.Uint64 // swaps of each rank
	for _, oneSided := range []bool{false, true} {
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
						s.oneSided = oneSided
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
				if moved := made > 0; moved != (!oneSided || m.job.Rank() == 0) {
					return fmt.Errorf("rank %d has made %d swaps", m.job.Rank(), made)
				}
				if other := all[1].Load(); !oneSided && all[0].Load() > other*3/2 {
					return fmt.Errorf("rank 0 has made %d swaps, rank 1 %d", all[0].Load(), other)
				}
				return m.CheckAll(ctx)
			})
	}
}
