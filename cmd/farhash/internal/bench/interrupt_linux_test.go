package bench

import (
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// A bench that a signal ends marks what it prints as incomplete, in every form.
func TestInterruptBench(t *testing.T) {
	for form, mark := range map[string]string{"": "\nINCOMPLETE: interrupted\n",
		"--benchfmt": "\nincomplete: interrupted\n",
		"--json":     `"complete":false,"reason":"interrupted"}`} {
		args := []string{"bench", "--size", "1MiB", "--ops", "200", "--runs", "1000"}
		if form != "" {
			args = append(args, form)
		}
		c := try.StartUntil(t, "kv, get", args...)
		try.Send(t, c.Process.Pid, syscall.SIGINT)
		if c.Finish(); c.Code() != cli.ExitInterrupt || !strings.Contains(c.Out.String(), mark) {
			t.Errorf("%q: exit code %d, no %q in\n%s%s", args, c.Code(), mark, &c.Out,
				&c.Errors)
		}
	}
}
