package md

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
)

// simulated runs the experiment with flags.
func simulated(t *testing.T, args ...string) []record.Record {
	t.Helper()
	return recordsOf(t, Simulate(), args...)
}

// recordsOf runs an experiment with flags on one rank.
func recordsOf(t *testing.T, e *experiment.Experiment, args ...string) (all []record.Record) {
	t.Helper()
	flags := pflag.NewFlagSet(e.Name, pflag.ContinueOnError)
	r := e.New(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	err := local.Run(1, func(job rma.Job) error {
		return r.Round(context.Background(), job, 0, func(r record.Record) { all = append(all, r) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// small is a cluster whose library takes 30 us for a message and 40 more for an answer: all other
// times are short.
var small = []string{"--hosts", "2", "--procs", "8", "--buckets", "301", "--key-space", "50",
	"--send-ns", "30000", "--answer-ns", "40000", "--us", "10000", "--waiting-us", "20000"}

// rates are millions of operations a second of the last seed, by mode and workload.
func rates(t *testing.T, all []record.Record) map[[2]string]float64 {
	t.Helper()
	is := map[[2]string]float64{}
	for _, r := range all {
		if r.Values[0].Unit == "Mop/s" {
			is[[2]string{r.Keys[0].Value, r.Keys[2].Value}] = r.Values[0].Value
		}
	}
	return is
}

// TestSimulate: the same flags give the same figures, and other seeds others. If no rank waits for
// another, a protocol takes the time of its messages: of a get and a put, and of its locks. The
// coarse lock is released without waiting for the answer.
func TestSimulate(t *testing.T) {
	args := []string{"--hosts", "1", "--procs", "1", "--buckets", "10001", "--keys", "uniform",
		"--send-ns", "30000", "--answer-ns", "40000", "--us", "40000", "--seeds", "2"}
	first, again := simulated(t, args...), simulated(t, args...)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("the same flags give\n%v\n%v", first, again)
	}
	if a, b := first[0].Values, first[1].Values; reflect.DeepEqual(a, b) {
		t.Errorf("two seeds have %v", a)
	}
	for at, us := range map[[2]string]float64{
		{"md-lock-free", "write"}: 70 + 30, {"md-lock-free", "read"}: 70,
		{"lock-free", "write"}: 70 + 30, {"lock-free", "read"}: 70,
		{"md-fine", "write"}: 3*70 + 30, {"md-fine", "read"}: 3 * 70,
		{"md-coarse", "write"}: 2*70 + 30 + 30, {"md-coarse", "read"}: 2*70 + 30,
	} {
		want := 1 / us
		if got := rates(t, first)[at]; got < .85*want || got > 1.15*want {
			t.Errorf("%v: %v and not about %v million operations a second", at, got, want)
		}
	}
}

// TestSimulatedLocks: ranks that write few keys wait for each other with locks and not without, and
// readers do not wait for readers.
func TestSimulatedLocks(t *testing.T) {
	is := rates(t, simulated(t, append(small, "--keys", "zipf", "--seeds", "1")...))
	for _, mode := range []string{"md-fine", "md-coarse"} {
		if w := is[[2]string{mode, "write"}]; w > is[[2]string{"md-lock-free", "write"}]/4 {
			t.Errorf("%s: %v million writes a second", mode, w)
		}
		if r := is[[2]string{mode, "read"}]; r < is[[2]string{"md-lock-free", "read"}]/4 {
			t.Errorf("%s: %v million reads a second", mode, r)
		}
	}
}

// TestSimulatedMismatches: a put is torn only if it takes time.
func TestSimulatedMismatches(t *testing.T) {
	args := append(slices.Clone(small), "--keys", "zipf", "--mode", "md-lock-free,lock-free",
		"--us", "40000", "--workload", "mixed", "--seeds", "1", "--tear-ns")
	for _, tearNs := range []string{"0", "50000"} {
		for _, r := range simulated(t, append(args, tearNs)...) {
			if r.Values[0].Unit == "Mop/s" {
				continue
			}
			if n := valueOf(t, r, "mismatches"); n > 0 != (tearNs != "0") {
				t.Errorf("%v mismatches with --tear-ns %s: %v", n, tearNs, r)
			}
			low, high := valueOf(t, r, "low-%"), valueOf(t, r, "high-%")
			rate := 100 * valueOf(t, r, "failed") / valueOf(t, r, "operations")
			if rate < low || rate >= high {
				t.Errorf("a rate of %v %% is not in %v to %v: %v", rate, low, high, r)
			}
		}
	}
}

// TestPoissonInterval compares with a table of exact intervals.
func TestPoissonInterval(t *testing.T) {
	for n, want := range map[uint64][2]float64{0: {0, 3.689}, 1: {.0253, 5.572}, 7: {2.814, 14.423},
		64: {49.288, 81.727}} {
		low, high := poissonInterval(n)
		if math.Abs(low-want[0]) > .001 || math.Abs(high-want[1]) > .001 {
			t.Errorf("%d: %v to %v, and not %v", n, low, high, want)
		}
	}
}

func valueOf(t *testing.T, r record.Record, unit string) float64 {
	t.Helper()
	for _, v := range r.Values {
		if v.Unit == unit {
			return v.Value
		}
	}
	t.Fatalf("no %s in %v", unit, r)
	return 0
}
