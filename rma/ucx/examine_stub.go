//go:build !ucx || !cgo

package ucx

import (
	"context"

	"github.com/farhash/farhash/rma"
)

// Examine says how to build the engine.
func Examine() (Survey, error) { return Survey{}, errNotBuilt }

// Loopback says how to build the engine.
func Loopback(context.Context, string, func(job rma.Job) error) error { return errNotBuilt }
