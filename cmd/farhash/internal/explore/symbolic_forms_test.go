package explore

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// TestSymbolicForms: what is printed of sets of markings whose arcs are not counted, whose traces
// are cut, or for which memory is full.
func TestSymbolicForms(t *testing.T) {
	place, marking := uint64(3), uint64(4)
	whole := answer{Engine: engineSymbolic, Complete: true, States: big.NewInt(5),
		Deadlocks: big.NewInt(1), MaxTokensPlace: &place, MaxTokensMarking: &marking,
		Arcs: big.NewInt(6)}
	uncounted, cut, full := whole, whole, whole
	uncounted.Arcs = nil
	cut.TracesCut, cut.traced = true, "deadlock"
	full.TracesCut, full.full, full.traced = true, true, "deadlock"
	none := answer{Engine: engineSymbolic, Reason: "memory full", detail: "give more",
		traced: "deadlock"}
	for _, c := range []struct {
		a         answer
		mcc, text []string
	}{
		{whole, []string{"STATES 5 ", "TRANSITIONS 6 ", "PER_MARKING 4 ", "IN_PLACE 3 "},
			[]string{"arcs ", "6\n", "!INCOMPLETE", "max tokens in a place    3\n"}},
		{uncounted, []string{"TRANSITIONS -1 "}, []string{"not counted: it would take too long\n"}},
		{cut, nil, []string{tracesCut, "!MEMORY FULL", "!no deadlock"}},
		{full, nil, []string{"MEMORY FULL before all traces", "!INTERRUPTED", "!no deadlock"}},
		{none, []string{"CANNOT_COMPUTE\n", "!STATE_SPACE"},
			[]string{"INCOMPLETE: memory full: give more\n", "!states", "!no deadlock"}},
	} {
		var mcc, text bytes.Buffer
		c.a.printMCC(&mcc)
		c.a.printText(&text)
		try.Outcome{Out: mcc.String()}.Has(t, 0, c.mcc...)
		try.Outcome{Out: text.String()}.Has(t, 0, c.text...)
	}
}

// TestFinishSymbolic: which exit code the end of a symbolic exploration has.
func TestFinishSymbolic(t *testing.T) {
	net := &petri.Net{Name: "n"}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	properties := []property.Property{{Name: "P"}}
	res := func(cut error) *diagram.Result {
		return &diagram.Result{States: big.NewInt(1), Deadlocks: big.NewInt(0), TracesCut: cut}
	}
	for what, c := range map[string]struct {
		ctx  context.Context
		res  *diagram.Result
		err  error
		code int
	}{
		"complete":         {t.Context(), res(nil), nil, 0},
		"memory full":      {t.Context(), nil, &symbolic.FullError{Nodes: 7}, cli.ExitIncomplete},
		"not supported":    {t.Context(), nil, &diagram.UnsupportedError{}, cli.ExitUsage},
		"interrupted":      {stopped, nil, context.Canceled, cli.ExitInterrupt},
		"both":             {stopped, nil, &symbolic.FullError{Nodes: 7}, cli.ExitInterrupt},
		"on another host":  {t.Context(), nil, diagram.ErrInterrupted, cli.ExitInterrupt},
		"another failure":  {t.Context(), nil, errors.New("x"), cli.ExitFailure},
		"traces, memory":   {t.Context(), res(&symbolic.FullError{}), nil, cli.ExitIncomplete},
		"traces, a signal": {stopped, res(context.Canceled), nil, cli.ExitInterrupt},
	} {
		out := try.File(t, "out", "")
		file, err := os.OpenFile(out, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		stdout := os.Stdout
		os.Stdout = file
		f := &exploreFlags{json: cli.JSONObject}
		err = f.finishSymbolic(c.ctx, net, properties, nil, c.res, c.err, true)
		os.Stdout = stdout
		code := 0
		if exit := (*cli.ExitError)(nil); errors.As(err, &exit) {
			code = exit.Code
		} else if err != nil {
			code = cli.ExitFailure
		}
		text, readErr := os.ReadFile(out)
		silent := c.code == cli.ExitUsage || c.code == cli.ExitFailure
		if code != c.code || readErr != nil || (len(text) == 0) != silent {
			t.Errorf("%s: exit code %d, want %d: %v %s", what, code, c.code, err, text)
		}
		if unknown := `"properties":[{"name":"P","answer":null}]`; c.res == nil && !silent &&
			!strings.Contains(string(text), unknown) {
			t.Errorf("%s: %s", what, text)
		}
		if file.Close() != nil {
			t.Error("not closed")
		}
	}
}

// TestNoteNodes: sets of markings of a net whose tokens grow without end need more memory than
// there is.
func TestNoteNodes(t *testing.T) {
	net := &petri.Net{Name: "n", Places: []petri.Place{{ID: "p"}, {ID: "q"}}}
	full := &symbolic.FullError{Nodes: 7}
	note := func() string { return noteNodes(t.Context(), net, full) }
	if note := note(); note != "7 nodes in use; give more by --mem, or take "+
		"--engine explicit" {
		t.Error(note)
	}
	net.Transitions = []petri.Transition{{ID: "t", Out: arcTo(1, 1)}}
	if note := note(); !strings.HasSuffix(note, "; the net is unbounded: place q "+
		"grows by firing t again and again") {
		t.Error(note)
	}
	net.Places[0].Initial = 1 // q gets a token, and t needs two
	net.Transitions = []petri.Transition{{ID: "s", In: arcTo(0, 1), Out: arcTo(1, 1)},
		{ID: "t", In: arcTo(1, 2), Out: arcTo(1, 3)}}
	if note := note(); !strings.HasSuffix(note, "; the net may be unbounded: "+
		"nothing in its structure bounds place q") {
		t.Error(note)
	}
}

// TestSymbolicMemory: memory that is given is for all ranks, and memory that is found for those of
// this host.
func TestSymbolicMemory(t *testing.T) {
	share := diagram.Share{All: 4, Here: 2}
	if mem, err := memoryOfRank(share, 400); mem != 100 || err != nil {
		t.Errorf("a rank of 4 has %d of 400 bytes, %v", mem, err)
	}
	all, err := cli.Memory(0)
	mem, ofErr := memoryOfRank(share, 0)
	if err != nil || ofErr != nil || mem < all/4 || mem > all/4*3 {
		t.Errorf("a rank of 2 here has %d of %d bytes, %v %v", mem, all, err, ofErr)
	}
}

// A question of paths is refused before the ranks of a symbolic search divide themselves: those
// that have no part in it would wait for an answer, and end with exit code 0 without one.
func TestSymbolicRefusesPaths(t *testing.T) {
	path := try.File(t, "net.pnml", twoAtATime)
	file := try.File(t, "paths.xml", `<property-set><property><id>p</id><formula><all-paths>
		<globally><finally><deadlock/></finally></globally></all-paths></formula></property>
		</property-set>`)
	try.Refused(t, cli.ExitUsage, "--engine symbolic: p is not answered symbolically", "explore",
		path,
		"-n", "4", "-q", "--engine", "symbolic", "--properties", file)
}

// A rank that had no part in a search which found no answer does not end as if there were one.
func TestNoAnswer(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(cli.Caught{Signal: syscall.SIGTERM})
	for ctx, want := range map[context.Context]int{t.Context(): cli.ExitIncomplete,
		stopped: cli.ExitTerminate} {
		exit := (*cli.ExitError)(nil)
		if err := new(exploreFlags).noAnswer(ctx); !errors.As(err, &exit) || exit.Code != want {
			t.Errorf("%v, want exit code %d", err, want)
		}
	}
}
