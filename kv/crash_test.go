package kv

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// The test of death at every step: rank 1 makes one call, and dies in each call of the engine
// that it makes for it, in turn. Rank 0 then checks what the keys have.

// crash is a call, what the key had before, and has after it; "" if it is not there.
type crash struct {
	name    string
	was, is string
	act     func(m *Map) error
	// moves says what rank 1 does with the table before it makes the call.
	moves func(m *Map) error
	full  bool // all slots but one are taken by other keys
}

var (
	crashKey   = []byte("key")
	crashLarge = fmt.Sprintf("%0200d", 1)
)

// crashPut puts a value.
func crashPut(value string) func(m *Map) error {
	return func(m *Map) error { _, err := m.Put(crashKey, []byte(value)); return err }
}

// crashFreeze begins to move the table and stops when the key's slot is frozen, and more.
func crashFreeze(at stage) func(m *Map) error {
	return func(m *Map) error { _, _, err := paused(m, crashKey, at); return err }
}

// crashMovePart moves the part that the key's home is in, and leaves the table so.
func crashMovePart(m *Map) error {
	_, _, err := paused(m, crashKey, stageEnd)
	return err
}

func crashDelete(m *Map) error { _, err := m.Delete(crashKey); return err }

// crashSum is a counter.
func crashSum(n int) string { return string(numbered(n)) }

func crashAdd(m *Map) error { _, _, err := m.Add(crashKey, 3); return err }

func crashMove(m *Map) error { return moveTable(m, 0) }

var crashes = []crash{
	{name: "put new", is: "b", act: crashPut("b")},
	{name: "put there", was: "a", is: "b", act: crashPut("b")},
	{name: "put larger", was: "a", is: crashLarge, act: crashPut(crashLarge)},
	{name: "put smaller", was: crashLarge, is: "b", act: crashPut("b")},
	{name: "delete", was: "a", act: crashDelete},
	{name: "delete absent", act: crashDelete},
	{name: "put if absent", is: "b", act: func(m *Map) error {
		_, _, err := m.PutIfAbsent(crashKey, []byte("b"))
		return err
	}},
	{name: "put if absent, there", was: "a", is: "a", act: func(m *Map) error {
		_, _, err := m.PutIfAbsent(crashKey, []byte("b"))
		return err
	}},
	{name: "compare and put", was: "a", is: "b", act: func(m *Map) error {
		_, v, _, err := m.Get(crashKey, nil)
		if err == nil {
			_, _, err = m.CompareAndPut(crashKey, []byte("b"), v)
		}
		return err
	}},
	{name: "add new", is: crashSum(3), act: crashAdd},
	{name: "add", was: crashSum(-7), is: crashSum(-4), act: crashAdd},
	{name: "add, placed", was: crashSum(2), is: crashSum(5), act: crashAdd,
		moves: crashFreeze(stagePlace)},
	{name: "put, which has the table grow", is: "b", act: crashPut("b"), full: true},
	{name: "move", was: "a", is: "a", act: crashMove, full: true},
	{name: "move of a removed key", act: crashMove, moves: func(m *Map) error {
		return errors.Join(crashPut("a")(m), crashDelete(m))
	}},
	{name: "put, frozen", was: "a", is: "b", act: crashPut("b"), moves: crashFreeze(stageChunk)},
	{name: "put, placed", was: "a", is: "b", act: crashPut("b"), moves: crashFreeze(stagePlace)},
	{name: "put, moved", was: "a", is: "b", act: crashPut("b"), moves: crashMovePart},
	{name: "put new, moved", is: "b", act: crashPut("b"), moves: crashMovePart, full: true},
	{name: "delete, placed", was: "a", act: crashDelete, moves: crashFreeze(stagePlace)},
	{name: "delete, moved", was: "a", act: crashDelete, moves: crashMovePart},
	{name: "sweep", was: "a", is: "a", act: func(m *Map) error {
		_, err := m.swept(context.Background())
		return err
	}},
}

// crashRun is one run: what the ranks know of each other.
type crashRun struct {
	*crash
	copies             bool
	began, acked, over bool
	others             int // other keys
}

func TestCrash(t *testing.T) {
	for i := range crashes {
		for _, copies := range []bool{false, true} {
			c := &crashes[i]
			if c.full && copies != (i%2 == 0) { // they take long
				continue
			}
			t.Run(fmt.Sprintf("%s/copies=%v", c.name, copies), func(t *testing.T) {
				if n := c.everywhere(t, copies); n < 5 {
					t.Errorf("rank 1 has died in %d calls of the engine only", n)
				}
			})
		}
	}
}

