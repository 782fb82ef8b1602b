package direct

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"syscall"
	"testing"
)

// Units are taken once each; in a range, units that are taken already are left out.
func TestUnitsAreTakenOnce(t *testing.T) {
	const size = 10*UnitBytes + 100
	var taken []string
	u := NewUnits("test", size, func(begin, end int) error {
		taken = append(taken, fmt.Sprintf("%d+%d", begin/UnitBytes, end-begin))
		return nil
	})
	whole := func(unit int) string { return fmt.Sprintf("%d+%d", unit, UnitBytes) }
	for _, c := range []struct {
		begin, end int
		want       []string
	}{
		{5 * UnitBytes, 5*UnitBytes + 8, []string{whole(5)}},
		{5*UnitBytes + 16, 6 * UnitBytes, nil},
		{5*UnitBytes - 8, 6*UnitBytes + 8, []string{whole(4), whole(6)}},
		{10*UnitBytes + 8, size, []string{"10+100"}},
		{0, 2 * UnitBytes, []string{whole(0), whole(1)}},
		{0, size, []string{whole(2), whole(3), whole(7), whole(8), whole(9)}},
		{0, size, nil},
	} {
		taken = nil
		if err := u.Commit(c.begin, c.end); err != nil || !slices.Equal(taken, c.want) {
			t.Errorf("[%d, %d): took %v, %v; want %v", c.begin, c.end, taken, err, c.want)
		}
	}
}

// A unit that could not be taken is tried again by the next call, and those before it are not.
func TestUnitsAfterAnError(t *testing.T) {
	full, tried := true, 0
	u := NewUnits("test", 4*UnitBytes, func(begin, _ int) error {
		tried++
		if full && begin == 2*UnitBytes {
			return syscall.ENOSPC
		}
		return nil
	})
	if err := u.Commit(0, 4*UnitBytes); !errors.Is(err, syscall.ENOSPC) || tried != 3 {
		t.Errorf("%v after %d units, want ENOSPC after 3", err, tried)
	}
	full, tried = false, 0
	if err := u.Commit(0, 4*UnitBytes); err != nil || tried != 2 {
		t.Errorf("%v after %d units, want nil after 2", err, tried)
	}
}

// Memory is asked for before it is taken.
func TestUnitsBeyondMemory(t *testing.T) {
	if math.MaxInt < 1<<50 {
		t.Skip("no such table has addresses on this machine")
	}
	size := 1 << (50 % bits.UintSize)
	u := NewUnits("a table", size/UnitBytes*UnitBytes, func(int, int) error {
		t.Fatal("took memory that is not there")
		return nil
	})
	if err := u.Commit(0, size); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("%v, want ENOMEM", err)
	}
}
