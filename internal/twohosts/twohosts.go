// Package twohosts makes two hosts for tests on one machine: network namespaces with host
// names of their own and a cable between them, which can be cut. It needs root, ip and
// unshare; without, the test is skipped and says so.
package twohosts

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Pair is two hosts, 0 and 1.
type Pair struct{ name string }

var made atomic.Int64

// New makes two hosts that live as long as the test.
func New(t testing.TB) *Pair {
	t.Helper()
	for _, program := range []string{"ip", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no program ", program)
		}
	}
	p := &Pair{fmt.Sprintf("farhash-%d-%d", os.Getpid(), made.Add(1))}
	t.Cleanup(func() {
		for host := range 2 {
			_ = exec.Command("ip", "netns", "delete", p.host(host)).Run()
		}
	})
	for _, line := range []string{
		"netns add NAME-0", "netns add NAME-1",
		"link add fh0 netns NAME-0 type veth peer name fh1 netns NAME-1",
		"-n NAME-0 addr add 10.77.0.1/24 dev fh0", "-n NAME-1 addr add 10.77.0.2/24 dev fh1",
		"-n NAME-0 link set lo up", "-n NAME-1 link set lo up",
		"-n NAME-0 link set fh0 up", "-n NAME-1 link set fh1 up",
	} {
		if out, err := p.ip(line); err != nil {
			t.Skipf("making network namespaces needs root: ip %s: %v: %s", line, err, out)
		}
	}
	for up := false; !up; { // the cable takes a moment
		out, err := p.ip("-n NAME-1 link show fh1")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if up = strings.Contains(out, "state UP"); !up {
			time.Sleep(time.Millisecond)
		}
	}
	return p
}

func (p *Pair) host(n int) string { return fmt.Sprintf("%s-%d", p.name, n) }

// ip runs ip with NAME replaced.
func (p *Pair) ip(line string) (string, error) {
	args := strings.Fields(strings.ReplaceAll(line, "NAME", p.name))
	out, err := exec.Command("ip", args...).CombinedOutput()
	return string(out), err
}

// Address is where a host is reached by the other.
func (p *Pair) Address(host int) string { return fmt.Sprintf("10.77.0.%d", host+1) }

// Command is a program to be started on a host.
func (p *Pair) Command(host int, program string, args ...string) *exec.Cmd {
	name := p.host(host)
	return exec.Command("ip", append([]string{"netns", "exec", name, "unshare", "--uts", "sh",
		"-c", `hostname "$0"; exec "$@"`, name, program}, args...)...)
}

// Cut cuts the cable. What is sent then is lost, and nobody is told.
func (p *Pair) Cut(t testing.TB) {
	t.Helper()
	// What is sent goes to a card that nobody has: no host can tell.
	for host := range 2 {
		line := fmt.Sprintf("-n NAME-%d neigh replace %s lladdr 02:00:00:00:00:99 dev fh%d", host,
			p.Address(1-host), host)
		if out, err := p.ip(line); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out)
		}
	}
}
