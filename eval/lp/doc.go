package lp

import "github.com/farhash/farhash/eval/internal/experiment"

// Experiments are those of this package.
func Experiments() (all []*experiment.Experiment) {
	for _, t := range trials() {
		all = append(all, t.experiment())
	}
	return append(all, figure13(), cost(), indexExperiment())
}
