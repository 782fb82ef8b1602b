//go:build unix

package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// memberships parses what the role detect has printed.
func memberships(t *testing.T, text string) []Membership {
	t.Helper()
	var all []Membership
	for line := range strings.Lines(text) {
		var m Membership
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("rank printed %q: %v", line, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Membership) int { return a.Rank - b.Rank })
	return all
}

func TestRunTellsTheRanks(t *testing.T) {
	// This process may be a rank itself; its own ranks are in another job.
	t.Setenv(envRank, "5")
	t.Setenv(envJob, "outer")
	var keys []string
	for range 2 {
		out, cleaned := newTranscript(), []string(nil)
		o := options(3, "detect")
		o.Stdout = out
		o.Cleanup = func(job string) { cleaned = append(cleaned, job) }
		code, err := Run(t.Context(), o)
		if code != 0 || err != nil {
			t.Fatalf("Run = %d, %v; output %q", code, err, out)
		}
		got := memberships(t, out.String())
		if len(got) != 3 || len(cleaned) != 1 {
			t.Fatalf("%d ranks, clean-ups %q, want 3 and one", len(got), cleaned)
		}
		for rank, m := range got {
			want := Membership{rank, 3, 3, cleaned[0], Farhash}
			if m != want {
				t.Errorf("rank %d found %+v, want %+v", rank, m, want)
			}
		}
		keys = append(keys, cleaned[0])
	}
	if keys[0] == keys[1] || keys[0] == "outer" {
		t.Errorf("keys of two jobs: %q", keys)
	}
}

func TestRunFailure(t *testing.T) {
	tests := []struct {
		name, role string
		code       int
		report     string
	}{
		{"exit code", "fail:1:7", 7, "exited with code 7"},
		{"signal", "fail:1:signal 9", 137, "was killed by signal 9 (killed)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr := newTranscript(), newTranscript()
			o := options(3, test.role)
			o.Stdout, o.Stderr, o.Grace = stdout, stderr, -1
			in, feed := io.Pipe()
			o.Stdin = in
			t.Cleanup(func() { feed.Close() })
			code, err := Run(t.Context(), o)
			if code != test.code || err != nil {
				t.Errorf("Run = %d, %v, want %d", code, err, test.code)
			}
			first, _, _ := strings.Cut(stderr.String(), "\n")
			var pid int
			if _, err := fmt.Sscanf(first, "farhash run: rank 1 (pid %d)", &pid); err != nil {
				t.Fatalf("report %q: %v", first, err)
			}
			want := fmt.Sprintf("farhash run: rank 1 (pid %d) %s; stopping the other ranks in 0s",
				pid, test.report)
			if first != want {
				t.Errorf("report %q, want %q", first, want)
			}
		})
	}
}

// A rank is killed and another one ends: whichever the launcher notices first, it reports both,
// and the exit code is for the loss. With Survive it is the code of the one that has ended.
func TestRunLosesRank(t *testing.T) {
	for _, test := range []struct {
		survive    bool
		ends, code int
	}{{false, ExitRankLost, ExitRankLost}, {true, ExitRankLost, ExitRankLost}, {true, 7, 7},
		{true, 0, 0}} {
		for _, first := range []int{0, 1} {
			report, code, err := loseRank(test.survive, test.ends, first, syscall.SIGKILL)
			if code != test.code || err != nil {
				t.Errorf("%+v, rank %d ended first: Run = %d, %v", test, first, code, err)
			}
			if !strings.Contains(report, "was killed by signal 9") {
				t.Errorf("%+v, rank %d ended first: report %q", test, first, report)
			}
		}
	}
}

// A rank fails and another one ends because of that, perhaps earlier: the rank that failed is
// reported, and the exit code is its own.
func TestRunNamesCause(t *testing.T) {
	for _, first := range []int{0, 1} {
		report, code, err := loseRank(false, ExitRankLost, first, syscall.SIGUSR1)
		if code != 7 || err != nil || !strings.Contains(report, "exited with code 7") {
			t.Errorf("rank %d ended first: Run = %d, %v; report %q", first, code, err, report)
		}
	}
}