// everywhere has rank 1 die in every call of the engine that belongs to its call, and returns
// about how many these are. The seed is always the same, and with it all that is before.
func (c *crash) everywhere(t *testing.T, copies bool) (deaths int) {
	begin := uint64(1) // a call of the engine before its call begins
	for step := uint64(1 << 12); step > 0; step /= 2 {
		if r, _ := c.run(t, copies, begin+step); !r.began {
			begin += step
		}
	}
	step := uint64(1)
	if testing.Short() || memory.RaceEnabled {
		step = 5
		if c.full {
			step = 29
		}
	}
	for at := begin; ; at += step {
		r, died := c.run(t, copies, at)
		if !died || t.Failed() {
			return deaths
		}
		if r.began {
			deaths += int(step)
		}
	}
}

// run has rank 1 die in one call of the engine, if it makes so many.
func (c *crash) run(t *testing.T, copies bool, at uint64) (r *crashRun, died bool) {
	r = &crashRun{crash: c, copies: copies}
	report, err := sim.Run(sim.Options{Ranks: 2, Seed: 1, JitterNs: 3000, TearNs: 1000,
		Faults: sim.Faults{MemorySurvives: true, Kills: []sim.Kill{{Rank: 1, AtCall: at}}}},
		func(job rma.Job) error { return r.rank(job.(*sim.Job)) })
	if err != nil {
		t.Errorf("killed in call %d: %v", at, err)
	}
	return r, report.Kills > 0
}

func (r *crashRun) rank(job *sim.Job) error {
	ctx := context.Background()
	cfg := Config{Slots: 8, MaxSlots: 32, Bytes: 1 << 14, MaxKey: 8, MaxValue: 200,
		Copies: r.copies, Chunk: 4, Depth: 2}
	m, err := New(ctx, job, forRanks(cfg, job.Size()))
	if err == nil && job.Rank() == 1 {
		err = r.prepare(m)
	}
	if err == nil {
		err = job.Barrier(ctx)
	}
	var gone *rma.RankError
	switch {
	case errors.As(err, &gone): // rank 1 has died too early
		return nil
	case err != nil:
		return err
	case job.Rank() == 1:
		r.began = true
		err = r.act(m)
		r.acked, r.over = err == nil, true
		return err
	}
	for !r.over && len(job.Failed()) == 0 {
		job.Sleep(10_000)
	}
	if !r.began {
		return nil
	}
	return r.verify(job, m)
}

// prepare puts what is there before.
func (r *crashRun) prepare(m *Map) error {
	r.others = 3
	if r.full {
		r.others = 15
	}
	for i := range r.others {
		if _, err := m.Put([]byte{byte(i)}, []byte{byte(i)}); err != nil {
			return err
		}
	}
	if r.was != "" {
		if _, err := m.Put(crashKey, []byte(r.was)); err != nil {
			return err
		}
	} else if r.full {
		if _, err := m.Put([]byte{byte(r.others)}, []byte{byte(r.others)}); err != nil {
			return err
		}
		r.others++
	}
	if r.moves != nil {
		return r.moves(m)
	}
	return nil
}

// verify makes sure of what rank 1 has left, and that the map can be used.
func (r *crashRun) verify(job *sim.Job, m *Map) error {
	first, err := r.value(m)
	if err != nil {
		return err
	}
	if first != r.is && (first != r.was || r.acked) {
		return fmt.Errorf("the key has %q; it had %q, and %q was put, acknowledged: %v", first,
			r.was, r.is, r.acked)
	}
	job.Sleep(10_000_000) // requests in flight have arrived, perhaps with effect
	last, err := r.value(m)
	if err != nil || last != first && last != r.is {
		return fmt.Errorf("the key has %q, and had %q: %w", last, first, err)
	}
	if err := errors.Join(r.same(m, last), m.Check(context.Background())); err != nil {
		return err
	}
	if err := errors.Join(crashPut("c")(m), r.same(m, "c"), crashDelete(m), r.same(m, ""),
		moveTable(m, 0), r.same(m, "")); err != nil {
		return err
	}
	_, done, err := m.PutIfAbsent(crashKey, []byte("d"))
	if err == nil && !done {
		err = errors.New("a key that is not there is not put")
	}
	return errors.Join(err, r.same(m, "d"), m.Check(context.Background()))
}

// value is what the key has.
func (r *crashRun) value(m *Map) (string, error) {
	value, _, _, err := m.Get(crashKey, nil)
	return string(value), err
}

// same makes sure of the value of the key, and of the others.
func (r *crashRun) same(m *Map, want string) error {
	if got, err := r.value(m); err != nil || got != want {
		return fmt.Errorf("the key has %q, not %q: %w", got, want, err)
	}
	for i := range r.others {
		value, _, ok, err := m.Get([]byte{byte(i)}, nil)
		if err != nil || !ok || value[0] != byte(i) {
			return fmt.Errorf("key %d has %v, there %v: %w", i, value, ok, err)
		}
	}
	return nil
}
