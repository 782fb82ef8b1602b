package kv

import (
	"context"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/rma/local"
)

// kind is what a file holds whose table is a map. Its layout changes with everything that processes
// have to do in the same way: the layout of windows, the hash, the protocol.
var kind = file.Kind{Name: "map", Layout: 3}

// Open opens the map with a name, or makes it if there is none: any number of processes of this
// host share it, come and go, and may be killed ([file] has what that guarantees). A name is a
// path, or without a slash a file in /dev/shm. The configuration comes from the file: what cfg
// gives that is not 0 must be equal to it. [file.Remove] ends the map.
//
// Calls that need all ranks of a job run in one process, while others change the map: Save saves
// what All has, Check reports what several walks find. Close ends the use by this process.
func Open(name string, cfg Config, options ...file.Option) (*Map, error) {
	return file.Open(name, kind, options, func(job rma.Job) (*Map, error) {
		return New(context.Background(), job, cfg)
	})
}

// Local makes a map for this process alone, without a job.
func Local(cfg Config) (*Map, error) { return New(context.Background(), local.Single(), cfg) }

// Remove removes the map with a name, or another table. Processes that have it open keep it.
func Remove(name string) error { return file.Remove(name) }
