package md

import (
	"context"
	"reflect"
	"testing"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
)

// simulated runs the experiment with flags.
func simulated(t *testing.T, args ...string) (all []record.Record) {
	t.Helper()
	e := Simulate()
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

// TestSimulate: the same flags give the same figures; a lock-free put of a new key takes two
// messages after each other and a read one; and a put is torn only where it takes time.
func TestSimulate(t *testing.T) {
	small := []string{"--hosts", "2", "--procs", "8", "--buckets", "256", "--keys", "zipf",
		"--key-space", "50", "--ops", "50", "--mode", "lock-free", "--library-ns", "100000"}
	first, again := simulated(t, small...), simulated(t, small...)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("the same flags give\n%v\n%v", first, again)
	}
	if ratio := valueOf(t, first[1], "Mop/s") / valueOf(t, first[0], "Mop/s"); ratio < 1.9 ||
		ratio > 2.1 {
		t.Errorf("reads are %v times as fast as writes", ratio)
	}
	for _, r := range simulated(t, append(small, "--tear-ns", "0")...) {
		if n := valueOf(t, r, "mismatches"); n != 0 {
			t.Errorf("%v mismatches though nothing is torn: %v", n, r)
		}
	}
	torn := simulated(t, append(small, "--tear-ns", "50000")...)
	if valueOf(t, torn[2], "mismatches") == 0 {
		t.Errorf("no mismatches though puts are torn: %v", torn)
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
