package replay

import "os"

// nightlyVariable is set by make nightly. It does not begin with FARHASH_, as tests keep such
// variables from their ranks.
const nightlyVariable = "TESTS_NIGHTLY"

// Nightly reports whether tests may take long, as in make nightly.
func Nightly() bool { return os.Getenv(nightlyVariable) != "" }

// Often is how many cases a test tries: usual, or nightly in make nightly.
func Often(usual, nightly int) int {
	if Nightly() {
		return nightly
	}
	return usual
}
