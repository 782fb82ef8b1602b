package check

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// An argument names the model; without one it is the first.
func TestModelNamed(t *testing.T) {
	models := []program{Model[uint8]{Name: "one"}, Model[uint16]{Name: "two"}}
	for arg, want := range map[string]string{"": "one", "one": "one", "two": "two"} {
		f, _, err := parse(models, strings.Fields(arg))
		if err != nil || f.model.name() != want {
			t.Errorf("%q: %v, %v", arg, f.model, err)
		}
	}
	for args, says := range map[string]string{"three": "the models are one, two",
		"one two": "name one model"} {
		if _, _, err := parse(models, strings.Fields(args)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// Flags that no search can work with are refused, and say what can be given.
func TestFlags(t *testing.T) {
	models := []program{Model[uint8]{Name: "one"}}
	for args, says := range map[string]string{"--mem 0": "is no size such as 2GiB",
		"--mem x": "is no size such as 2GiB", "--every 0s": "--every must be positive",
		"-n 0": "-n must be 1 to 1024", "-n 1025": "-n must be 1 to 1024",
		"--order up": "bfs or any", "--none": "unknown flag",
		"--coverage --simulate":   "--coverage is for a search",
		"--coverage --resume old": "--coverage and --resume exclude each other"} {
		if _, _, err := parse(models, strings.Fields(args)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
	_, opts, err := parse(models, []string{"--mem", "2GiB", "--order", "any"})
	if err != nil || opts.Mem != 2<<30 || !opts.MemWhole || opts.Order != explore.AnyOrder {
		t.Errorf("%+v, %v", opts, err)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		result   explore.Result
		violated bool
		want     int
	}{
		{explore.Result{Complete: true}, false, 0},
		{explore.Result{Reason: explore.Decided}, false, 0},
		{explore.Result{Complete: true}, true, exitViolated},
		{explore.Result{Reason: explore.MemoryFull}, true, exitViolated},
		{explore.Result{Reason: explore.MemoryFull}, false, exitIncomplete},
		{explore.Result{Reason: explore.RankLost}, false, exitIncomplete},
		{explore.Result{Reason: explore.Interrupted}, false, exitInterrupt},
	} {
		if got := exitCode(&c.result, c.violated); got != c.want {
			t.Errorf("%+v, violated %v: exit code %d, want %d", c.result, c.violated, got, c.want)
		}
	}
}

// What is not known is null.
func TestJSONOfUnknown(t *testing.T) {
	text, err := json.Marshal(newObject("m", &Result[uint8]{Result: &explore.Result{},
		Properties: []Answer{{Name: "a"}, {Name: "b", Verdict: logic.True},
			{Name: "c", Verdict: logic.False}}}))
	if err != nil || !strings.Contains(string(text), `"properties":[{"name":"a","answer":null},`+
		`{"name":"b","answer":true},{"name":"c","answer":false}]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// The actions that were asked for are in text, JSON and the page.
func TestCoverageOfMain(t *testing.T) {
	m := Model[uint8]{Name: "up", Init: []uint8{0}, Deadlocks: true,
		Actions: []string{"up", "down"}, Next: func(s uint8, emit func(string, uint8)) {
			if s < 9 {
				emit("up by 1", s+1)
			}
		}}
	f, opts, err := parse([]program{m}, []string{"--coverage", "--mem", "512MiB"})
	if err != nil {
		t.Fatal(err)
	}
	err = local.Run(2, func(job rma.Job) error {
		o, err := f.model.check(t.Context(), job, opts)
		if err != nil || job.Rank() != 0 {
			return err
		}
		text, err := json.Marshal(o.object())
		for got, want := range map[string]string{
			string(text): `"untaken":["down"],"coverage":[{"name":"up","arcs":9,"states":9},` +
				`{"name":"down","arcs":0,"states":0}]`,
			o.report(): "\ncoverage, seldom taken ones first:\n" +
				"  transitions  new states  action\n" +
				"            0           0  down\n            9           9  up\n",
			fmt.Sprint(o.page().Tables): "[{Coverage, seldom taken ones first " +
				"[action transitions new states] [[down 0 0] [up 9 9]]}]",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nhas no %s", got, want)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A state that is to be found and is not there fails a program, as it fails a test.
func TestUnfound(t *testing.T) {
	m := Model[uint8]{Name: "up", Init: []uint8{0}, Deadlocks: true,
		Next: func(uint8, func(string, uint8)) {}}
	m.Properties = []Property[uint8]{Sometimes("six", func(s uint8) bool { return s == 6 })}
	err := local.Run(2, func(job rma.Job) error {
		o, err := m.check(t.Context(), job, Options{})
		if err == nil && (o.code != exitViolated ||
			!strings.Contains(o.report(), "sometimes six: false\nNOT FOUND: six\n")) {
			t.Errorf("exit code %d: %s", o.code, o.report())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// recorder is a test that Test fails.
type recorder struct {
	*testing.T
	ctx           context.Context
	errors, fatal int
}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Fatal(...any)          { r.fatal++; runtime.Goexit() }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

// Test fails for a violation, a state that is not found, and a search that does not end.
func TestTest(t *testing.T) {
	up := func(to, room uint8) Model[uint8] {
		return Model[uint8]{Name: "up", Init: []uint8{0}, Deadlocks: true,
			Next: func(s uint8, emit func(string, uint8)) {
				if s == room {
					panic("lost")
				}
				if s < to {
					emit("up", s+1)
				}
			}}
	}
	deadlock, violated, absent, found := up(5, 9), up(5, 9), up(5, 9), up(5, 9)
	deadlock.Deadlocks = false
	five := func(s uint8) bool { return s == 5 }
	violated.Properties = []Property[uint8]{Always("five", five)}
	found.Properties = []Property[uint8]{Sometimes("five", five)}
	absent.Properties = []Property[uint8]{Sometimes("six", func(s uint8) bool { return s == 6 })}
	for _, c := range []struct {
		what          string
		m             Model[uint8]
		errors, fatal int
	}{{"right", up(5, 9), 0, 0}, {"found", found, 0, 0}, {"deadlock", deadlock, 1, 0},
		{"violated", violated, 1, 0}, {"absent", absent, 1, 0}, {"panics", up(5, 4), 0, 1}} {
		r := &recorder{T: t, ctx: t.Context()}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Test(r, c.m)
		}()
		<-done
		if r.errors != c.errors || r.fatal != c.fatal {
			t.Errorf("%s: %d errors, %d fatal ones", c.what, r.errors, r.fatal)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	r := &recorder{T: t, ctx: cancelled}
	Test(r, Model[uint16]{Name: "interrupted", Init: []uint16{0}, Deadlocks: true,
		Next: func(s uint16, emit func(string, uint16)) {
			if s == 1000 { // a level for each state: the next one is not begun
				cancel()
			}
			if s < math.MaxUint16 {
				emit("up", s+1)
			}
		}})
	if r.errors != 1 || r.fatal != 0 {
		t.Errorf("interrupted: %d errors, %d fatal ones", r.errors, r.fatal)
	}
}

// A state of a small search takes no certain number of bytes: most of them are the first table.
func TestBytesPerState(t *testing.T) {
	for states, want := range map[uint64]bool{11: false, 99_999: false, 100_000: true} {
		r := &Result[uint8]{Result: &explore.Result{States: states, Bytes: 20 * states}}
		if got := strings.Contains(r.Report(), ", 20.0 bytes per state\n"); got != want {
			t.Errorf("%d states: %s", states, r.Report())
		}
		text, err := json.Marshal(newObject("m", r))
		if got := strings.Contains(string(text), `"bytesPerState":20,`); err != nil || got != want {
			t.Errorf("%d states: %s, %v", states, text, err)
		}
	}
}
