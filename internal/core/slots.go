package core

import (
	"context"

	"github.com/farhash/farhash/rma"
)

// Machines are step machines on one queue, each of which runs one operation at a time.
type Machines interface {
	// Start prepares a machine for operation i of the batch.
	Start(machine, i int) rma.Op
	// Finish takes the answer of operation i from its machine, which has ended.
	Finish(machine, i int)
}

// Exclusive is what Machines have whose operations may disturb each other.
type Exclusive interface {
	Machines
	// Turn gives a hash of what operation i needs for itself. Operations with the same hash are
	// run one after the other. ok is false if it needs nothing for itself.
	Turn(i int) (hash uint64, ok bool)
}

// Slots drives the operations of one batch at a time through step machines. A session of a table
// has one, beside its queue and its machines. It is not safe for concurrent use.
type Slots struct {
	running []int // by machine: its operation, -1 for none; all -1 between batches
	turns   turns
}

// NewSlots is for so many machines.
func NewSlots(machines int) Slots {
	running := make([]int, machines)
	for machine := range running {
		running[machine] = -1
	}
	return Slots{running: running, turns: newTurns(machines)}
}

// Running is the operation of a machine that has not been finished, -1 for none. After an error of
// Drive it tells which operations were in flight, or had ended unfinished.
func (s *Slots) Running(machine int) int { return s.running[machine] }

// Drive runs the operations at, or 0 to n-1 if at is nil, with up to depth of them in flight
// on q. It ends with the first error that a machine returns; the queue must be closed then.
func (s *Slots) Drive(ctx context.Context, q rma.Queue, n int, at []int, depth int,
	m Machines) error {
	if at != nil {
		n = len(at)
	}
	if depth = min(max(n, 1), depth, len(s.running)); n == 0 {
		return nil
	}
	if n == 1 {
		return s.one(ctx, q, at, m)
	}
	exclusive, _ := m.(Exclusive)
	if depth == 1 {
		exclusive = nil // one after the other as it is
	}
	issued := 0
	return rma.RunAll(ctx, q, depth, func(machine int) rma.Op {
		i := -1
		if done := s.running[machine]; done >= 0 {
			m.Finish(machine, done)
			if exclusive != nil {
				i = s.turns.next(machine)
			}
		}
		for i < 0 && issued < n {
			if i = issued; at != nil {
				i = at[issued]
			}
			issued++
			if exclusive != nil {
				if hash, ok := exclusive.Turn(i); ok && !s.turns.take(machine, i, hash) {
					i = -1
				}
			}
		}
		if s.running[machine] = i; i < 0 {
			return nil
		}
		return m.Start(machine, i)
	})
}

// one is Drive for a single operation.
func (s *Slots) one(ctx context.Context, q rma.Queue, at []int, m Machines) error {
	i := 0
	if at != nil {
		i = at[0]
	}
	s.running[0] = i
	if err := rma.Run(ctx, q, m.Start(0, i)); err != nil {
		return err
	}
	if err := q.Submit(); err != nil { // requests that nobody waits for
		return err
	}
	s.running[0] = -1
	m.Finish(0, i)
	return nil
}
