package set

import (
	"os"
	"testing"

	"github.com/farhash/farhash/internal/mark"
)

// beforeTests ends the program where it is no test but a rank of one.
var beforeTests = func() {}

func TestMain(m *testing.M) {
	beforeTests()
	os.Exit(mark.Main(m, "set: ", os.Stderr))
}
