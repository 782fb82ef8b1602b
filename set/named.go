package set

import (
	"context"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/file"
	"github.com/farhash/farhash/rma/local"
)

// layout is the layout of files. It changes with everything that processes have to do in the same
// way: the layout of windows, the hashes, the protocol.
const layout = 3

// Open opens the set of words with a name, or makes it if there is none: any number of processes of
// this host share it, come and go, and may be killed ([file] has what that guarantees). A name is a
// path, or without a slash a file in /dev/shm. The configuration comes from the file: what cfg
// gives that is not 0 must be equal to it. [file.Remove] ends the set.
//
// The file takes no more than Config.MaxBytes and a few pages, with all tables that the set has
// had, and what processes hold to insert into.
//
// Calls that need all ranks of a job run in one process, while others insert: Save saves what All
// has, Check reports what several walks find. There is no Collect. Stats.Inserted is of all
// processes. Memory of a table that has moved is not given back. Close ends this process's use.
func Open(name string, cfg Config, options ...file.Option) (*Set, error) {
	kind := file.Kind{Name: "set", Layout: layout}
	return file.Open(name, kind, options, func(job rma.Job) (*Set, error) {
		return New(context.Background(), job, cfg)
	})
}

// OpenBytes is [Open] for a set of byte strings.
func OpenBytes(name string, cfg BytesConfig, options ...file.Option) (*Bytes, error) {
	kind := file.Kind{Name: "set of bytes", Layout: layout}
	return file.Open(name, kind, options, func(job rma.Job) (*Bytes, error) {
		return NewBytes(context.Background(), job, cfg)
	})
}

// Local makes a set of words for this process alone, without a job.
func Local(cfg Config) (*Set, error) { return New(context.Background(), local.Single(), cfg) }

// LocalBytes is [Local] for a set of byte strings.
func LocalBytes(cfg BytesConfig) (*Bytes, error) {
	return NewBytes(context.Background(), local.Single(), cfg)
}

// Remove removes the set with a name, or another table. Processes that have it open keep it.
func Remove(name string) error { return file.Remove(name) }
