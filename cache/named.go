package cache

import (
	"context"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/rma/local"
)

// kindOfFile is what a file holds whose table is a cache. Its layout changes with everything that
// processes have to do in the same way: the layout of buckets, the hash, the protocol.
var kindOfFile = file.Kind{Name: "cache", Layout: 1}

// Open opens the cache with a name, or makes it if there is none: any number of processes of this
// host share it, come and go, and may be killed ([file] has what that guarantees). A name is a
// path, or without a slash a file in /dev/shm. The configuration comes from the file: what cfg
// gives that is not 0 must be equal to it. [file.Remove] ends the cache. Its Mode is LockFree.
//
// Calls that need all ranks of a job run in one process, while others work on the cache. Check
// reports what several walks find. Close ends the use by this process.
func Open(name string, cfg Config, options ...file.Option) (*Cache, error) {
	return file.Open(name, kindOfFile, options, func(job rma.Job) (*Cache, error) {
		return New(context.Background(), job, cfg)
	})
}

// Local makes a cache for this process alone, without a job.
func Local(cfg Config) (*Cache, error) { return New(context.Background(), local.Single(), cfg) }

// Remove removes the cache with a name, or another table. Processes that have it open keep it.
func Remove(name string) error { return file.Remove(name) }
