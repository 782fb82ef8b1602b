package main

import (
	"errors"
	"fmt"

	"github.com/farhash/farhash/internal/itf"
	"github.com/farhash/farhash/statespace/petri"
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
	var all []itf.Trace
	for i := range traces {
		all = append(all, traces[i].itf(net))
	}
	if err := itf.Write(f.itf, all...); err != nil {
		return fmt.Errorf("--itf: %w", err)
	}
	return nil
}

// itf is a trace in the Informal Trace Format: the variables are places, the values tokens.
func (t *netTrace) itf(net *petri.Net) itf.Trace {
	of := itf.Trace{Source: net.Name, Property: t.Property, Loop: -1, About: t.called(
		"a shortest firing sequence") + " to " + t.goal}
	for i := range net.Places {
		of.Vars = append(of.Vars, net.Places[i].ID)
	}
	state := func(action string, marking []int64) itf.State {
		s := itf.State{Action: action}
		for _, n := range marking {
			s.Values = append(s.Values, itf.Int(n))
		}
		return s
	}
	of.States = func(yield func(itf.State) bool) {
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
