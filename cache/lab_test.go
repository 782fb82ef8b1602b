package cache

import (
	"testing"

	"github.com/farhash/farhash/internal/memory"
	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/ship"
)

// labTables has a table for each mode.
var labTables = func() (tables []*lab.Table) {
	for _, mode := range modes {
		tables = append(tables, labTable(mode, ship.Auto))
	}
	return tables
}()

// labSchedules is how many schedules of each mode a test runs.
func labSchedules() int {
	switch {
	case memory.RaceEnabled || testing.Short():
		return 200
	case mark.InPlace: // make test-lab
		return 3000
	}
	return 500
}

// TestLab: no schedule hangs, and every history fits a lossy table.
func TestLab(t *testing.T) {
	marks := [][]*mark.Mark{
		LockFree: {torn, tornAgain, markTooLate, copied, lateWrite},
		Fine: {lateWrite, lateTaken, readerBack, lockBroken, expelled, takenAway, lockInDoubt,
			lockRepaired},
		Coarse: {lateWrite, readerBack, lockBroken, expelled, takenAway, lockInDoubt, lockRepaired},
	}
	for mode, table := range labTables {
		t.Run(table.Name, func(t *testing.T) {
			for _, m := range append(marks[mode], getExpired, putExpired) {
				m.Claim(t)
			}
			table.Search(t, labSchedules())
		})
	}
}

func TestSoak(t *testing.T) { lab.Soak(t, labTables...) }
