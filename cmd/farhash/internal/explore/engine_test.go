package explore

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/diagram"
	"github.com/farhash/farhash/statespace/petri/property"
	"github.com/farhash/farhash/statespace/symbolic"
)

// TestEngineAuto: of few states the search answers, with the depth, of many the symbolic engine.
func TestEngineAuto(t *testing.T) {
	got := exploreJSON(t, "explore", family(t, "philosophers", "7"), "--json", "--mem", "1GiB")
	if got["engine"] != engineExplicit || got["depth"] != 7. || got["states"] != 2187. {
		t.Errorf("3^7 states: %v", got)
	}
	path := family(t, "philosophers", "100")
	c := try.Run(t, "explore", path, "--mem", "1GiB", "--walk", "0", "--reduce=no",
		"--sometimes", "deadlock", "--always", "not deadlock",
		"--bound", "tokens(Eat_1)") // a walk, and a search of a reduced net, might answer
	states := new(big.Int).Exp(big.NewInt(3), big.NewInt(100), nil)
	for _, want := range []string{fmt.Sprintf("\nstates                   %v\n", states),
		"\nengine                   symbolic\n", "\nsometimes deadlock   true\n",
		"\nalways not deadlock  false\n", "\nbound tokens(Eat_1)  1\n"} {
		if !strings.Contains(c.Out.String(), want) || c.Code() != 0 {
			t.Errorf("3^100 states: exit code %d, %q is not in:\n%s%s", c.Code(), want, &c.Out,
				&c.Errors)
		}
	}
}

// TestEngineFlags: auto is explicit where a flag asks for what only that has.
func TestEngineFlags(t *testing.T) {
	for _, c := range []struct {
		args, engine, says string
	}{
		{"", engineAuto, ""},
		{"--json --mem 4GiB --bound tokens(a) --ranks 3", engineAuto, ""},
		{"--order bfs", engineExplicit, ""},
		{"--trace deadlock", engineExplicit, ""},
		{"--checkpoint x --every 1m", engineExplicit, ""},
		{"--resume x", engineExplicit, ""},
		{"--encoding word", engineExplicit, ""},
		{"--access shipped", engineExplicit, ""},
		{"--direct=false", engineExplicit, ""},
		{"--check", engineExplicit, ""},
		{"--engine explicit --check", engineExplicit, ""},
		{"--engine symbolic --trace deadlock", engineSymbolic, ""},
		{"--engine symbolic --check", engineSymbolic, "--engine symbolic and --check exclude"},
		{"--engine both", "both", "--engine must be auto, explicit or symbolic"},
	} {
		var f exploreFlags
		cmd := &cobra.Command{}
		f.register(cmd)
		err := cmd.ParseFlags(strings.Fields(c.args))
		if err == nil {
			f.engine, err = resolveEngine(f.engine, cmd.Flags())
		}
		if text := fmt.Sprint(err); f.engine != c.engine ||
			(err != nil) != (c.says != "") || !strings.Contains(text, c.says) {
			t.Errorf("%q: engine %q, %v", c.args, f.engine, err)
		}
	}
}

// TestPace: how long the symbolic engine pauses beside a search of two ranks on two cores.
func TestPace(t *testing.T) {
	p := &pace{begin: time.Now(), cores: 1, ranks: 2, free: make(chan struct{}),
		show: &display{quiet: true}, least: new(big.Int)}
	at := func(ran time.Duration, states int64) time.Duration {
		s := diagram.Snapshot{Strategy: symbolic.Loops, Ran: ran}
		if states > 0 {
			s.States = big.NewInt(states)
		}
		return p.pause(s, p.begin.Add(time.Second))
	}
	is := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("%s: a pause of %v, not %v", what, got, want)
		}
	}
	is("before the search", at(20*time.Second, 0), 0)
	p.plan(explore.Plan{States: 1e6})
	is("at its beginning", at(20*time.Second+besideBegin, 0), 0)
	is("after 15 s", at(35*time.Second+besideBegin, 0), 749*time.Second)
	is("with 10^9 markings", at(35*time.Second+besideBegin, 1e9), 649*time.Second)
	is("by the other strategy", at(35*time.Second+besideBegin, 7), 649*time.Second)
	is("with 10^10 markings", at(35*time.Second+besideBegin, 1e10), 0)
	if !p.fits(big.NewInt(2e6)) || p.fits(big.NewInt(2e6+1)) {
		t.Error("twice as many markings as planned are not the limit")
	}
	stopped := 0
	p.over = func() {
		stopped++
		p.release()
	}
	p.hold(t.Context(), diagram.Snapshot{States: big.NewInt(3e6)})
	p.hold(t.Context(), diagram.Snapshot{States: big.NewInt(4e6)})
	if stopped != 1 {
		t.Errorf("a search that cannot end was stopped %d times", stopped)
	}
}

