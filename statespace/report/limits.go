package report

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// Limits are how far a search goes. The zero value has none.
type Limits struct {
	Depth  uint64 // expand no states that are deeper; 0: no limit
	States uint64 // end once so many are found; 0: no limit
}

// Register adds the flags --max-depth and --max-states. states is what they are called.
func (l *Limits) Register(set *pflag.FlagSet, states string) {
	set.Uint64Var(&l.Depth, "max-depth", 0, "expand no "+states+" at a depth above `N`")
	set.Uint64Var(&l.States, "max-states", 0, "end the search once `N` "+states+" are found")
}

// Check refuses limits that are none. levels says whether the search has any.
func (l *Limits) Check(set *pflag.FlagSet, levels bool) error {
	for _, flag := range []struct {
		name  string
		value uint64
	}{{"max-depth", l.Depth}, {"max-states", l.States}} {
		if set.Changed(flag.name) && flag.value == 0 {
			return fmt.Errorf("--%s is at least 1; without it there is no limit", flag.name)
		}
	}
	if l.Depth > 0 && !levels {
		return errors.New("--max-depth needs --order bfs: no other order has levels")
	}
	return nil
}
