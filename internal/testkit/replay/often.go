package replay

import (
	"os"
	"testing"
)

// nightlyVariable is set by make nightly. It does not begin with FARHASH_, as tests keep such
// variables from their ranks.
const nightlyVariable = "TESTS_NIGHTLY"

// Nightly reports whether tests may take long, as in make nightly.
func Nightly() bool { return os.Getenv(nightlyVariable) != "" }

// Often is how many cases a test tries: usual, or nightly in make nightly. With -short, as under
// the race detector, it is a quarter of usual.
func Often(usual, nightly int) int {
	switch {
	case Nightly():
		return nightly
	case testing.Short():
		return (usual + 3) / 4
	}
	return usual
}
