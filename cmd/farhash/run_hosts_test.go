package main

import (
	"os"
	"strings"
	"testing"
)

// What makes no sense for a job of several hosts is refused, with what to do.
func TestRunHostsFlags(t *testing.T) {
	empty := writeFile(t, "empty", "")
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
		cmd := execute(t, args...)
		if cmd.code() != exitUsage || !strings.Contains(cmd.stderr.String(), c.message) {
			t.Errorf("run %s: exit code %d, %s", c.flags, cmd.code(), &cmd.stderr)
		}
	}
	mustFail(t, exitFailure, "has 0 bytes", "run", "-n", "2", "--rendezvous", "h:80", "--nnodes",
		"2", "--token-file", empty, "--", "true")
}

// The ranks of a host learn of the others.
func TestRunHosts(t *testing.T) {
	c := execute(t, "run", "--rendezvous", "192.0.2.1:29500", "--nnodes", "3", "--node-rank", "1",
		"--nproc", "2", "--token-file", os.Args[0]+".none", "--", "true")
	if c.code() != exitFailure || !strings.Contains(c.stderr.String(), "no such file") {
		t.Errorf("a token file that is not there: exit code %d, %s", c.code(), &c.stderr)
	}
	file := writeFile(t, "token", "open sesame\n")
	c = execute(t, "run", "--rendezvous", "192.0.2.1:29500", "--nnodes", "3", "--node-rank", "1",
		"--nproc", "2", "--token-file", file, "--", "sh", "-c", "echo $FARHASH_RANK of "+
			"$FARHASH_SIZE, $FARHASH_LOCAL_SIZE here, $FARHASH_RENDEZVOUS $FARHASH_TOKEN "+
			"$FARHASH_ENGINE")
	for _, rank := range []string{"2", "3"} {
		want := rank + " of 6, 2 here, 192.0.2.1:29500 open sesame ucx\n"
		if c.code() != 0 || !strings.Contains(c.stdout.String(), want) {
			t.Errorf("exit code %d, no %q in %q: %s", c.code(), want, &c.stdout, &c.stderr)
		}
	}
}

// A token file that others may read is no reason not to start, but a warning.
func TestRunWarnsOfToken(t *testing.T) {
	file := writeFile(t, "token", "open sesame\n")
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		c := execute(t, "run", "--rendezvous", "192.0.2.1:29500", "--nnodes", "2", "--nproc", "1",
			"--token-file", file, "--", "true")
		if text := c.stderr.String(); c.code() != 0 ||
			strings.Contains(text, "warning: others may use") != warned {
			t.Errorf("mode %o: exit code %d, %q", mode, c.code(), text)
		}
	}
}
