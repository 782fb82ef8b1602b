package invariant

import (
	"fmt"
	"testing"
)

func TestCheck(t *testing.T) {
	broken := func(ok bool) (message any) {
		defer func() { message = recover() }()
		Check(ok, "%d and %s", 1, "two")
		return nil
	}
	if message := broken(true); message != nil {
		t.Errorf("what holds panics with %v", message)
	}
	want := "<nil>"
	if Enabled {
		want = "invariant broken: 1 and two"
	}
	if message := fmt.Sprint(broken(false)); message != want {
		t.Errorf("what is broken panics with %q, want %q", message, want)
	}
}
