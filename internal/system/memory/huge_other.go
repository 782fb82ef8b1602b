//go:build unix && !linux

package memory

import "errors"

func adviseHuge([]byte) {}

// populate does nothing: memory is taken when it is touched.
func populate([]byte) error { return nil }

// mincore is not known here.
func mincore(mem, pages []byte) error { return errors.ErrUnsupported }

// CanReserve reports whether there may be more addresses than memory.
func CanReserve() bool { return true }
