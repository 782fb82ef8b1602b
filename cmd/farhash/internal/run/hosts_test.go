package run

import (
	"os"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// What makes no sense for a job of several hosts is refused, with what to do.
func TestRunHostsFlags(t *testing.T) {
	empty := try.File(t, "empty", "")
	for _, c := range []struct{ flags, message string }{
		{"", "either -n or --nproc"},
		{"-n 2 --nnodes 2", "need --rendezvous"},
		{"-n 2 --rendezvous here", "is no HOST:PORT"},
		{"-n 2 --rendezvous h:99999", "the port must be"},
		{"-n 2 --rendezvous h:80 --nnodes 0", "--nnodes must be"},
		{"-n 2 --rendezvous :80", "is no HOST:PORT"},
		{"-n 2 --rendezvous h:80 --nnodes 2 --node-rank 2 --token-file x", "not 2 of 2"},
		{"-n 2 --rendezvous h:80 --nnodes 2", "head -c 24 /dev/urandom"},
	} {
		args := append(append([]string{"run"}, strings.Fields(c.flags)...), "--", "true")
		cmd := try.Run(t, args...)
		if cmd.Code() != cli.ExitUsage || !strings.Contains(cmd.Errors.String(), c.message) {
			t.Errorf("run %s: exit code %d, %s", c.flags, cmd.Code(), &cmd.Errors)
		}
	}
	try.Fails(t, cli.ExitFailure, "has 0 bytes", "run", "-n", "2", "--rendezvous", "h:80",
		"--nnodes",
		"2", "--token-file", empty, "--", "true")
}

// The ranks of a host learn of the others.
func TestRunHosts(t *testing.T) {
	c := try.Run(t, "run", "--rendezvous", "192.0.2.1:29500", "--nnodes", "3", "--node-rank", "1",
		"--nproc", "2", "--token-file", os.Args[0]+".none", "--", "true")
	if c.Code() != cli.ExitFailure || !strings.Contains(c.Errors.String(), "no such file") {
		t.Errorf("a token file that is not there: exit code %d, %s", c.Code(), &c.Errors)
	}
	file := try.File(t, "token", "open sesame\n")
	c = try.Run(t, "run", "--rendezvous", "192.0.2.1:29500", "--nnodes", "3", "--node-rank", "1",
		"--nproc", "2", "--token-file", file, "--", "sh", "-c", "echo $FARHASH_RANK of "+
			"$FARHASH_SIZE, $FARHASH_LOCAL_SIZE here, $FARHASH_RENDEZVOUS $FARHASH_TOKEN "+
			"$FARHASH_ENGINE")
	for _, rank := range []string{"2", "3"} {
		want := rank + " of 6, 2 here, 192.0.2.1:29500 open sesame ucx\n"
		if c.Code() != 0 || !strings.Contains(c.Out.String(), want) {
			t.Errorf("exit code %d, no %q in %q: %s", c.Code(), want, &c.Out, &c.Errors)
		}
	}
}

// A token file that others may read is no reason not to start, but a warning.
func TestRunWarnsOfToken(t *testing.T) {
	file := try.File(t, "token", "open sesame\n")
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		c := try.Run(t, "run", "--rendezvous", "192.0.2.1:29500", "--nnodes", "2", "--nproc", "1",
			"--token-file", file, "--", "true")
		if text := c.Errors.String(); c.Code() != 0 ||
			strings.Contains(text, "warning: others may use") != warned {
			t.Errorf("mode %o: exit code %d, %q", mode, c.Code(), text)
		}
	}
}
