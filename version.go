package farhash

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var version string

// Version is the version of farhash, such as "0.1.0": of the command, of libfarhash and of
// the package for Python as well.
func Version() string { return strings.TrimSpace(version) }
