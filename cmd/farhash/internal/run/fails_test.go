package run

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

func TestRunFails(t *testing.T) {
	try.Launched(t, "1") // skips on other systems
	try.Fails(t, 127, "no-such-program not found in PATH", "run", "-n", "2", "--",
		"no-such-program")
	try.Fails(t, 126, "is a directory", "run", "-n", "2", "--", t.TempDir())
	try.Fails(t, 2, "either -n or --nproc", "run", "--", "true")
	try.Fails(t, 2, "either -n or --nproc", "run", "-n", "2", "--nproc", "3", "--", "true")
	try.Fails(t, 2, "-n must be 1 to 4096, not 0", "run", "-n", "0", "--", "true")
	try.Fails(t, 2, "-n must be 1 to 4096, not 5000", "run", "-n", "5000", "--", "true")
	try.Fails(t, 2, "PROGRAM is missing", "run", "-n", "2")
	try.Fails(t, 2, "--timeout must be positive", "run", "-n", "2", "--timeout", "0s", "--", "true")
	try.Fails(t, 2, "--grace must not be negative", "run", "-n", "2", "--grace", "-1s", "--",
		"true")
}

// A grace of nothing is none, and not the default: the other rank is stopped at once.
func TestRunWithoutGrace(t *testing.T) {
	try.Launched(t, "1") // skips on other systems
	c := try.Run(t, "run", "-n", "2", "--grace", "0s", "--", "sh", "-c",
		"[ $FARHASH_RANK = 1 ] && exit 4; sleep 60")
	if code := c.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
	if !strings.Contains(c.Errors.String(), "stopping the other ranks in 0s") {
		t.Errorf("stderr: %s", &c.Errors)
	}
}
