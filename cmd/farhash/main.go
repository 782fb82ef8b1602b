// Command farhash runs and measures the tables of this project: it explores the state spaces of
// Petri nets, benchmarks the tables, starts the ranks of a job, and diagnoses a machine.
package main

//go:generate go test -run TestManualPage -update

import (
	"os"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
)

func main() {
	if err := checkLimits(); err != nil {
		os.Exit(cli.Report(nil, err))
	}
	os.Exit(cli.Run(newRoot()))
}
