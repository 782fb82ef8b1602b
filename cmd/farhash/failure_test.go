package main

import (
	"os"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/invariant"
)

// An answer that cannot be written is a failure.
func TestOutputFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	defer full.Close()
	for _, args := range [][]string{
		{"explore", try.Net(t, "dekker", 3), "-q"}, {"petri", "dekker", "-n", "3"}, {"doctor"},
		{"--help"}, {"help", "explore"}, {"explore", "--help"}, {"--version"}, {},
		{"completion", "bash"}, {"completion", "zsh"}, {"__complete", "exp"},
		{"doctor", "--json"},
	} {
		c := try.New(t, args...)
		c.Stdout = full
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if c.Finish(); c.Code() != 1 || !strings.Contains(c.Errors.String(), "no space left") {
			t.Errorf("%q: exit code %d, %s", args, c.Code(), &c.Errors)
		}
	}
}

// A message repeats no more than the beginning of what was given.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	path := try.Net(t, "dekker", 2)
	for _, c := range []struct {
		code int
		args []string
		env  string
	}{
		{2, []string{"explore", path, "--order", long}, ""},
		{2, []string{"explore", path, "-n", long}, ""},
		{2, []string{"explore", path, "--" + long}, ""}, {2, []string{long}, ""},
		{2, []string{"petri", long, "-n", "3"}, ""}, {1, []string{"explore", long}, ""},
		{2, []string{"bench", "--ops", long}, ""},
		{2, []string{"run", "-n", "2", "--rendezvous", long, "--", "true"}, ""},
		{1, []string{"explore", path}, "FARHASH_ENGINE=" + long},
		{1, []string{"explore", path}, "FARHASH_TIMEOUT=" + long},
		{1, []string{"explore", path}, "FARHASH_RANK=" + long},
	} {
		cmd := try.New(t, c.args...)
		cmd.Env = append(cmd.Env, c.env)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmd.Finish()
		if text := cmd.Errors.String(); cmd.Code() != c.code || len(text) > 3000 || text == "" {
			t.Errorf("%.60q, %.30q: exit code %d, %d bytes: %.300s", c.args, c.env, cmd.Code(),
				len(text), text)
		}
	}
}

// Limits that are too low are reported in a sentence, if the runtime of Go starts at all: with cgo
// always. Above them commands work.
func TestLowLimits(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector takes more than the limit before the program begins")
	}
	path := try.Net(t, "dekker", 3)
	for limit, message := range map[string]string{"-n 6": "ulimit -n", "-n 7": "ulimit -n",
		"-v 200000": "ulimit -v", "-v 500000": "ulimit -v", "-v 1000000": "ulimit -v",
		"-v 1200000": "ulimit -v", "-v 1300000": "ulimit -v"} {
		if !beforeGo && limit[1] == 'v' && limit != "-v 1000000" {
			continue
		}
		c := try.New(t, "-c", "ulimit "+limit+` && exec "$0" explore `+path+" -n 1 -q",
			os.Args[0])
		c.Path, c.Args[0] = "/bin/sh", "sh"
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		c.Finish()
		text := c.Errors.String()
		if c.Code() != 1 || !strings.Contains(text, message) ||
			strings.Contains(text, "goroutine") {
			t.Errorf("ulimit %s: exit code %d, %.300s", limit, c.Code(), text)
		}
	}
}

func TestHelpAboutNothing(t *testing.T) {
	try.Fails(t, 2, `unknown command "exlpore"`, "help", "exlpore")
}
