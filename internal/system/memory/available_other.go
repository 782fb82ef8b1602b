//go:build !linux && !darwin

package memory

import "errors"

// Now is not known here.
func Now() (Available, error) {
	return Available{}, errors.New("memory: this system does not say how much is available")
}
