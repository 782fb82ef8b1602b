package cache

import (
	"testing"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/rma"
)

// labTables has a table for each mode.
var labTables = func() (tables []*lab.Table) {
	for _, mode := range modes {
		tables = append(tables, labTable(mode, rma.Auto))
	}
	return tables
}()

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
			table.Search(t, lab.Schedules(200))
		})
	}
}

func TestSoak(t *testing.T) { lab.Soak(t, labTables...) }
