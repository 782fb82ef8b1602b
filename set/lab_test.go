package set

import (
	"testing"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
)

// labSchedules is how many schedules of a table a test runs.
func labSchedules() int {
	switch {
	case memory.RaceEnabled || testing.Short():
		return 100
	case mark.Enabled: // make test-lab
		return 3000
	}
	return 500
}

func TestLabWords(t *testing.T) {
	for _, m := range []*mark.Mark{lostToEqual, lostToOther, chunkWraps, chunkSplits, unneededChunk,
		noFreeBucket, duplicateInBatch} {
		m.Claim(t)
	}
	labWordTable.Search(t, labSchedules())
}

func TestLabElements(t *testing.T) {
	for _, m := range []*mark.Mark{lostToEqual, lostToOther, chunkWraps, chunkSplits, unneededChunk,
		noFreeBucket, duplicateInBatch, fingerprintCollision, slotReused} {
		m.Claim(t)
	}
	labElementTable.Search(t, labSchedules())
}

func TestSoak(t *testing.T) { lab.Soak(t, labWordTable, labElementTable) }

// TestLabCatchesMutants: each wrong version of the protocol that no script notices fails a
// schedule.
func TestLabCatchesMutants(t *testing.T) {
	lab.Catch(t, scripts.Others(), 5000, labWordTable, labElementTable)
}
