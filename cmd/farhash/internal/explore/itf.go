package explore

import (
	"errors"
	"fmt"

	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/report"
)

// checkTraceFile refuses --itf without traces.
func (f *exploreFlags) checkTraceFile() error {
	if f.itf != "" && f.trace == "" {
		return errors.New("--itf writes traces; it needs --trace deadlock or --trace witness")
	}
	return nil
}

// writeTraces writes the files of --itf.
func (f *exploreFlags) writeTraces(net *petri.Net, traces []netTrace) error {
	if f.itf == "" {
		return nil
	}
	var all []report.ITFTrace
	for i := range traces {
		all = append(all, traces[i].itf(net))
	}
	if err := report.WriteITF(f.itf, all...); err != nil {
		return fmt.Errorf("--itf: %w", err)
	}
	return nil
}

// itf is a trace in the Informal Trace Format: the variables are places, the values tokens.
func (t *netTrace) itf(net *petri.Net) report.ITFTrace {
	of := report.ITFTrace{Source: net.Name, Property: t.Property, Loop: -1, About: t.called(
		"a shortest firing sequence") + " to " + t.goal}
	if t.path {
		of.About = t.goal
	}
	if t.Back != nil {
		of.Loop = *t.Back
	}
	for i := range net.Places {
		of.Vars = append(of.Vars, net.Places[i].ID)
	}
	state := func(action string, marking []int64) report.ITFState {
		s := report.ITFState{Action: action}
		for _, n := range marking {
			s.Values = append(s.Values, report.Int(n))
		}
		return s
	}
	of.States = func(yield func(report.ITFState) bool) {
		marking := net.Initial()
		if t.Alone {
			for i := range marking {
				marking[i] = t.End[net.Places[i].ID]
			}
		}
		more := yield(state("", marking))
		for i := 0; more && i < len(t.numbers); i++ {
			net.Transitions[t.numbers[i]].Fire(marking)
			more = yield(state(t.Firings[i], marking))
		}
	}
	if t.Alone {
		of.About = t.goal + ", alone: the way there is not known"
	}
	return of
}
