package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// A doctor that a signal ends leaves no memory behind.
func TestInterruptDoctor(t *testing.T) {
	c := try.New(t, "doctor")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	window := fmt.Sprintf("/dev/shm/farhash.*.doctor-%d.*.w0", pid)
	for { // it is there for a moment only
		if made, _ := filepath.Glob(window); len(made) > 0 {
			try.Send(t, pid, syscall.SIGTERM)
			c.Finish()
			if c.Code() != cli.ExitTerminate {
				t.Errorf("exit code %d: %s", c.Code(), &c.Errors)
			}
			break
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(line) == 0 { // it has ended
			c.Finish()
			t.Skip("the window was closed before it was seen")
		}
	}
	if left, _ := filepath.Glob(window); len(left) > 0 {
		t.Errorf("%q are left", left)
		_ = os.Remove(left[0])
	}
}
