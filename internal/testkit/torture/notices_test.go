//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/statespace/petri"
)

// The test binary is a wrong farhash where fakeVariable says how; realVariable names the right one.
const (
	fakeVariable = "TORTURE_FAKE"
	realVariable = "TORTURE_REAL"
)

// fake is farhash with a fault.
func fake(kind string, args []string) int {
	switch kind {
	case "panics":
		panic("made")
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "says nothing":
		return 1
	case "has no such code":
		return 77
	case "says too much":
		fmt.Fprintln(os.Stderr, strings.Repeat("no ", 5000))
		return 2
	case "leaves a process":
		_ = exec.Command("sleep", "1000").Start()
	case "leaves a file":
		_ = os.WriteFile(os.TempDir()+"/left", nil, 0o600)
	case "leaves memory":
		_ = os.WriteFile("/dev/shm/left", nil, 0o600)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Getenv(realVariable), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, &out, os.Stderr
	_ = cmd.Run()
	text := out.String()
	switch kind {
	case "miscounts":
		text = strings.Replace(text, `"states":`, `"states":1`, 1)
	case "goes astray":
		text = withoutLastFiring(text)
	case "writes a repeat":
		path := args[slices.Index(args, "-o")+1]
		written, _ := os.ReadFile(path)
		_ = os.WriteFile(path, append(written, written...), 0o600)
	}
	fmt.Print(text)
	return max(1, cmd.ProcessState.ExitCode()) * min(1, cmd.ProcessState.ExitCode()&0xff)
}

// withoutLastFiring shortens the trace of an answer in JSON.
func withoutLastFiring(text string) string {
	answer := map[string]json.RawMessage{}
	var trace []string
	if json.Unmarshal([]byte(text), &answer) != nil ||
		json.Unmarshal(answer["trace"], &trace) != nil || len(trace) == 0 {
		return text
	}
	answer["trace"], _ = json.Marshal(trace[:len(trace)-1])
	short, _ := json.Marshal(answer)
	return string(short)
}

// The harness notices each fault, in one of a few rounds.
func TestNotices(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the same as in other builds of this test")
	}
	for _, c := range []struct {
		kind, says string
		strike     func(r *round) error
	}{
		{"miscounts", "right is", strikeNet},
		{"miscounts", "right is", strikeEnvironment},
		{"miscounts", "right is", strikeFile},
		{"miscounts", "right is", strikeKill},
		{"goes astray", "a trace of", strikeNet},
		{"writes a repeat", "right are", strikeDedup},
		{"panics", `says "panic:"`, strikeFlags},
		{"says nothing", "without a message", strikeFlags},
		{"says too much", "its message has", strikeFlags},
		{"has no such code", "exit code 77", strikeFlags},
		{"hangs", "it hangs", strikeNet},
		{"leaves a process", "leaves processes", strikeNet},
		{"leaves a file", "/tmp/left", strikeNet},
		{"leaves memory", "/dev/shm/left", strikeNet},
	} {
		if c.kind == "leaves memory" && !alone() {
			continue
		}
		s := newSweep(t, 1, t.TempDir())
		s.env = []string{fakeVariable + "=" + c.kind, realVariable + "=" + s.programs["plain"]}
		s.programs = map[string]string{"plain": os.Args[0]}
		if c.kind == "hangs" {
			s.limit, s.linger = time.Millisecond, time.Millisecond
		}
		if c.kind == "leaves a process" {
			s.linger = time.Millisecond
		}
		var err error
		for number := 0; number < 20 && err == nil; number++ {
			err = s.make(attack{"nets", "", c.strike}, number)
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("farhash %s, and the harness says: %v", c.kind, err)
		}
	}
}

// A net without an end, of one state a level, ends nevertheless.
func TestEndlessNet(t *testing.T) {
	s := newSweep(t, 1, t.TempDir())
	s.patience = time.Millisecond
	err := s.make(attack{"nets", "", func(r *round) error {
		n := &petri.Net{Name: "endless", Places: []petri.Place{{ID: "p", Name: "p"}}}
		n.Transitions = []petri.Transition{{ID: "t", Name: "t", Out: []petri.Arc{{Weight: 1}}}}
		m, err := r.write(n, maxNaiveStates)
		if err != nil {
			return err
		}
		return r.strikeModel(m)
	}}, 0)
	if err != nil {
		t.Error(err)
	}
}

// What a process does not give back is noticed.
func TestCycleNotices(t *testing.T) {
	s := newSweep(t, 1, t.TempDir())
	s.linger = time.Millisecond
	r := &round{Rand: rand.New(rand.NewPCG(1, 1)), sweep: s, attack: "cycles"}
	over := make(chan struct{})
	var open []*os.File
	defer func() {
		close(over)
		for _, f := range open {
			_ = f.Close()
		}
	}()
	for what, once := range map[string]func() error{
		"nothing": func() error { return nil },
		"a file": func() error {
			f, err := os.Open(os.DevNull)
			open = append(open, f)
			return err
		},
		"a goroutine": func() error { go func() { <-over }(); return nil },
		"a map": func() error {
			_, err := syscall.Mmap(-1, 0, 1<<12, len(open)%2+1, syscall.MAP_ANON|syscall.MAP_SHARED)
			open = append(open, nil)
			return err
		},
	} {
		if err := r.cycle(once); (err == nil) != (what == "nothing") {
			t.Errorf("it leaks %s, and the harness says: %v", what, err)
		}
	}
}
