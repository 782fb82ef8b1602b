//go:build !cgo || !sharedhashfile

package cstore

import "errors"

var errNoSharedHashFile = errors.New("this program was built without SharedHashFile: clone " +
	"github.com/simonhf/sharedhashfile, make libshf.a of src/shf.c and src/murmurhash3.c, then " +
	"build with -tags sharedhashfile, its folders in CGO_CFLAGS (-I) and CGO_LDFLAGS (-L)")

// SharedHashFile reports that there is none.
func SharedHashFile(string) (*Store, error) { return nil, errNoSharedHashFile }

// SharedHashFileVersion reports that there is none.
func SharedHashFileVersion() (string, error) { return "", errNoSharedHashFile }
