package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/farhash/farhash/rma"
)

// flags is a table for the tests: words that are free until a rank claims them.
type flags struct {
	q      rma.Queue
	buf    rma.Buf
	window rma.Window
	kind   flagKind
	rank   uint64
}

// flagKind is how flags work.
type flagKind int

const (
	exact     flagKind = iota
	hasty              // a flag that is read as free is written
	forgetful          // reading a flag frees it
	dirty              // Check finds fault
	failing            // a call fails though nobody was killed
	silent             // a call gives no answer
	unopened           // Open fails
)

const flagKeys = 3

// flagTable gives the number of the rank that has a flag, counted from 1.
func flagTable(kind flagKind) *Table {
	return &Table{Name: "flags", Model: flagModel,
		Open: func(ctx context.Context, job rma.Job, _ *rand.Rand) (Client, error) {
			if kind == unopened {
				return nil, errBroken
			}
			f := &flags{kind: kind, rank: uint64(job.Rank()) + 1}
			var err error
			f.window, err = job.NewWindow(ctx, rma.Spec{Name: "flags", Words: flagKeys})
			if err != nil {
				return nil, err
			}
			if f.q, err = job.NewQueue(1); err != nil {
				return nil, err
			}
			f.buf, err = f.q.Alloc(1)
			return f, err
		}}
}

var errBroken = errors.New("broken on purpose")

// flagModel: a rank that claims a free flag has it, and gets the answer 0.
var flagModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		rank := input.(flagClaim).rank
		if output == nil && state == uint64(0) {
			return true, rank
		}
		if state == uint64(0) {
			return output == uint64(0), rank
		}
		return output == nil || output == state, state
	},
}

type flagClaim struct{ rank uint64 }

func (f *flags) Draw(rng *rand.Rand) Call { return f.call(rng.IntN(flagKeys)) }

func (f *flags) call(key int) Call {
	return Call{Inputs: []Input{{Key: key, What: flagClaim{f.rank}}},
		Do: func(answers []any) error {
			switch {
			case f.kind == failing:
				return errBroken
			case f.kind == silent:
				return nil
			}
			seen, err := f.claim(key)
			if err == nil {
				answers[0] = seen
			}
			return err
		}}
}

func (f *flags) claim(key int) (uint64, error) {
	if f.kind == hasty {
		if _, err := f.await(f.q.Get(f.buf, f.window, 0, key)); err != nil || f.buf[0] != 0 {
			return f.buf[0], err
		}
		f.buf[0] = f.rank
		_, err := f.await(f.q.Put(f.buf, f.window, 0, key))
		return 0, err
	}
	seen, err := f.await(f.q.CompareAndSwap(f.window, 0, key, 0, f.rank))
	if f.kind == forgetful && seen != 0 && err == nil {
		f.buf[0] = 0
		_, err = f.await(f.q.Put(f.buf, f.window, 0, key))
	}
	return seen, err
}

func (f *flags) await(h rma.Handle) (uint64, error) {
	if err := errors.Join(f.q.Submit(), f.q.Wait(context.Background(), h)); err != nil {
		return 0, err
	}
	return f.q.Value(h)
}

func (f *flags) Audit() (calls []Call) {
	for key := range flagKeys {
		calls = append(calls, f.call(key))
	}
	return calls
}

func (f *flags) Check(_ context.Context, history []Operation) error {
	if f.kind == dirty {
		return errBroken
	}
	if len(history) == 0 {
		return errors.New("no history")
	}
	return nil
}

// upTo runs so many schedules.
func upTo(n uint64) func(uint64) bool { return func(i uint64) bool { return i < n } }

func TestGoodTablePasses(t *testing.T) {
	summary, err := flagTable(exact).Try(0, upTo(500))
	if err != nil {
		t.Fatal(err)
	}
	e := summary.Engine
	if summary.Schedules != 500 || summary.Operations < 500*flagKeys || summary.Failed == 0 ||
		summary.Open == 0 || e.Kills == 0 || e.Lost == 0 || e.Held == 0 || e.Stalls == 0 {
		t.Errorf("not everything has happened: %v", summary)
	}
}

// TestBadTablesFail: the lab notices each, and says why.
func TestBadTablesFail(t *testing.T) {
	for kind, says := range map[flagKind]string{
		hasty:     "is not linearizable",
		forgetful: "is not linearizable",
		dirty:     "at the end: broken on purpose",
		failing:   "broken on purpose",
		silent:    "got no answer and no error",
		unopened:  "opening the table: broken on purpose",
	} {
		_, err := flagTable(kind).Try(0, upTo(500))
		var failed *SeedError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), says) {
			t.Errorf("kind %d gives %v, not %q", kind, err, says)
			continue
		}
		_, again := flagTable(kind).Run(failed.Seed, nil)
		if again == nil || again.Error() != err.Error() {
			t.Errorf("seed %d gives %v, then %v", failed.Seed, err, again)
		}
		_, earlier := flagTable(kind).Try(0, upTo(failed.Seed))
		if earlier != nil {
			t.Errorf("seed %d has failed, and so does one before: %v", failed.Seed, earlier)
		}
	}
}

