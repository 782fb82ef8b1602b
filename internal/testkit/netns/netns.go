// Package netns makes two hosts of one machine: network namespaces with host names of their own
// and a cable between them, which can be cut. It needs Linux, root, ip and unshare.
package netns

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Pair is two hosts, 0 and 1.
type Pair struct{ name string }

var made atomic.Int64

const (
	prefix  = "farhash-" // of the names of namespaces, followed by the process that made them
	dir     = "/run/netns"
	upLimit = 5 * time.Second
)

// New makes two hosts. It fails where this process may not, or where a program is missing, and
// then nothing is left.
func New() (*Pair, error) {
	for _, program := range []string{"ip", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("netns: there is no program %s", program)
		}
	}
	removeStale()
	p := &Pair{fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1))}
	for _, line := range []string{
		"netns add NAME-0", "netns add NAME-1",
		"link add fh0 netns NAME-0 type veth peer name fh1 netns NAME-1",
		"-n NAME-0 addr add 10.77.0.1/24 dev fh0", "-n NAME-1 addr add 10.77.0.2/24 dev fh1",
		"-n NAME-0 link set lo up", "-n NAME-1 link set lo up",
		"-n NAME-0 link set fh0 up", "-n NAME-1 link set fh1 up",
	} {
		if out, err := p.ip(line); err != nil {
			p.Close()
			return nil, fmt.Errorf("netns: making network namespaces needs root: ip %s: %w: %s",
				line, err, strings.TrimSpace(out))
		}
	}
	if err := p.awaitCable(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// awaitCable waits until both ends are up, which takes a moment.
func (p *Pair) awaitCable() error {
	for begin := time.Now(); time.Since(begin) < upLimit; time.Sleep(time.Millisecond) {
		out, err := p.ip("-n NAME-1 link show fh1")
		if err != nil {
			return fmt.Errorf("netns: %w: %s", err, out)
		}
		if strings.Contains(out, "state UP") {
			return nil
		}
	}
	return fmt.Errorf("netns: the cable between the hosts is not up after %v", upLimit)
}

// removeStale removes what processes have left that were killed.
func removeStale() {
	all, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range all {
		var pid, number, host int
		name := filepath.Base(path)
		_, err := fmt.Sscanf(name, prefix+"%d-%d-%d", &pid, &number, &host)
		if _, gone := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil && os.IsNotExist(gone) {
			_ = exec.Command("ip", "netns", "delete", name).Run()
		}
	}
}

// Close removes the hosts. Programs that still run there keep their network.
func (p *Pair) Close() {
	for host := range 2 {
		_ = exec.Command("ip", "netns", "delete", p.host(host)).Run()
	}
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

// Cut cuts the cable. What is sent then is lost, without an error.
func (p *Pair) Cut() error {
	for host := range 2 {
		line := fmt.Sprintf("-n NAME-%d neigh replace %s lladdr 02:00:00:00:00:99 dev fh%d", host,
			p.Address(1-host), host)
		if out, err := p.ip(line); err != nil {
			return fmt.Errorf("netns: ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}
