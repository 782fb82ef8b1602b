package index

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
)

// labSchedules is how many schedules a test runs.
func labSchedules() int {
	switch {
	case memory.RaceEnabled || testing.Short():
		return 15
	}
	return 45
}

func TestLab(t *testing.T) { labTable.Search(t, labSchedules()) }

// TestLabLive has the tables of the lab on engines whose ranks see all memory, see none of it,
// and send their batches to each other.
func TestLabLive(t *testing.T) {
	shipped := &lab.Table{Name: "index", Model: labModel,
		Open: func(ctx context.Context, job rma.Job, rng *rand.Rand) (lab.Client, error) {
			return openLab(ctx, job, rng, rma.Shipped)
		}}
	replay.Seeds(t, uint64(labSchedules()/3), func(t *testing.T, seed uint64) {
		ranks := 1 + int(seed%3)
		must(t, labTable.Live(engines[0], ranks, 5, seed),
			labTable.Live(engines[1], ranks, 5, seed),
			shipped.Live(carriers[seed%2], ranks, 5, seed))
	})
}

func TestSoak(t *testing.T) { lab.Soak(t, labTable) }
