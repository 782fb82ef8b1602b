package main

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri/packing"
)

// refusedFlags are command lines for try.Refuses.
var refusedFlags = [][2]string{
	{"--json takes its value with =: write --json=lines", "explore --json lines NET"},
	{"--json takes its value with =: write --json=lines", "explore NET --json lines"},
	{"--json takes its value with =: write --json=object", "explore --json object"},
	{"--walk must be 0 to 90 percent, not 91", "explore NET --walk 91"},
	{"--walk must be 0 to 90 percent, not -1", "explore NET --walk -1"},
	{"--walk must be 0 to 90 percent, not NaN", "explore NET --walk NaN"},
	{"--every must be positive, not 0s", "explore NET --checkpoint TEXT.check --every 0s"},
	{"it needs --checkpoint FILE", "explore NET --every 1m"},
	{`--max-net "0" is no size`, "explore NET --max-net 0"},
	{`--mem "9223372036854775808" is no`, "explore NET --mem 9223372036854775808"},
	{"--sometimes: ", "explore NET --sometimes tokens(x)=1"},
	{"--always: ", "explore NET --always tokens(x)=1"},
	{"--bound: ", "explore NET --bound tokens(x)"},
	{"--examination: ", "explore NET --examination Beauty"},
	{"two properties have the name always deadlock",
		"explore NET --always deadlock --always deadlock"},
	{"--engine symbolic and --max-states exclude", "explore NET --engine symbolic --max-states 2"},
	{"--engine symbolic and --order exclude", "explore NET --engine symbolic --order bfs"},
	{"unknown flag: --mpi-rnk\n", "doctor --mpi-rnk"},
	{"--json must be true or false", "doctor --json=perhaps"},
}

// TestRefusedFlags: what makes no sense is wrong usage, says why, and neither starts nor writes
// anything.
func TestRefusedFlags(t *testing.T) { try.Refuses(t, refusedFlags) }

// TestUsageNamesTheCommand: after wrong usage the help of that command is named, and after other
// failures none.
func TestUsageNamesTheCommand(t *testing.T) {
	try.Here(t, "bench", "--runs", "0").Has(t, cli.ExitUsage,
		"\nRun 'farhash bench --help' for usage.\n")
	try.Here(t, "nonsense").Has(t, cli.ExitUsage, "\nRun 'farhash --help' for usage.\n")
	try.Here(t, "explore", "no/such").Has(t, cli.ExitFailure, "farhash: ", "!for usage")
	try.Here(t, "explore", "no/such", "--json", "--mcc").Has(t, cli.ExitUsage, "exclude each other")
}

// TestExitFor: which exit code a result has.
func TestExitFor(t *testing.T) {
	signalled := func(s os.Signal) func() os.Signal { return func() os.Signal { return s } }
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
		if err := f.exitFor(&c.res, signalled(c.caught)); errors.As(err, &exit) {
			code = exit.Code
		}
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
	found, rest, err := newRoot().Find([]string{"explore", "--order", "any", "--trace=deadlock",
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

// TestCompletion: shells are told which files a command takes, and not after it has one.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"pnml\n:8\n", []string{"explore", ""}}, {":4\n", []string{"explore", "x", ""}},
		{"ldd\nbdd\n:8\n", []string{"symbolic", ""}}, {":4\n", []string{"symbolic", "x", ""}},
		{"bfs\nany\n:4\n", []string{"explore", "--order", ""}}, {":4\n", []string{"bench", ""}},
		{"auto\nexplicit\nsymbolic\n:4\n", []string{"explore", "--engine", ""}},
		{":0\n", []string{"explore", "--checkpoint", ""}},
		{":4\n", []string{"explore", "--mem", ""}},
	} {
		if o := try.Here(t, append([]string{"__complete"}, c.args...)...); o.Out != c.want {
			t.Errorf("%q: %q, want %q", c.args, o.Out, c.want)
		}
	}
}

// TestHelpIsFolded: lines of help have 105 columns at most.
func TestHelpIsFolded(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		o := try.Here(t, cmd.Name(), "--help")
		for line := range strings.Lines(o.Out) {
			if len(line) > 106 || o.Code != 0 {
				t.Errorf("%s, exit code %d: %q", cmd.Name(), o.Code, line)
			}
		}
	}
}