// loseRank sends a signal to rank 1 and has rank 0 end with a code, one of them first.
func loseRank(survive bool, ends, first int, s syscall.Signal) (report string, code int,
	err error) {
	stdout, stderr := newTranscript(), newTranscript()
	o := options(2, fmt.Sprintf("notice:%d", ends))
	o.Stdout, o.Stderr, o.Survive = stdout, stderr, survive
	in, feed := io.Pipe()
	o.Stdin = in
	acts := []func(){func() { feed.Close() }, func() {
		var pid int
		fmt.Sscanf(stdout.String(), "process %d", &pid)
		syscall.Kill(pid, s)
	}}
	go func() {
		stdout.await("process", 1)
		acts[first]()
		if ends == 0 && first == 0 {
			stdout.await("over", 1) // nothing is reported
		} else {
			stderr.await(fmt.Sprintf("rank %d ", first), 1)
		}
		acts[1-first]()
	}()
	code, err = Run(context.Background(), o)
	return stderr.String(), code, err
}

// With Survive ranks that are killed end nobody else, but the last one does count.
func TestRunSurvives(t *testing.T) {
	for _, test := range []struct {
		ranks, code int
		report      string
	}{{2, 0, "killed by signal 9 (killed); the other ranks continue\n"}, {1, 137, "(killed)\n"}} {
		stdout, stderr := newTranscript(), newTranscript()
		o := options(test.ranks, fmt.Sprintf("fail:%d:signal 9", test.ranks-1))
		o.Stdout, o.Stderr, o.Grace, o.Survive = stdout, stderr, -1, true
		in, feed := io.Pipe()
		o.Stdin = in
		go func() {
			if test.ranks > 1 {
				stderr.await("continue", 1)
			}
			feed.Close()
		}()
		code, err := Run(t.Context(), o)
		if code != test.code || err != nil || !strings.HasSuffix(stderr.String(), test.report) {
			t.Errorf("%d ranks: Run = %d, %v, want %d; report %q", test.ranks, code, err, test.code,
				stderr)
		}
	}
}

// A rank that finishes by itself within the grace is not stopped.
func TestRunLetsOthersFinish(t *testing.T) {
	stdout, stderr := newTranscript(), newTranscript()
	o := options(2, "fail:1:7")
	o.Stdout, o.Stderr = stdout, stderr
	in, feed := io.Pipe()
	o.Stdin = in
	go func() {
		stderr.await("rank 1 ", 1)
		feed.Close()
	}()
	code, err := Run(t.Context(), o)
	if code != 7 || err != nil {
		t.Errorf("Run = %d, %v, want 7", code, err)
	}
	if got := stdout.String(); got != "finished\n" {
		t.Errorf("output %q, want the output of rank 0", got)
	}
}

// Without a Grace the others have DefaultGrace.
func TestRunDefaultGrace(t *testing.T) {
	stderr := newTranscript()
	o := options(2, "fail:1:7")
	o.Stderr, o.Grace = stderr, 0
	in, feed := io.Pipe()
	o.Stdin = in
	go func() {
		stderr.await("rank 1 ", 1)
		feed.Close()
	}()
	code, err := Run(t.Context(), o)
	want := fmt.Sprintf("stopping the other ranks in %v\n", DefaultGrace)
	if code != 7 || err != nil || !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("Run = %d, %v; it said %q, want %q", code, err, stderr, want)
	}
}

// Ranks are reported by their numbers in the job of all hosts.
func TestRemaining(t *testing.T) {
	j := newJobRun(Options{Ranks: 3, First: 4, Size: 9})
	j.ranks = []*rankRun{{alive: true}, {}, {alive: true}}
	if got := j.remaining(); got != "ranks 4, 6" {
		t.Errorf("got %q", got)
	}
	j.ranks[0].alive = false
	if got := j.remaining(); got != "rank 6" {
		t.Errorf("got %q", got)
	}
}

func TestRunKillsTheStubborn(t *testing.T) {
	stdout, stderr := newTranscript(), newTranscript()
	o := options(3, "stubborn")
	o.Stdout, o.Stderr, o.Grace = stdout, stderr, 20*time.Millisecond
	in, feed := io.Pipe()
	o.Stdin = in
	go func() {
		stdout.await("ready", 2)
		feed.Close()
	}()
	code, err := Run(t.Context(), o)
	if code != 4 || err != nil {
		t.Errorf("Run = %d, %v, want 4", code, err)
	}
	want := "farhash run: stopping ranks 1, 2, still running after 20ms\n" +
		"farhash run: killing ranks 1, 2, still running 20ms after SIGTERM\n"
	if got := stderr.String(); !strings.HasSuffix(got, want) {
		t.Errorf("reports %q, want %q at the end", got, want)
	}
}

