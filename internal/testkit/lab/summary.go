package lab

import (
	"fmt"

	"github.com/farhash/farhash/rma/sim"
)

// Summary is what schedules came to.
type Summary struct {
	Schedules  uint64
	Unopened   uint64 // ranks that did not come to open the table because of a fault
	Calls      uint64
	Failed     uint64     // calls that failed because of a fault
	Operations uint64     // of the histories
	Open       uint64     // of them without an answer
	Undecided  uint64     // histories of a key that took too long to check
	Engine     sim.Report // what the engine did and suffered
}

// Add adds other schedules.
func (s *Summary) Add(o Summary) {
	s.Schedules += o.Schedules
	s.Unopened += o.Unopened
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.Operations += o.Operations
	s.Open += o.Open
	s.Undecided += o.Undecided
	s.Engine.Add(o.Engine)
}

// String is a few lines.
func (s Summary) String() string {
	e := s.Engine
	return fmt.Sprintf("%d schedules, %d calls, %d operations checked; %d kills, %d calls failed, "+
		"%d operations open, %d histories undecided, %d ranks kept from opening the table\n"+
		"engine: %d operations torn, %d stalls, "+
		"%d messages held, %d lost; %d events in %d ns",
		s.Schedules, s.Calls, s.Operations, e.Kills, s.Failed, s.Open, s.Undecided,
		s.Unopened,
		e.Torn, e.Stalls, e.Held, e.Lost, e.Events, e.TimeNs)
}
