package lab

import (
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"
)

// Engine runs ranks for tests that are to hold on any engine.
type Engine struct {
	Name string
	// Run calls fn by every rank, and returns when all have come back.
	Run func(ranks int, fn func(job rma.Job) error) error
}

// Engines are ranks with direct access to all memory, ranks without, and a simulated cluster
// with torn gets and messages that overtake each other, in this order.
func Engines() []Engine {
	return []Engine{
		{"direct", local.Run},
		{"hidden", func(ranks int, fn func(job rma.Job) error) error {
			return local.RunWith(local.Options{Hidden: true}, ranks, fn)
		}},
		{"sim", func(ranks int, fn func(job rma.Job) error) error {
			opts := sim.Random(ranks, uint64(ranks))
			opts.TearNs, opts.JitterNs = 2000, 3000
			_, err := sim.Run(opts, fn)
			return err
		}},
	}
}

// Carriers are engines that ship requests: ranks of two hosts, with direct access to the memory of
// their own host, and ranks without direct access.
func Carriers() []Engine {
	carrier := func(opts local.Options) func(int, func(rma.Job) error) error {
		opts.Carries = true
		return func(ranks int, fn func(job rma.Job) error) error {
			return local.RunWith(opts, ranks, fn)
		}
	}
	return []Engine{
		{"two hosts", carrier(local.Options{Hosts: 2})},
		{"carriers", carrier(local.Options{Hidden: true})},
	}
}
