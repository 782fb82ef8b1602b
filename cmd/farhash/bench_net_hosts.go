package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/farhash/farhash/internal/launch"
	"github.com/farhash/farhash/internal/netns"
)

// What --hosts may be, and what linkVariable tells the ranks.
const (
	hostsAuto     = "auto"
	hostsNetns    = "netns"
	hostsLoopback = "loopback"
)

// linkVariable tells ranks that bench net has made their hosts, and of what.
const linkVariable = "FARHASH_BENCH_LINK"

var linkTexts = map[string]string{
	hostsNetns:    "TCP between two network namespaces of this machine (veth)",
	hostsLoopback: "TCP over loopback within this host",
}

// hostGrace is how long both sides may take to end when one has failed or was told to.
const hostGrace = 20 * time.Second

// twoHosts is where bench net starts its ranks when it is started alone.
type twoHosts struct {
	link    string
	address string // where rank 0 listens
	pair    *netns.Pair
}

// makeHosts makes two hosts as --hosts says.
func (f *netFlags) makeHosts() (*twoHosts, error) {
	if f.hosts != hostsLoopback {
		pair, err := netns.New()
		if err == nil {
			return &twoHosts{hostsNetns, net.JoinHostPort(pair.Address(0), "29500"), pair}, nil
		}
		if f.hosts == hostsNetns {
			return nil, err
		}
		f.tell("farhash: no two hosts on this machine, so ranks talk over loopback: %v\n", err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a port for the ranks to meet: %w", err)
	}
	return &twoHosts{hostsLoopback, free.Addr().String(), nil}, free.Close()
}

func (h *twoHosts) close() {
	if h.pair != nil {
		h.pair.Close()
	}
}

// command is a program to be started on a host. Signals of the terminal are for this process,
// and if it is killed so is the program.
func (h *twoHosts) command(host int, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	if h.pair != nil {
		cmd = h.pair.Command(host, program, args...)
	}
	cmd.SysProcAttr = launch.Attributes()
	cmd.Stderr = os.Stderr
	if host == 0 {
		cmd.Stdout = os.Stdout
	}
	return cmd
}

// onTwoHosts starts this command as the ranks of two hosts, which it makes before and removes
// in the end.
func (f *netFlags) onTwoHosts(ctx context.Context) error {
	if err := netBuilt(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	ctx, caught := catchSignals(ctx)
	hosts, err := f.makeHosts()
	if err != nil {
		return err
	}
	defer hosts.close()
	// The kernel kills what the thread has started when it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	env := append(os.Environ(), launch.TokenVariable+"="+launch.NewToken(),
		linkVariable+"="+hosts.link)
	if hosts.link == hostsLoopback {
		env = append(env, "UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo")
	}
	var sides [2]*exec.Cmd
	for host := range sides {
		args := []string{"run", "--rendezvous", hosts.address, "--nnodes", "2", "--node-rank",
			strconv.Itoa(host), "--nproc", strconv.Itoa(f.perHost), "--", self}
		side := hosts.command(host, self, append(args, os.Args[1:]...)...)
		side.Env = env
		if err := side.Start(); err != nil {
			endHosts(sides[:host], syscall.SIGTERM)
			return fmt.Errorf("starting the ranks of host %d: %w", host, err)
		}
		sides[host] = side
	}
	return awaitHosts(ctx, sides, caught)
}

// awaitHosts waits for both sides and returns how the first of them failed. A signal is passed
// on: the ranks print what they have.
func awaitHosts(ctx context.Context, sides [2]*exec.Cmd, caught func() os.Signal) error {
	ended := make(chan error, len(sides))
	for _, side := range sides {
		go func() { ended <- side.Wait() }()
	}
	told, limit := ctx.Done(), (<-chan time.Time)(nil)
	var first error
	for left := len(sides); left > 0; {
		select {
		case err := <-ended:
			left--
			if first == nil {
				first = err
			}
			limit = time.After(hostGrace)
		case <-told:
			told, limit = nil, time.After(hostGrace)
			s, ok := caught().(syscall.Signal)
			if !ok {
				s = syscall.SIGTERM
			}
			signalHosts(sides[:], s)
		case <-limit:
			limit = nil
			signalHosts(sides[:], syscall.SIGKILL)
		}
	}
	var exit *exec.ExitError
	if errors.As(first, &exit) && exit.Exited() {
		return &exitError{code: exit.ExitCode()} // its ranks have said why
	}
	return first
}

func signalHosts(sides []*exec.Cmd, s syscall.Signal) {
	for _, side := range sides {
		_ = side.Process.Signal(s) // it may have ended
	}
}

// endHosts ends sides that have been started.
func endHosts(sides []*exec.Cmd, s syscall.Signal) {
	signalHosts(sides, s)
	for _, side := range sides {
		_ = side.Wait()
	}
}
