//go:build !cgo || !lmdb

package cstore

import "errors"

var errNoLMDB = errors.New("this program was built without LMDB: apt-get install liblmdb-dev, " +
	"then build with -tags lmdb")

// LMDB reports that there is none.
func LMDB(string, uint64, bool) (*Store, error) { return nil, errNoLMDB }

// LMDBVersion reports that there is none.
func LMDBVersion() (string, error) { return "", errNoLMDB }
