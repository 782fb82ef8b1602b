//go:build unix && !linux

package memory

func adviseHuge([]byte) {}

// populate does nothing: memory is taken when it is touched.
func populate([]byte) error { return nil }

// CanReserve reports whether there may be more addresses than memory.
func CanReserve() bool { return true }
