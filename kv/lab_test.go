package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// labInput is a call on a key. Values are numbers, each put once; 0 is a key that is not there.
// What is added is drawn from so many numbers that no sum comes twice.
type labInput struct {
	kind          Kind
	value, expect uint64
}

func (i labInput) String() string {
	return fmt.Sprintf("%v(%d if %d)", i.kind, i.value, i.expect)
}

// labLong is the bit of values of more bytes than a counter.
const labLong = 1 << 63

// labAnswer is the answer of a call: whether it was done, and the value that a Get found, or the
// sum of an Add.
type labAnswer struct {
	done, full, refused bool
	value               uint64
}

// labModel is a key.
var labModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		is, in := state.(uint64), input.(labInput)
		got, known := output.(labAnswer)
		if got.full {
			return true, is
		}
		done, next := is != 0, is
		switch in.kind {
		case Get:
			return !known || got.done == done && got.value == is, is
		case Put:
			done, next = true, in.value
		case Delete:
			next = 0
		case PutIfAbsent:
			if done = is == 0; done {
				next = in.value
			}
		case CompareAndPut:
			if done = is == in.expect; done {
				next = in.value
			}
		case Add:
			if is&labLong != 0 {
				return !known || got.refused, is
			}
			next = is + in.value
			return !known || got.done && got.value == next, next
		}
		return !known || got.done == done, next
	},
}

// labMap is what a rank does with a map.
type labMap struct {
	m    *Map
	keys int
	puts uint64
	// moveEvery is how many calls it is until this rank has the table move; 0: never.
	moveEvery int
	last      map[int]labKnown // what this rank knows last of a key
}

type labKnown struct {
	value   uint64
	version Version
}

// drawLab draws a map that moves only where it is full.
func drawLab(rng *rand.Rand) (cfg Config, keys int) {
	items := uint64(3 + rng.IntN(10)) // few, so that they are used again
	cfg = Config{Slots: uint64(8 + 8*rng.IntN(2)), Bytes: items * 64, MaxKey: 8,
		MaxValue: 16, Copies: rng.IntN(2) == 0, Chunk: 1 + rng.IntN(6), Depth: 1 + rng.IntN(6)}
	return cfg, 1 + rng.IntN(6)
}

func openLab(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
	cfg, keys := drawLab(rng)
	return newLab(ctx, job, cfg, keys, 0)
}

// drawMoving draws a map that moves often, mostly for no reason.
func drawMoving(rng *rand.Rand) (cfg Config, keys, moveEvery int) {
	cfg = Config{Slots: 8, MaxSlots: 8 << rng.IntN(3), Bytes: 40 * 64,
		MaxKey: 8, MaxValue: 16, Copies: rng.IntN(2) == 0, Chunk: 1 + rng.IntN(6),
		Depth: 1 + rng.IntN(6)}
	return cfg, 1 + rng.IntN(40), 1 + rng.IntN(8)
}

func openMoving(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
	cfg, keys, moveEvery := drawMoving(rng)
	return newLab(ctx, job, cfg, keys, moveEvery)
}

// drawSleeping draws a map of few keys that moves again and again.
func drawSleeping(rng *rand.Rand) (cfg Config, keys, moveEvery int) {
	cfg = Config{Slots: 8, MaxSlots: 8, Bytes: 40 * 64, MaxKey: 8, MaxValue: 16,
		Copies: rng.IntN(4) == 0, Chunk: 1 + rng.IntN(6), Depth: 1 + rng.IntN(3)}
	return cfg, 1 + rng.IntN(4), 1 + rng.IntN(2)
}

func openSleeping(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
	cfg, keys, moveEvery := drawSleeping(rng)
	return newLab(ctx, job, cfg, keys, moveEvery)
}

// openGradual opens a map that grows while it is filled, a little at each call. It has more slots
// than there are keys.
func openGradual(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
	cfg := Config{Slots: 64, MaxSlots: 128 << rng.IntN(2), Bytes: 100 * 64, MaxKey: 8, MaxValue: 16,
		Copies: rng.IntN(2) == 0, Chunk: 1 + rng.IntN(2), Depth: 1 + rng.IntN(6)}
	c, err := newLab(ctx, job, cfg, 10+rng.IntN(50), 5+rng.IntN(20))
	if err == nil {
		c.(*labMap).m.gradualSlots = 0
	}
	return c, err
}

func newLab(ctx context.Context, job rma.Job, cfg Config, keys, moveEvery int) (lab.Client, error) {
	m, err := New(ctx, job, forRanks(cfg, job.Size()))
	if err != nil {
		return nil, err
	}
	return &labMap{m: m, keys: keys, moveEvery: moveEvery, last: map[int]labKnown{}}, nil
}

