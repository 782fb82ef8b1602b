package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A tree with stages that fail in every way.
var tree = map[string]string{
	"go.mod": "module fake\n\ngo 1.26\n",
	"rma/shm/shm_test.go": `package shm

import (
	"os"
	"testing"
)

func TestOnce(t *testing.T) {
	if _, err := os.Stat("ran"); err != nil {
		_ = os.WriteFile("ran", nil, 0o600)
		t.Fatal("fails the first time")
	}
}

func TestAlways(t *testing.T) {
	if os.Getenv("ALWAYS") != "" {
		t.Fatal("fails each time")
	}
}
`,
	"core/core_test.go": `package core

import (
	"testing"
	"time"
)

func TestFine(t *testing.T) {}

func TestEndless(t *testing.T) {
	for {
		time.Sleep(time.Hour)
	}
}
`,
	"Makefile": `TEST = go test $(TESTFLAGS) -count=1
flaky:
	rm -f rma/shm/ran; $(TEST) ./rma/...
failing:
	rm -f rma/shm/ran; ALWAYS=1 $(TEST) ./rma/...
hanging:
	$(TEST) -timeout 2s ./core
other: other-first other-second
other-first:
	@echo something is wrong; false
other-second:
	@echo the second runs
endless:
	@sleep 1000
`,
}

// inTree runs stages in the tree. It returns the output and whether all is well.
func inTree(t *testing.T, args ...string) (out string, fine bool) {
	t.Helper()
	for _, name := range []string{"make", "go"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "stages")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range tree {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "MAKEFLAGS=")
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

func wantLines(t *testing.T, out string, lines ...string) {
	t.Helper()
	all := strings.Split(out, "\n")
	for _, want := range lines {
		if !slices.ContainsFunc(all, func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), want)
		}) {
			t.Errorf("no line begins with %q in\n%s", want, out)
		}
	}
}

// Every stage runs, and the report names all that failed.
func TestStages(t *testing.T) {
	out, fine := inTree(t, "failing", "hanging", "other")
	if fine {
		t.Error("stages that fail are fine")
	}
	wantLines(t, out, "the second runs", "FLAKY  failing ./rma/shm TestOnce failed once",
		"FAILED failing ./rma/shm TestAlways", "FAILED hanging ./core TestEndless (did not end)",
		"FAILED other exit status 2: something is wrong", "packages: 0 passed, 3 failed")
}

// A test that starts processes and passes the second time fails no run.
func TestFlaky(t *testing.T) {
	out, fine := inTree(t, "-beside", "2", "flaky")
	if !fine {
		t.Error("a test that passes when it runs again fails the run")
	}
	wantLines(t, out, "FLAKY  flaky ./rma/shm TestOnce", "packages: 1 passed, 0 failed")
}

func TestLimitOfStage(t *testing.T) {
	out, fine := inTree(t, "-limit", "100ms", "endless")
	if fine {
		t.Error("a stage that does not end is fine")
	}
	wantLines(t, out, "FAILED endless not ended after 100ms")
}

func TestWithoutTimeout(t *testing.T) {
	args, limit := withoutTimeout([]string{"a.test", "-test.timeout=6m0s", "-test.short"})
	if want := []string{"a.test", "-test.timeout=0", "-test.short"}; !slices.Equal(args, want) ||
		limit != 6*time.Minute {
		t.Errorf("%q, %v", args, limit)
	}
}

// Failed tests are found in what a binary prints, also of one that crashes.
func TestRead(t *testing.T) {
	for out, want := range map[string]outcome{
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL\n": {Failed: []string{"TestA"}},
		"SIGSEGV\nfake/core.TestB(0x1)\n\t/b_test.go:4\nfake/core.TestMain(0x1)\n": {
			Failed: []string{"TestB"}},
		"WARNING: DATA RACE\n--- FAIL: TestC (0s)": {Race: true,
			Failed: []string{"TestC"}},
		"PASS\n": {},
	} {
		var o outcome
		o.read(strings.NewReader(out))
		if !slices.Equal(o.Failed, want.Failed) || o.Race != want.Race {
			t.Errorf("%q: %+v", out, o)
		}
	}
}

func TestStartProcesses(t *testing.T) {
	for dir, want := range map[string]bool{
		"/x/rma/ucx": true, "/x/cmd/farhash": true, "/x/eval/net": true, "/x/bind/c": true,
		"/x/set": false, "/x/rma/local": false, "/x/internal/core": false, "/x/rma/ucxother": false,
	} {
		if startProcesses.MatchString(dir) != want {
			t.Errorf("%s starts processes: want %v", dir, want)
		}
	}
}

// The times of packages and mutants are listed, the highest first.
func TestCosts(t *testing.T) {
	s := &stage{name: "mutants", outcomes: []outcome{{Dir: "/set", WallS: 2, CPUS: 3}},
		output: "    1.0 s     7.5 s CPU  true  set: a word is lost\n"}
	costs := (&report{stages: []*stage{s}}).costs()
	if len(costs) != 2 || costs[0].name != "mutant set: a word is lost" || costs[0].cpuS != 7.5 {
		t.Errorf("%+v", costs)
	}
}
