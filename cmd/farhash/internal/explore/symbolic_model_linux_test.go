package explore

import (
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
)

// TestSymbolicModelInterrupted: Ctrl-C ends it, and says so.
func TestSymbolicModelInterrupted(t *testing.T) {
	c := startSearch(t, "symbolic", doubled(t, 60), "--mem", "1GiB", "--strategy", "loops")
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	if text := c.Out.String(); c.Code() != cli.ExitInterrupt ||
		!strings.Contains(text, "INCOMPLETE: interrupted\n") {
		t.Errorf("exit code %d, %s", c.Code(), text)
	}
}