// A wrapper dies first; what it started goes with it.
func TestRunStopsWhatWrappersStarted(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	o := Options{
		Ranks: 2, Program: "sh", Grace: -1, Env: []string{roleVariable + "=hold:" + lock},
		Args: []string{"-c", `if [ $FARHASH_RANK = 0 ]; then read x; exit 6; fi; "$0"; :`,
			os.Args[0]},
	}
	out := newTranscript()
	o.Stdout = out
	in, feed := io.Pipe()
	o.Stdin = in
	go func() {
		out.await("held 1", 1)
		feed.Close()
	}()
	code, err := Run(t.Context(), o)
	if code != 6 || err != nil {
		t.Errorf("Run = %d, %v, want 6", code, err)
	}
	lockFile(lock + ".1").Close() // waits for ever if the program lives on
}

func TestRunContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdout, stderr := newTranscript(), newTranscript()
	o := options(2, "count")
	o.Stdout, o.Stderr = stdout, stderr
	go func() {
		stdout.await("ready", 2)
		cancel()
	}()
	code, err := Run(ctx, o)
	if code != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %d, %v, want 0 and %v", code, err, context.Canceled)
	}
	if got := strings.Count(stdout.String(), "count 0\n"); got != 2 {
		t.Errorf("output %q, want the ranks to end upon SIGTERM", stdout)
	}
	if stderr.String() != "" {
		t.Errorf("reports %q", stderr)
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a context that is done: %v", err)
	}
}

func TestRunStdin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, in := range []io.Reader{strings.NewReader("text"), opened} {
		out := newTranscript()
		o := options(2, "echo")
		o.Stdout, o.Stdin = out, in
		if code, err := Run(t.Context(), o); code != 0 || err != nil {
			t.Fatalf("Run = %d, %v", code, err)
		}
		want := []string{`0 read "text" <nil>`, `1 read "" <nil>`}
		if got := out.sortedLines(); !slices.Equal(got, want) {
			t.Errorf("input %T: output %q, want %q", in, got, want)
		}
	}
	out := newTranscript() // rank 0 has the file itself
	o := options(2, "regular")
	o.Stdout, o.Stdin = out, opened
	code, err := Run(t.Context(), o)
	want := []string{"0 true false false", "1 false false false"}
	if got := out.sortedLines(); code != 0 || err != nil || !slices.Equal(got, want) {
		t.Errorf("Run = %d, %v; output %q, want %q", code, err, got, want)
	}
}

func TestRunProgramErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", "."+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "garbage": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("\x00\x01"), mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		program string
		code    int
		want    string
	}{
		{"", exitNotFound, "no program given"},
		{"no-such-program", exitNotFound, "not found in PATH"},
		{"./no-such-program", exitNotFound, "check the path"},
		{"./plain", exitNotExecutable, "chmod +x"},
		{"garbage", exitNotFound, "write ./garbage"},
		{"./garbage", exitNotExecutable, "start rank 0 of 2"},
		{dir, exitNotExecutable, "is a directory"},
	}
	for _, test := range tests {
		code, err := Run(t.Context(), Options{Ranks: 2, Program: test.program})
		if code != test.code || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("program %q: Run = %d, %v, want %d, %s",
				test.program, code, err, test.code, test.want)
		}
	}
	if _, err := Run(t.Context(), Options{Program: "sh"}); err == nil {
		t.Error("no error for no ranks")
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	j := newJobRun(options(2, "count"))
	if err := j.start(0, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	pid := j.ranks[0].cmd.Process.Pid
	j.abort()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("rank 0 is still there: %v", err)
	}
}

func TestRankEnv(t *testing.T) {
	own := []string{"A=1", envRank + "=9", envJob + "=x", envLocalSize + "=3"}
	got := rankEnv(own, []string{"A=2", envSize + "=7"}, 1, 4, 3, "key")
	want := []string{
		"A=1", "A=2", envRank + "=1", envSize + "=4", envLocalSize + "=3", envJob + "=key",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rankEnv = %q, want %q", got, want)
	}
}
