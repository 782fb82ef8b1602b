//go:build ucx && cgo

package explore

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/statespace/petri"
)

// hostPair is two hosts on which farhash run starts the same command, with so many ranks each.
type hostPair struct {
	*twohosts.Pair
	t     *testing.T
	token string
	ranks int
	both  [2]*try.Command

	own, instead string // a folder that host 1 has for itself in place of another; or empty
}

func newHostPair(t *testing.T, ranks int) *hostPair {
	t.Helper()
	return &hostPair{Pair: twohosts.New(t), t: t, ranks: ranks,
		token: try.File(t, "token", "token of the tests")}
}

// start starts the command on both hosts.
func (h *hostPair) start(args ...string) {
	h.t.Helper()
	for host := range h.both {
		c := try.New(h.t, append([]string{"run", "--rendezvous",
			net.JoinHostPort(h.Address(0), "29500"), "--nnodes", "2", "--node-rank",
			fmt.Sprint(host), "--nproc", fmt.Sprint(h.ranks), "--token-file", h.token, "--",
			os.Args[0]}, args...)...)
		program := append([]string{c.Path}, c.Args[1:]...)
		if host == 1 && h.own != "" {
			program = append([]string{"sh", "-c", `mount --bind "$0" "$1" && shift && exec "$@"`,
				h.own, h.instead}, program...)
		}
		there := h.Command(host, program[0], program[1:]...)
		there.Env, there.Stdout, there.Stderr = c.Env, &c.Out, &c.Errors
		c.Cmd, h.both[host] = there, c
		if err := c.Start(); err != nil {
			h.t.Fatal(err)
		}
	}
}

// finish waits for the end on both hosts, and checks the exit codes.
func (h *hostPair) finish(codes ...int) {
	h.t.Helper()
	for host, c := range h.both {
		if c.Finish(); c.Code() != codes[host] {
			h.t.Errorf("host %d: exit code %d, want %d: %s%s", host, c.Code(), codes[host],
				&c.Out, &c.Errors)
		}
	}
}

// kill kills ranks, which note their processes when they start.
func (h *hostPair) kill(numbers ...int) {
	h.t.Helper()
	for _, number := range numbers {
		try.Send(h.t, h.both[number/h.ranks].PIDOf(number), syscall.SIGKILL)
	}
}

// Two hosts with two ranks each explore nets, and find what one host finds.
func TestUCXTwoHosts(t *testing.T) {
	hosts := newHostPair(t, 2)
	for _, c := range []struct {
		name  string
		size  int
		flags string
	}{
		{"philosophers", 8, ""}, {"philosophers", 6, "--trace deadlock"},
		{"rwmutex", 8, "--order any"},
		{"referendum", 6, "--encoding element --check"}, {"dekker", 6, "--direct=false"},
		{"kanban", 2, "--order any --encoding element"},
	} {
		n, err := petri.Family(c.name, c.size)
		if err != nil {
			t.Fatal(err)
		}
		path, want := try.WriteNet(t, n), expected(t, n)
		flags := strings.Fields(c.flags)
		hosts.start(append([]string{"explore", path, "--json"}, flags...)...)
		hosts.finish(0, 0)
		got := try.Object(t, hosts.both[0])
		if strings.Contains(c.flags, "any") {
			want["depth"] = nil
		}
		want["ranks"] = 4.
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s %s: %s is %v, want %v", c.name, c.flags, key, got[key], value)
			}
		}
		if way, asked := got["trace"].([]any); asked && len(way) != c.size {
			t.Errorf("%s: a way of %d firings, want %d", c.name, len(way), c.size)
		}
		if out := hosts.both[1].Out.String(); out != "" {
			t.Errorf("host 1 printed %s", out)
		}
	}
}

// Properties along paths are answered on two hosts as on one: formulas of CTL and LTL of a net, and
// with fair actions of a model, whose counterexample is a lasso.
func TestUCXPathsTwoHosts(t *testing.T) {
	hosts := newHostPair(t, 2)
	path := family(t, "philosophers", "4")
	file, want := pathFormulas(t)
	hosts.start("explore", path, "--properties", file, "--json")
	hosts.finish(0, 0)
	for _, p := range try.Object(t, hosts.both[0])["properties"].([]any) {
		p := p.(map[string]any)
		if name := p["name"].(string); p["answer"] != want[name] {
			t.Errorf("%s: %v, want %v", name, p["answer"], want[name])
		}
	}
	for name, code := range map[string]int{"turns": 0, "unfair-turns": 12} {
		hosts.start(name, "--json")
		hosts.finish(code, 0) // rank 0 has the answer
		got := try.Object(t, hosts.both[0])
		answer := got["properties"].([]any)[0].(map[string]any)["answer"]
		lasso, _ := got["path"].([]any)
		if got["ranks"] != 4. || answer != (code == 0) ||
			(code == 0) != (len(lasso) == 0 && got["back"] == nil && got["complete"] == true) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
