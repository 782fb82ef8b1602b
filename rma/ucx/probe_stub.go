//go:build !ucx || !cgo

package ucx

import (
	"context"

	"github.com/farhash/farhash/rma"
)

// LookAround says how to build the engine.
func LookAround() (Look, error) { return Look{}, errNotBuilt }

// Loopback says how to build the engine.
func Loopback(context.Context, string, func(job rma.Job) error) error { return errNotBuilt }
