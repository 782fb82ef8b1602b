//go:build !ucx || !cgo

package rawucx

import (
	"errors"
	"time"
)

// Built reports whether this program contains the loop.
const Built = false

var errNotBuilt = errors.New("rawucx: this program was built without UCX")

// Side would be one side's memory.
type Side struct{}

// Open says that there is no UCX.
func Open(int) (*Side, error) { return nil, errNotBuilt }

// Card says that there is no UCX.
func (*Side) Card() ([]byte, error) { return nil, errNotBuilt }

// Connect says that there is no UCX.
func (*Side) Connect([]byte) error { return errNotBuilt }

// Serve says that there is no UCX.
func (*Side) Serve(bool) error { return errNotBuilt }

// Stop does nothing.
func (*Side) Stop() {}

// Gets says that there is no UCX.
func (*Side) Gets(int, int, int, uint64, []int64) (time.Duration, error) { return 0, errNotBuilt }

// Close does nothing.
func (*Side) Close() {}
