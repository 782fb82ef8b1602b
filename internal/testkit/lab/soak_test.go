package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
)

// A soak that is interrupted ends and says how far it has come.
func TestSoakIsInterrupted(t *testing.T) {
	good := flagTable(exact)
	open := good.Open
	var once sync.Once
	good.Open = func(ctx context.Context, job rma.Job, rng *rand.Rand) (Client, error) {
		once.Do(func() {
			self, err := os.FindProcess(os.Getpid())
			if err = errors.Join(err, self.Signal(os.Interrupt)); err != nil {
				t.Error(err)
			}
		})
		return open(ctx, job, rng)
	}
	var out strings.Builder
	if err := soak(&out, time.Hour, []*Table{good}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"after ", "flags: ", " schedules, ", " kills, "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in the report %q", part, out.String())
		}
	}
}

// A soak ends with the first schedule that fails, and still reports.
func TestSoakFails(t *testing.T) {
	var out strings.Builder
	err := soak(&out, time.Hour, []*Table{flagTable(exact), flagTable(hasty)})
	var failed *SeedError
	if !errors.As(err, &failed) {
		t.Fatalf("a bad table gives %v", err)
	}
	if _, again := flagTable(hasty).Run(failed.Seed, nil); again == nil {
		t.Errorf("seed %d of the soak passes", failed.Seed)
	}
	if !strings.Contains(out.String(), "2000 schedules, ") {
		t.Errorf("no schedules of the good table in the report %q", out.String())
	}
}
