package mutant

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farhash/farhash/internal/invariant"
)

// Enabled reports whether there are mutants in this build.
const Enabled = invariant.Enabled

// Mutant is a wrong version of some lines.
type Mutant struct {
	name string
	on   atomic.Bool
}

// all are the mutants of the program, in the order in which they were made.
var all struct {
	sync.Mutex
	mutants []*Mutant
}

// New makes a mutant that is off. The name begins with the package and says what is
// wrong: "set: a search ends where the table does".
func New(name string) *Mutant {
	m := &Mutant{name: name}
	all.Lock()
	defer all.Unlock()
	all.mutants = append(all.mutants, m)
	return m
}

// All are the mutants of the program.
func All() []*Mutant {
	all.Lock()
	defer all.Unlock()
	return slices.Clone(all.mutants)
}

// String is the name of the mutant.
func (m *Mutant) String() string { return m.name }

// On reports whether the wrong version is to run.
func (m *Mutant) On() bool { return Enabled && m.on.Load() }

// Switch turns the mutant on, in builds that have it. The function that it returns
// turns it off.
func (m *Mutant) Switch() (off func()) {
	m.on.Store(true)
	return func() { m.on.Store(false) }
}
