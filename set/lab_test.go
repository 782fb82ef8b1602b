package set

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
)

func TestLabWords(t *testing.T) { searchLab(t, labWordTable) }

func TestLabElements(t *testing.T) {
	otherCompared.Claim(t)
	slotComesBack.Claim(t)
	searchLab(t, labElementTable)
}

func TestLabStrings(t *testing.T) {
	otherCompared.Claim(t)
	stringComesBack.Claim(t)
	searchLab(t, labStringTable)
}

// Sets answer as if they were one table, while they move to larger ones and ranks die.
func TestLabGrowing(t *testing.T) {
	for _, table := range []*lab.Table{labGrowingWords, labGrowingElements,
		labGrowingStrings} {
		before := labGrown.Load()
		table.Search(t, lab.Schedules(100))
		if lab.ReplaySeed() == 0 && labGrown.Load() == before {
			t.Errorf("%s: none has grown", table.Name)
		}
	}
}

// searchLab runs schedules of a table, which reach its rare branches.
func searchLab(t *testing.T, table *lab.Table) {
	for _, m := range []*mark.Mark{probeLoses, chunkInPieces, unneededChunk, noFreeBucket} {
		m.Claim(t)
	}
	before := labDuplicates.Load()
	table.Search(t, lab.Schedules(100))
	if lab.ReplaySeed() == 0 && labDuplicates.Load() == before {
		t.Error("no batch has inserted something and found it")
	}
}

func TestSoak(t *testing.T) {
	lab.Soak(t, labWordTable, labElementTable, labStringTable, labGrowingWords, labGrowingElements,
		labGrowingStrings)
}
