package core

import (
	"errors"
	"fmt"
	"testing"
)

// A check beside others reports what every check finds, wherever it is among what is not.
func TestCheckBeside(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		n := 0
		err := CheckBeside(func() error {
			f, other := Faults{Table: "test"}, Faults{Table: "test"}
			for range 20 {
				n++
				f.Add("half done: %d", n)
			}
			if damaged {
				other.Add("broken")
			}
			return errors.Join(f.Err(), other.Err())
		})
		if damaged != (err != nil) || damaged && err.Error() != "test: broken" {
			t.Errorf("damaged %v: %v", damaged, err)
		}
	}
	calls := 0
	gone := errors.New("gone")
	err := CheckBeside(func() error {
		calls++
		return fmt.Errorf("reading: %w", gone)
	})
	if !errors.Is(err, gone) || calls != 1 {
		t.Errorf("another error: %v, %d calls", err, calls)
	}
}
