package md

import (
	"context"
	"os/exec"
	"testing"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"

	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/redis"
)

// A server does what the cache does, with values of each length, and finds every key that was
// written.
func TestRedis(t *testing.T) {
	if _, err := exec.LookPath(redis.Program); err != nil {
		t.Skip(err)
	}
	flags := pflag.NewFlagSet("cache", pflag.ContinueOnError)
	r := newCacheRunner(flags)
	if err := flags.Parse([]string{"--redis", redis.Own, "--value-bytes", "8,65536", "--batch",
		"1,16", "--mode", "lock-free", "--keys", "zipf", "--buckets", "256", "--key-space", "100",
		"--ops", "40"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	var all []record.Record
	err := local.Run(2, func(job rma.Job) error {
		return r.Round(context.Background(), job, 0, func(r record.Record) {
			if job.Rank() == 0 {
				all = append(all, r)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := 2 * 2 * 2 * 3; len(all) != n { // lengths, batches, stores, workloads
		t.Fatalf("%d cases were measured, not %d", len(all), n)
	}
	for i, r := range all {
		if i/3%2 == 1 != (r.Keys[0].Value == aServer) {
			t.Errorf("case %d is not the one that it should be: %v", i, r)
		}
		if r.Keys[2].Value == string(reads) && valueOf(t, r, "hits-%") != 100 {
			t.Errorf("keys that were written are not found: %v", r)
		}
	}
}
