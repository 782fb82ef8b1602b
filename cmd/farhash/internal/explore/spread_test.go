package explore

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// TestSpread: what is printed of one diagram in the memory of all ranks.
func TestSpread(t *testing.T) {
	net, states := family(t, "philosophers", "9"), doubled(t, 8)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"explore", net, "--engine", "symbolic", "-n", "3"}, []string{
			"Philosophers-9: 45 places, 45 transitions\nstates   19683\nseconds  ",
			"  by saturation, places ordered by ", "\nengine   symbolic\nnodes    ",
			" at most in each of 3 ranks\n"}},
		{[]string{"symbolic", states, "-n", "2"}, []string{
			"doubled.ldd: 16 integers, 8 relations\nstates   256\nseconds  ",
			"  by saturation\nnodes    ", " at most in each of 2 ranks\n"}},
	} {
		r := try.Run(t, append(c.args, "--spread", "--mem", "64MiB")...)
		for _, want := range c.want {
			if !strings.Contains(r.Out.String(), want) {
				t.Errorf("%v: %q is not in:\n%s", c.args, want, &r.Out)
			}
		}
		plan := r.Errors.String()
		if r.Code() != 0 || strings.Count(plan, "\n") != 1 ||
			!strings.HasPrefix(plan, "plan: up to 64.0 MiB for sets of ") {
			t.Errorf("%v: exit code %d, stderr %q", c.args, r.Code(), plan)
		}
		a := exploreJSON(t, append(c.args, "--spread", "--json")...)
		sum := 0.0
		byRank, _ := a["nodesByRank"].([]any)
		for _, n := range byRank {
			sum += n.(float64)
		}
		if a["complete"] != true || a["nodes"] != sum || len(byRank) < 2 ||
			a["engine"] != "symbolic" || a["strategy"] != "saturation" {
			t.Errorf("%v: %v", c.args, a)
		}
	}
}

// TestSpreadEnds: of an unbounded net, and when memory is full.
func TestSpreadEnds(t *testing.T) {
	r := try.Run(t, "explore", mailbox(t), "--engine", "symbolic", "--spread", "-q")
	if r.Code() != cli.ExitUnbounded || !strings.Contains(r.Out.String(), "UNBOUNDED: ") {
		t.Errorf("exit code %d: %s", r.Code(), &r.Out)
	}
	r = try.Run(t, "explore", family(t, "walker", "22"), "--engine", "symbolic", "--spread", "-q",
		"-n", "2", "--mem", "32MiB")
	if r.Code() != cli.ExitIncomplete ||
		!strings.Contains(r.Out.String(), "INCOMPLETE: memory full: ") {
		t.Errorf("exit code %d: %s", r.Code(), &r.Out)
	}
}

// TestSpreadRefused: what goes with it, and what does not.
func TestSpreadRefused(t *testing.T) {
	net, states := family(t, "philosophers", "3"), doubled(t, 3)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"explore", net, "--spread"}, "--spread needs --engine symbolic"},
		{[]string{"explore", net, "--spread", "--engine", "symbolic", "--sometimes", "deadlock"},
			"neither properties"},
		{[]string{"explore", net, "--spread", "--engine", "symbolic", "--trace", "deadlock"},
			"neither properties"},
		{[]string{"symbolic", states, "--spread", "--deadlocks"}, "neither --strategy"},
		{[]string{"symbolic", states, "-n", "2"}, "-n is for --spread"},
		{[]string{"symbolic", states, "--spread", "-n", "0"}, "-n must be 1 to"},
	} {
		r := try.Run(t, c.args...)
		if r.Code() != cli.ExitUsage || !strings.Contains(r.Errors.String(), c.says) {
			t.Errorf("%v: exit code %d, %s", c.args, r.Code(), &r.Errors)
		}
	}
}
