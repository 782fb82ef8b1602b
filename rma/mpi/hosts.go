//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma/internal/neighbours"
)

// protocolVersion changes with what ranks do together in this package.
const protocolVersion = 2

// shareHosts finds out which ranks share memory with this one, and has them share it. Either all
// ranks of the job succeed or none does. Collective.
func (j *member) shareHosts(ctx context.Context, cfg Config, name string) error {
	near, err := neighbours.Find(ctx, j, j.rank, neighbours.Self{Engine: "mpi",
		Version: protocolVersion, Hidden: cfg.Hidden, Host: name})
	if err != nil {
		return err
	}
	j.near = near
	ranks := max(here(), len(near.Ranks))
	j.owner.Share = (ranks-1)/runtime.NumCPU() + 1
	C.fh_crowd(C.int(ranks), C.int(runtime.NumCPU()))
	if cfg.Hidden || runtime.GOOS != "linux" {
		return nil
	}
	err = near.Share(ctx, cfg.Timeout)
	if err := j.agree(ctx, "sharing memory within hosts", err); err != nil {
		_ = near.Close()
		return err
	}
	return nil
}

// here is how many ranks this host has at least: those that the launcher has started, which may be
// more than the job's.
func here() int {
	m, _, _ := launch.Detect()
	return max(1, m.LocalSize)
}

// onProcessors says how ranks share processors, for a message after a limit in time.
func onProcessors() string {
	if here() <= runtime.NumCPU() {
		return ""
	}
	return fmt.Sprintf(": %d ranks share the %d processors of this host", here(), runtime.NumCPU())
}

// onOneHost is a job whose ranks all share memory: MPI starts and ends it, and the
// windows come from rma/shm.
type onOneHost struct {
	neighbours.OneHostJob
	mpi *member
}

// Close leaves the job.
func (o *onOneHost) Close() error {
	err := o.Job.Close()
	if err2 := o.mpi.Close(); err == nil {
		err = err2
	}
	return err
}

// Abandon leaves a job that has failed.
func (o *onOneHost) Abandon() error {
	_ = o.Job.Close()
	return o.mpi.Abandon()
}
