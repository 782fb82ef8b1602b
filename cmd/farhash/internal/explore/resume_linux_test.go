package explore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/statespace/petri"
)

// A search that is killed with its checkpoint written continues, with another number of
// ranks and as processes, to the figures of an undisturbed one.
func TestResumeAfterKill(t *testing.T) {
	size := 11
	if invariant.Enabled {
		size = 9 // which takes as long
	}
	net, err := petri.Family("philosophers", size)
	if err != nil {
		t.Fatal(err)
	}
	path := try.WriteNet(t, net)
	want := exploreJSON(t, "explore", path, "-n", "2", "--json")
	for _, order := range []string{"bfs", "any"} {
		file := filepath.Join(t.TempDir(), "checkpoint")
		c := try.New(t, "explore", path, "-n", "2", "--order", order,
			"--checkpoint", file, "--every", "20ms")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, file)
		try.Send(t, c.Process.Pid, syscall.SIGKILL)
		c.Finish()
		got := exploreJSON(t, try.Launched(t, "3", "explore", path, "--order", order,
			"--resume", file, "--check", "--json")...)
		for _, key := range []string{"states", "arcs", "deadlocks", "maxTokensPlace",
			"maxTokensMarking", "complete"} {
			if got[key] != want[key] {
				t.Errorf("%s: %s is %v after the kill, %v undisturbed",
					order, key, got[key], want[key])
			}
		}
	}
	file := filepath.Join(t.TempDir(), "it's a checkpoint")
	c := try.New(t, try.Launched(t, "2", "explore", path, "--checkpoint", file, "--every", "20ms",
		"--quiet", "--trace", "deadlock")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, file)
	try.Send(t, c.PIDOf(1), syscall.SIGKILL)
	if c.Finish(); c.Code() != cli.ExitLost {
		t.Errorf("exit code %d: %s", c.Code(), &c.Errors)
	}
	got := exploreJSON(t, append(advice(t, c), "--json")...)
	if got["states"] != want["states"] || got["depth"] != want["depth"] {
		t.Errorf("as advised: %v, undisturbed: %v", got, want)
	}
	try.Fails(t, 1, "no checkpoint", "explore", path, "--resume", path)
	try.Fails(t, 2, "--every must", "explore", path, "--every", "-1s", "--checkpoint", file)
	try.Fails(t, 2, "needs --checkpoint", "explore", path, "--every", "1s")
	try.Fails(t, 1, "--checkpoint", "explore", path, "--checkpoint", "/no/such/folder/file")
}

// advice are the arguments of the command that is printed to continue a search after a loss.
func advice(t *testing.T, c *try.Command) []string {
	t.Helper()
	_, line, found := strings.Cut(c.Errors.String(), "hosts and ranks:\n  ")
	line, _, _ = strings.Cut(line, "\n")
	_, line, _ = strings.Cut(line, " ") // the program
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
	if !found || err != nil {
		t.Fatalf("no advice: %v: %s", err, &c.Errors)
	}
	return strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
}

// awaitFile waits for a file to appear.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for _, err := os.Stat(path); err != nil; _, err = os.Stat(path) {
		time.Sleep(time.Millisecond)
	}
}
