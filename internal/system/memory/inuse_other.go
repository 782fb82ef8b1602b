//go:build !linux

package memory

import "errors"

// HugeBytes is not known here.
func HugeBytes([]uint64) (uint64, error) {
	return 0, errors.New("memory: this system does not say which pages are huge")
}
