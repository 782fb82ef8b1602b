package set

import (
	"flag"
	"os"
	"testing"

	"github.com/farhash/farhash/internal/testkit/mark"
	"github.com/farhash/farhash/internal/testkit/replay"
)

// beforeTests ends the program where it is no test but a rank of one.
var beforeTests = func() {}

func TestMain(m *testing.M) {
	beforeTests()
	if slow || !replay.Nightly() {
		_ = flag.Set("rapid.checks", "30") // unless the command line says otherwise
	}
	os.Exit(mark.Main(m, "set: ", os.Stderr))
}