// TestNondeterministicModel: what may forget passes where the model says so, and still
// not when it names a rank that never claimed.
func TestNondeterministicModel(t *testing.T) {
	lossy := porcupine.NondeterministicModel{
		Init: func() []any { return []any{uint64(0)} },
		Step: func(state, input, output any) (next []any) {
			for _, state := range []any{state, uint64(0)} { // it may have been forgotten
				if ok, after := flagModel.Step(state, input, output); ok {
					next = append(next, after)
				}
			}
			return next
		},
	}
	table := flagTable(forgetful)
	table.Model = lossy.ToModel()
	if _, err := table.Try(0, upTo(300)); err != nil {
		t.Error(err)
	}
	table = flagTable(hasty) // the rank that wrote first gets the answer that it has the flag
	table.Model = lossy.ToModel()
	history := []Operation{
		{Input: Input{What: flagClaim{1}}, Answer: uint64(0), CallNs: 1, ReturnNs: 2},
		{Input: Input{What: flagClaim{2}}, Answer: uint64(3), CallNs: 3, ReturnNs: 4},
	}
	r := &run{table: table, history: history}
	if err := r.linearizable(); err == nil || !strings.Contains(err.Error(), "1 to        2") {
		t.Errorf("a claim of nobody: %v", err)
	}
}

// TestSameSeedSameRun: all that a schedule comes to is decided by its seed.
func TestSameSeedSameRun(t *testing.T) {
	different := map[uint64]bool{}
	for seed := range uint64(50) {
		first, err := flagTable(exact).Run(seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		var trace strings.Builder
		second, err := flagTable(exact).Run(seed, &trace)
		if err != nil || first != second {
			t.Fatalf("seed %d: %v, then %v, %v", seed, first, second, err)
		}
		if trace.Len() == 0 {
			t.Fatalf("seed %d leaves no trace", seed)
		}
		different[first.Engine.Trace] = true
	}
	if len(different) != 50 {
		t.Errorf("50 seeds give %d runs", len(different))
	}
}

// TestOpenOperations: what a killed rank was doing may have been done later, or never.
func TestOpenOperations(t *testing.T) {
	open := Operation{Input: Input{What: flagClaim{1}}, CallNs: 10, ReturnNs: Open}
	claim := func(seen uint64, callNs int64) Operation {
		return Operation{Input: Input{What: flagClaim{2}}, Answer: seen, CallNs: callNs,
			ReturnNs: callNs + 1}
	}
	for _, c := range []struct {
		history []Operation
		legal   bool
	}{
		{[]Operation{open, claim(1, 20)}, true},
		{[]Operation{open, claim(0, 20)}, true},
		{[]Operation{open, claim(1, 5)}, false}, // before it was called
		{[]Operation{open, claim(0, 20), claim(2, 30)}, true},
		{[]Operation{open, claim(0, 20), claim(1, 30)}, false},
	} {
		r := &run{table: flagTable(exact), history: c.history}
		if err := r.linearizable(); (err == nil) != c.legal {
			t.Errorf("%s: %v", Print(c.history), err)
		}
	}
}

// TestManyOpenOperations: what many ranks were doing that were killed does not take for ever.
func TestManyOpenOperations(t *testing.T) {
	for _, c := range []struct {
		open int64
		seen uint64
		want porcupine.CheckResult
	}{
		{60, 0, porcupine.Ok},       // nobody was before
		{60, 7, porcupine.Ok},       // one of them
		{60, 99, porcupine.Unknown}, // nobody is that, which all combinations would show
		{openFew + 2, 99, porcupine.Illegal},
	} {
		var history []Operation
		for i := range c.open {
			history = append(history, Operation{Input: Input{What: flagClaim{uint64(i + 1)}},
				CallNs: i, ReturnNs: Open})
		}
		history = append(history, Operation{Input: Input{What: flagClaim{100}}, Answer: c.seen,
			CallNs: 100, ReturnNs: 101})
		limit := decideLimit
		if c.want == porcupine.Unknown {
			limit = time.Second / 10
		}
		if is := decide(flagModel, history, limit); is != c.want {
			t.Errorf("%d open, %d was seen: %v, want %v", c.open, c.seen, is, c.want)
		}
	}
}

func TestPackagePath(t *testing.T) {
	if got := packagePath(); got != "internal/testkit/lab" {
		t.Errorf("the path of this package is %q", got)
	}
	err := fmt.Errorf("around %w", &SeedError{Seed: 7, Err: errBroken})
	for _, part := range []string{"go test",
		"./internal/testkit/lab -run '^TestPackagePath$' -seed 7"} {
		if command := replayCommand(t, err); !strings.Contains(command, part) {
			t.Errorf("%q does not say %q", command, part)
		}
	}
}
