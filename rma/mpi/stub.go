//go:build !mpi || !cgo

package mpi

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// Built reports whether this program contains the engine.
const Built = false

var errNotBuilt = errors.New("rma/mpi: this program was built without MPI; build it with " +
	"CGO_ENABLED=1 go build -tags 'mpi openmpi' (or 'mpi mpich') ./cmd/farhash, which needs " +
	"a C compiler, pkg-config and libopenmpi-dev (or libmpich-dev)")

// Join says how to build the engine.
func Join(context.Context, Config) (rma.Job, error) { return nil, errNotBuilt }

// JoinComm says how to build the engine.
func JoinComm(context.Context, int32, Config) (rma.Job, error) { return nil, errNotBuilt }

// Start says how to build the engine.
func Start(context.Context, Config) (stop func() error, err error) { return nil, errNotBuilt }

// SinglesOf knows no window.
func SinglesOf(rma.Window) (s Singles, ok bool) { return s, false }

// Alone finds nothing wrong.
func Alone(ranks int) error { return nil }

// Library is the version of the MPI library, "" without one.
func Library() string { return "" }

// Exclusive calls fn: there is nobody to exclude.
func Exclusive(fn func()) { fn() }
