package lab

import (
	"slices"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mutant"
)

// Script is one interleaving, or one small case, that is written down: for what chance hardly
// finds, and for loops over memory, which the simulated engine does not run.
type Script struct {
	Name string
	// Run has an error where an answer is wrong. It may skip the test.
	Run func(t *testing.T) error
	// Mutants are the wrong versions that Run has to notice, each by itself.
	Mutants []*mutant.Mutant
}

// Scripts are those of a package.
type Scripts []Script

// Run runs each script, and once more with each of its mutants, which has to fail.
func (s Scripts) Run(t *testing.T) {
	for _, script := range s {
		t.Run(script.Name, func(t *testing.T) {
			if err := script.Run(t); err != nil {
				t.Fatal(err)
			}
		})
		for _, m := range script.Mutants {
			t.Run(script.Name+"/"+m.String(), func(t *testing.T) {
				if !mutant.Enabled {
					t.Skip("mutants are compiled in by -race and -tags invariants")
				}
				defer m.Switch()()
				if script.Run(t) == nil {
					t.Error("nothing fails")
				}
			})
		}
	}
}

// Others are the mutants of the program that no script has to notice.
func (s Scripts) Others() []*mutant.Mutant {
	return slices.DeleteFunc(mutant.All(), func(m *mutant.Mutant) bool {
		return slices.ContainsFunc(s, func(script Script) bool {
			return slices.Contains(script.Mutants, m)
		})
	})
}
