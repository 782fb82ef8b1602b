//go:build ucx && cgo

package main

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/twohosts"
)

// Two hosts with two ranks each explore a net, and find what one host finds.
func TestUCXTwoHosts(t *testing.T) {
	hosts := twohosts.New(t)
	model := family(t, "philosophers", "8")
	token := writeFile(t, "token", "token of the tests")
	both := make([]*command, 2)
	for host, node := range []string{"0", "1"} {
		c := newCommand(t, "run", "--rendezvous", net.JoinHostPort(hosts.Address(0), "29500"),
			"--nnodes", "2", "--node-rank", node, "--nproc", "2", "--token-file", token, "--",
			os.Args[0], "explore", model)
		there := hosts.Command(host, c.Path, c.Args[1:]...)
		there.Env, there.Stdout, there.Stderr = c.Env, &c.stdout, &c.stderr
		c.Cmd, both[host] = there, c
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for host, c := range both {
		c.finish()
		if c.code() != 0 {
			t.Errorf("host %d: exit code %d: %s%s", host, c.code(), &c.stdout, &c.stderr)
		}
	}
	if out := both[0].stdout.String(); !strings.Contains(out, "6561") ||
		!strings.Contains(out, "with 4 ranks") {
		t.Errorf("host 0 said %s%s", out, &both[0].stderr)
	}
	if out := both[1].stdout.String(); out != "" {
		t.Errorf("host 1 said %s", out)
	}
}
