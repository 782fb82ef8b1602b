//go:build !linux

package shm

import (
	"context"
	"errors"

	"github.com/farhash/farhash/rma"
)

// Join needs Linux.
func Join(_ context.Context, cfg Config) (rma.Job, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return nil, errors.New("rma/shm: ranks in several processes need Linux; " +
		"on this system use ranks within one process (rma/local, or -n on the command line)")
}

// RemoveJob has nothing to remove here.
func RemoveJob(_, _ string) error { return nil }
