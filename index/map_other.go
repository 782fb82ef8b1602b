//go:build !unix

package index

import (
	"errors"
	"os"
)

func mapFile(*os.File, int64) ([]byte, error) {
	return nil, errors.New("this system has no way to map files")
}

func unmapFile([]byte) error { return nil }
