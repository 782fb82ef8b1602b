//go:build mpi && cgo

package mpi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agent is what a launcher uses in place of ssh: it takes options, a host and a command.
// A host is a network namespace, and has a host name of its own.
const agent = `#!/bin/sh
while :; do case $1 in -*) shift ;; *) break ;; esac; done
case $1 in 10.77.0.1) host=%[1]s-1 ;; *) host=%[1]s-2 ;; esac
shift
exec ip netns exec $host unshare --uts sh -c 'hostname "$0"; exec sh -c "$*"' $host "$@"
`

// twoHosts makes two network namespaces with a cable between them, and returns a launcher
// of some ranks on each.
func twoHosts(t testing.TB, kind string, each int) launcher {
	t.Helper()
	l := find(t, kind)
	for _, program := range []string{"ip", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no program ", program)
		}
	}
	name := fmt.Sprint("farhash-", os.Getpid())
	t.Cleanup(func() {
		for _, n := range []string{"-1", "-2"} {
			_ = exec.Command("ip", "netns", "delete", name+n).Run()
		}
	})
	for _, line := range []string{
		"netns add NAME-1", "netns add NAME-2",
		"link add fh1 netns NAME-1 type veth peer name fh2 netns NAME-2",
		"-n NAME-1 addr add 10.77.0.1/24 dev fh1", "-n NAME-2 addr add 10.77.0.2/24 dev fh2",
		"-n NAME-1 link set lo up", "-n NAME-2 link set lo up",
		"-n NAME-1 link set fh1 up", "-n NAME-2 link set fh2 up",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "NAME", name))
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Skipf("making network namespaces needs root: ip %s: %v: %s", line, err, out)
		}
	}
	for up := false; !up; { // the cable takes a moment
		out, err := exec.Command("ip", "-n", name+"-2", "link", "show", "fh2").Output()
		if err != nil {
			t.Fatal(err)
		}
		up = strings.Contains(string(out), "state UP")
	}
	script := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(script, fmt.Appendf(nil, agent, name), 0o700); err != nil {
		t.Fatal(err)
	}
	hosts := fmt.Sprintf("10.77.0.1:%[1]d,10.77.0.2:%[1]d", each)
	l.before = append([]string{script, "10.77.0.1"}, l.before...)
	if kind == openMPI {
		l.args = []string{"--host", hosts, "--bind-to", "none",
			"--mca", "plm_rsh_agent", script, "--mca", "oob_tcp_if_include", "10.77.0.0/24",
			"--mca", "btl_tcp_if_include", "10.77.0.0/24"}
	} else {
		l.args = []string{"-launcher", "ssh", "-launcher-exec", script,
			"-hosts", hosts, "-iface", "fh1"}
	}
	l.env = append(l.env, "UCX_TLS=tcp,self") // memory is not what hosts share
	return l
}

// Ranks on two hosts, two on each, over TCP: direct memory within a host.
func TestTwoHosts(t *testing.T) {
	l := twoHosts(t, ask().kind, 2)
	out, err := l.play(t, 4, "sum:")
	expect(t, out, err, true, 4, " of 4: 40, flat false")
	out, err = l.play(t, 4, "sum:hidden")
	expect(t, out, err, true, 4, " of 4: 40, flat false")
	out, err = l.play(t, 4, "views")
	expect(t, out, err, true, 4, "sees 2 segments")
	out, err = l.play(t, 4, "joined:hidden")
	expect(t, out, err, true, 4, "60 puts in 1 calls, 4096 gets in 64\n")
	out, err = l.play(t, 4, "compute:C")
	expect(t, out, err, true, 0)
	out, err = l.play(t, 4, "tables:")
	expect(t, out, err, true, 4, "the tables are right")
}