// TestHold: a strategy pauses for as long as it is to, unless nothing is slowed down any more, and
// where cores are left for both engines it does not.
func TestHold(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const ran = 4 / strategies * (100*time.Second + besideBegin) // of four processors
	for _, c := range []struct {
		ranks   int
		release bool
		want    time.Duration
	}{
		{4 - strategies, false, 0}, {4, true, 0},
		{4, false, time.Duration(float64(100*time.Second) / besideTime)},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPace(c.ranks, &display{quiet: true})
			p.plan(explore.Plan{States: 1e6})
			if c.release {
				p.release()
			}
			p.hold(t.Context(), diagram.Snapshot{Ran: ran})
			if got := time.Since(p.begin); got.Round(time.Millisecond) != c.want {
				t.Errorf("%d ranks, release %v: a pause of %v, not %v", c.ranks, c.release, got,
					c.want)
			}
		})
	}
}

// TestAlone: where neither engine has had memory enough, the symbolic one gets all of it.
func TestAlone(t *testing.T) {
	net, err := petri.ReadFile(try.Net(t, "rwmutex", 4))
	if err != nil {
		t.Fatal(err)
	}
	f := &exploreFlags{quiet: true}
	b := &both{exploreFlags: f, ctx: t.Context(), net: net, mem: 64 << 20, reached: make(
		chan struct{}), failure: &symbolic.FullError{}, answers: f.stream(net, 0)}
	b.pace = newPace(2, b.answers.show)
	close(b.reached)
	b.alone()
	if b.failure != nil || b.res == nil || b.res.States.Cmp(big.NewInt(20)) != 0 {
		t.Errorf("%+v, %v", b.res, b.failure)
	}
	select {
	case <-b.reached:
	default:
		t.Error("it has not ended")
	}
}

// TestFirstAnswer: which answers end the other engine.
func TestFirstAnswer(t *testing.T) {
	known, unknown := propertyAnswer{Answer: []byte("true")}, propertyAnswer{Answer: []byte("null")}
	for what, c := range map[string]struct {
		answer *answer
		err    error
		want   bool
	}{
		"none":     {nil, errors.New("it failed"), false},
		"complete": {&answer{Complete: true}, nil, true},
		"decided":  {&answer{Reason: "decided", Properties: []propertyAnswer{known}}, nil, true},
		"unknown": {&answer{Complete: true, Properties: []propertyAnswer{known, unknown}}, nil,
			false},
		"no memory": {&answer{Reason: "memory full"}, &cli.ExitError{Code: cli.ExitIncomplete},
			false},
	} {
		if b := (&both{answer: c.answer, err: c.err}); b.exact() != c.want {
			t.Errorf("of the search, %s: exact is %v", what, !c.want)
		}
	}
	p := newPace(2, &display{quiet: true})
	p.plan(explore.Plan{States: 1e9})
	for what, c := range map[string]struct {
		states, arcs *big.Int
		asked        bool
		want         bool
	}{
		"few":             {big.NewInt(fewStates), big.NewInt(1), false, true},
		"many":            {big.NewInt(fewStates + 1), big.NewInt(1), false, false},
		"no arcs":         {big.NewInt(fewStates + 1), nil, false, true},
		"arcs of no use":  {big.NewInt(fewStates + 1), nil, true, false},
		"more than fit":   {big.NewInt(3e9), nil, false, false},
		"few, properties": {big.NewInt(7), nil, true, true},
	} {
		b := &both{pace: p, res: &diagram.Result{States: c.states, Arcs: c.arcs}}
		if c.asked {
			b.properties = append(b.properties, property.Property{})
		}
		if b.waits() != c.want {
			t.Errorf("of the symbolic engine, %s: waits is %v", what, !c.want)
		}
	}
}

// TestEnginesAgree: both engines give the same counts and answers.
func TestEnginesAgree(t *testing.T) {
	path := try.Net(t, "rwmutex", 4)
	for _, engine := range []string{engineExplicit, engineSymbolic} {
		o := try.ObjectHere(t, 0, "explore", path, "--json", "-q", "--engine", engine, "--mem",
			"1GiB",
			"--sometimes", "tokens(Reading_1, Reading_2) > 2", "--always", "not deadlock")
		if o["states"] != 20.0 || o["arcs"] != 72.0 || o["engine"] != engine ||
			o["complete"] != true {
			t.Errorf("%s: %v", engine, o)
		}
		for i, want := range []bool{true, false} {
			if p := o["properties"].([]any)[i].(map[string]any); p["answer"] != want {
				t.Errorf("%s: %v, want %v", engine, p, want)
			}
		}
	}
}

// TestBeaten: a search that the other engine has ended was beaten, and one that a signal has ended
// was not.
func TestBeaten(t *testing.T) {
	for _, signalled := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		searching, stop := context.WithCancelCause(ctx)
		b := &both{ctx: ctx, searching: searching}
		if b.beaten() {
			t.Error("beaten while it runs")
		}
		stop(errBeaten)
		if signalled {
			interrupt()
		}
		if b.beaten() == signalled {
			t.Errorf("a signal: %v, beaten: %v", signalled, b.beaten())
		}
		interrupt()
	}
}