// Draw chooses a call of one or a few operations.
func (l *labMap) Draw(rng *rand.Rand) lab.Call {
	n := 1
	if rng.IntN(2) == 0 {
		n += rng.IntN(4)
	}
	inputs := make([]lab.Input, n)
	for i := range inputs {
		key := rng.IntN(l.keys)
		in := labInput{kind: Kind(rng.IntN(int(kinds)))}
		if in.kind.puts() {
			l.puts++
			in.value = l.puts<<8 | uint64(l.m.job.Rank()+1) | rng.Uint64N(2)*labLong
		}
		switch in.kind {
		case CompareAndPut:
			in.expect = l.last[key].value
		case Add:
			in.value = rng.Uint64N(1 << 50)
		}
		inputs[i] = lab.Input{Key: key, What: in}
	}
	call := l.call(inputs)
	if l.moveEvery == 0 || rng.IntN(l.moveEvery) > 0 {
		return call
	}
	do, parts := call.Do, rng.IntN(5)
	call.Do = func(answers []any) error {
		err := do(answers)
		switch {
		case err != nil:
		case parts < 4:
			err = moveTable(l.m, parts)
		default:
			_, err = l.m.swept(context.Background())
		}
		return err
	}
	return call
}

func (l *labMap) call(inputs []lab.Input) lab.Call {
	return lab.Call{Inputs: inputs, Do: func(answers []any) error {
		calls := make([]Call, len(inputs))
		for i, input := range inputs {
			in := input.What.(labInput)
			key := binary.LittleEndian.AppendUint64(nil, uint64(input.Key))
			calls[i] = Call{Kind: in.kind, Key: key}
			if in.kind.givesValue() {
				calls[i].Value = binary.LittleEndian.AppendUint64(nil, in.value)
				calls[i].Value = append(calls[i].Value, make([]byte, in.value/labLong)...)
			}
			switch in.kind {
			case CompareAndPut:
				calls[i].Version = l.last[input.Key].version
			case Add:
				calls[i].Delta = int64(in.value)
			}
		}
		_ = l.m.Batch(calls)
		var errs error
		for i := range calls {
			var full *FullError
			var wrong *CounterError
			switch err := calls[i].Err; {
			case errors.As(err, &full):
				answers[i] = labAnswer{full: true}
			case errors.As(err, &wrong):
				answers[i] = labAnswer{refused: true}
			case err != nil:
				errs = err
			default:
				answers[i] = l.answer(inputs[i], &calls[i])
			}
		}
		return errs
	}}
}

// answer is the answer of a call. It records what that says of the key.
func (l *labMap) answer(input lab.Input, c *Call) labAnswer {
	in, a := input.What.(labInput), labAnswer{done: c.Done}
	switch {
	case in.kind == Get && c.Done:
		a.value = binary.LittleEndian.Uint64(c.Value)
		l.last[input.Key] = labKnown{a.value, c.Version}
	case in.kind == Add && c.Done:
		a.value = uint64(c.Sum)
		l.last[input.Key] = labKnown{a.value, c.Version}
	case in.kind.puts() && c.Done:
		l.last[input.Key] = labKnown{in.value, c.Version}
	case in.kind <= Delete:
		l.last[input.Key] = labKnown{}
	}
	return a
}

// Audit gets every key.
func (l *labMap) Audit() (calls []lab.Call) {
	for key := range l.keys {
		calls = append(calls, l.call([]lab.Input{{Key: key, What: labInput{kind: Get}}}))
	}
	return calls
}

// Check walks the map.
func (l *labMap) Check(ctx context.Context, _ []lab.Operation) error { return l.m.Check(ctx) }

var (
	labTable    = &lab.Table{Name: "map", Model: labModel, Open: openLab}
	labMovesAll = &lab.Table{Name: "map that moves", Model: labModel, Open: openMoving}
	labSleeps   = &lab.Table{Name: "map that moves while ranks sleep", Model: labModel,
		Open: openSleeping, SleepNs: 3_000_000}
	labGradual = &lab.Table{Name: "map that moves a little at each call", Model: labModel,
		Open: openGradual}
)

func TestLab(t *testing.T) {
	for _, m := range []*mark.Mark{recycled, lostSwap, staleCopy, collected, otherItem} {
		m.Claim(t)
	}
	labTable.Search(t, lab.Schedules(300))
}

// TestLabMoving: the table moves while ranks read, write and die.
func TestLabMoving(t *testing.T) {
	for _, m := range []*mark.Mark{followedMove, foundFrozen, copiedTwice} {
		m.Claim(t)
	}
	labMovesAll.Search(t, lab.Schedules(300))
}

// TestLabSleeping: ranks stop for so long that the table moves several times meanwhile.
func TestLabSleeping(t *testing.T) {
	lateHold.Claim(t)
	labSleeps.Search(t, lab.Schedules(300))
}

// TestLabGradual: new keys come into a table while slots still move there.
func TestLabGradual(t *testing.T) {
	putsEarly.Claim(t)
	labGradual.Search(t, lab.Schedules(300))
}

func TestSoak(t *testing.T) { lab.Soak(t, labTable, labMovesAll, labSleeps, labGradual) }
