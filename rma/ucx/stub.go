//go:build !ucx || !cgo

package ucx

import (
	"context"
	"errors"

	"github.com/farhash/farhash/internal/ucxdevices"
	"github.com/farhash/farhash/rma"
)

// Built reports whether this program contains the engine.
const Built = false

var errNotBuilt = errors.New("rma/ucx: this program was built without UCX; build it with " +
	"CGO_ENABLED=1 go build -tags ucx ./cmd/farhash, which needs a C compiler, pkg-config and " +
	"libucx-dev")

// Join says how to build the engine.
func Join(context.Context, Config) (rma.Job, error) { return nil, errNotBuilt }

// Library is the version of UCX, "" without it.
func Library() string { return "" }

// Examine says how to build the engine.
func Examine() (ucxdevices.Survey, error) { return ucxdevices.Survey{}, errNotBuilt }

// Loopback says how to build the engine.
func Loopback(context.Context, string, func(job rma.Job) error) error { return errNotBuilt }
