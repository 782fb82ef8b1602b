//go:build !linux

package doctor

import "errors"

func room(string) (sizeBytes, freeBytes uint64, err error) {
	return 0, 0, errors.ErrUnsupported
}
