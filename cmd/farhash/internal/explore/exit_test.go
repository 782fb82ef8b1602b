package explore

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// TestExitFor: which exit code a result has.
func TestExitFor(t *testing.T) {
	f := &exploreFlags{}
	for _, c := range []struct {
		res    explore.Result
		caught os.Signal
		code   int
	}{
		{explore.Result{Complete: true}, nil, 0},
		{explore.Result{Reason: explore.Decided}, nil, 0},
		{explore.Result{Complete: true, Reason: explore.Resumed}, nil, 0},
		{explore.Result{Reason: explore.MemoryFull}, nil, cli.ExitIncomplete},
		{explore.Result{Reason: explore.LimitReached}, nil, cli.ExitIncomplete},
		{explore.Result{Reason: explore.Interrupted}, syscall.SIGINT, cli.ExitInterrupt},
		{explore.Result{Reason: explore.Interrupted}, syscall.SIGTERM, cli.ExitTerminate},
		{explore.Result{Reason: explore.Interrupted}, nil, cli.ExitInterrupt},
		{explore.Result{Reason: explore.RankLost}, nil, cli.ExitLost},
		{explore.Result{Reason: "moon"}, nil, cli.ExitFailure},
		{explore.Result{Complete: true, Live: &explore.Liveness{Reason: explore.MemoryFull}}, nil,
			cli.ExitIncomplete},
		{explore.Result{Complete: true, Live: &explore.Liveness{}}, nil, 0},
		{explore.Result{Complete: true, Live: &explore.Liveness{Reason: explore.RankLost,
			Detail: "rank 1"}}, nil, cli.ExitLost},
		{explore.Result{Complete: true, Swept: &explore.Swept{Reason: explore.Interrupted}},
			syscall.SIGTERM, cli.ExitTerminate},
		{explore.Result{Complete: true, Live: &explore.Liveness{Reason: explore.MemoryFull},
			Swept: &explore.Swept{}}, nil, cli.ExitIncomplete},
	} {
		code := 0
		var exit *cli.ExitError
		ctx, stop := context.WithCancelCause(t.Context())
		if c.caught != nil {
			stop(cli.Caught{Signal: c.caught})
		}
		if err := f.exitFor(ctx, &c.res); errors.As(err, &exit) {
			code = exit.Code
		}
		stop(nil)
		if code != c.code {
			t.Errorf("%+v: exit code %d, want %d", c.res, code, c.code)
		}
	}
}

// TestOtherNet: a checkpoint of another net is named, and the bits of its markings where they
// differ.
func TestOtherNet(t *testing.T) {
	for want, ids := range map[string][2]string{
		"--resume: f belongs to another net (its markings have 7 bits, and markings of this " +
			"one 8)": {"a, 7 bits, 1", "b, 8 bits, 1"},
		"--resume: f belongs to another net":  {"a, 8 bits, 1", "b, 8 bits, 1"},
		"--resume: f belongs to another net ": {"moon", "b, 8 bits, 1"},
		"--resume: f is of a search that was asked other questions, and has what it found out " +
			"about these alone; ask the same, or search from the beginning": {
			"a, 8 bits, 1" + packing.Asked + "x", "a, 8 bits, 1"},
	} {
		err := otherNet(&explore.OtherModelError{Path: "f", Have: ids[0], Want: ids[1]})
		if err.Error() != strings.TrimSpace(want) {
			t.Errorf("%q: %v", ids, err)
		}
	}
}

// TestLostSaysHowToContinue: after the loss of a rank the command that continues is one for a
// shell, and the one that was given, without what excludes --resume.
func TestLostSaysHowToContinue(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	os.Args = []string{"my farhash"}
	found, rest, err := root().Find([]string{"explore", "--order", "any", "--trace=deadlock",
		"--resume", "old", "-n", "3", "--check", "--always", "x's"})
	if err == nil {
		err = found.ParseFlags(rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := resumeCommand(found, "a net")
	for _, part := range []string{"'my farhash' explore 'a net' ", "--order=any ", "--ranks=3 ",
		"--check "} {
		if !strings.Contains(command, part) {
			t.Errorf("%q is not in %q", part, command)
		}
	}
	if strings.Contains(command, "resume") || strings.Contains(command, "trace") {
		t.Errorf("%q", command)
	}
	for word, want := range map[string]string{"a-b_c=./:,+@%9Z": "a-b_c=./:,+@%9Z", "": "",
		"it's": `'it'\''s'`, "$x": "'$x'", "a b": "'a b'", "é": "'é'"} {
		if got := quote(word); got != want {
			t.Errorf("%q is quoted as %q, want %q", word, got, want)
		}
	}
	for says, c := range map[string]struct {
		f   exploreFlags
		res explore.Result
	}{
		"which has 7 states, on any number of hosts and ranks:\n  C --resume=saved": {
			exploreFlags{resumeCommand: "C ", checkpoint: "saved"},
			explore.Result{Saved: "saved", SavedStates: 7}},
		"there is no checkpoint yet": {exploreFlags{checkpoint: "saved"}, explore.Result{}},
		"nothing was saved":          {exploreFlags{}, explore.Result{}},
	} {
		if err := c.f.lost(&c.res); !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
