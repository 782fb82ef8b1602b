//go:build ucx && cgo

package ucx

// The tests start themselves as ranks in processes of their own.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// roleVariable makes the test binary a rank that plays a role: its name, its argument, rank,
// ranks and rendezvous.
const roleVariable = "RANK_TEST_ROLE"

// transportsVariable is what the tests run over, as in UCX_TLS: "rc_verbs,ud_verbs,self".
const transportsVariable = "FARHASH_TEST_TRANSPORTS"

var transports = cmp.Or(os.Getenv(transportsVariable), "tcp,self")

// jobLimit ends a rank that would never end, by the time of patience.
const jobLimit = 2 * hangGuard

func TestMain(m *testing.M) {
	part := strings.Fields(os.Getenv(roleVariable))
	if len(part) == 0 {
		if os.Getenv("GORACE") == "" {
			// The race detector lets each process sleep for a second at its end.
			os.Setenv("GORACE", "atexit_sleep_ms=0")
		}
		os.Exit(m.Run())
	}
	patience.AfterFunc(jobLimit, func() { panic("this rank does not end") })
	rank, _ := strconv.Atoi(part[2])
	size, _ := strconv.Atoi(part[3])
	err := inJob(part[1], rank, size, part[4], roles[part[0]])
	if err != nil {
		fmt.Println("role", part[0], "of rank", rank, "failed:", err)
		os.Exit(1)
	}
}

// actor is what a role has to work with.
type actor struct {
	ctx      context.Context
	job      rma.Job
	w        rma.Window
	argument string
}

// shortSilence is for how long a host may be out of reach in jobs that are called silent.
const shortSilence = 300 * time.Millisecond

// inJob joins, lets a function work and leaves. "pairs" in the argument has the ranks believe
// that they are on two hosts, with "hosts" they are, and otherwise windows are hidden.
func inJob(argument string, rank, size int, address string, role func(a *actor) error) error {
	ctx, cancel := patience.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	pairs, hosts := strings.Contains(argument, "pairs"), strings.Contains(argument, "hosts")
	p := overrides{transports: transports, elapsed: patience.NewClock().Elapsed}
	var silence time.Duration
	if strings.Contains(argument, "silent") {
		silence = shortSilence
	}
	timeout := never
	if strings.Contains(argument, "hurried") {
		timeout = patience.Stretch(time.Second)
	}
	if strings.Contains(argument, "patient") {
		silence = 20 * time.Second
	}
	if pairs {
		p.host = fmt.Sprint(rank % 2)
	}
	if strings.Contains(argument, "incoherent") {
		p.atomics = incoherent
	}
	if strings.Contains(argument, "any") { // what UCX chooses
		p.transports = ""
	}
	job, err := joinAs(ctx, Config{Rank: rank, Size: size, Rendezvous: address,
		Hidden: !pairs && !hosts, Token: testToken, Timeout: timeout, Silence: silence}, p)
	if err != nil {
		return err
	}
	w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 3001})
	if server, serves := w.(rma.Server); serves && err == nil {
		server.Serve(echo)
		err = job.Barrier(ctx)
	}
	if err == nil {
		err = role(&actor{ctx, job, w, argument})
	}
	if err != nil { // Close may wait for others who wait for this rank
		fmt.Println("rank", rank, "has failed:", err)
	}
	if j, ok := job.(*member); ok && err != nil {
		return errors.Join(err, j.Abandon())
	}
	return errors.Join(err, job.Close())
}

// process is a rank in a process of its own.
type process struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	err   error         // of its end
	ended chan struct{} // closed then
}

// wait returns when the rank has ended.
func (p *process) wait() error {
	<-p.ended
	return p.err
}

// start starts the ranks of a job on this host.
func start(t testing.TB, ranks int, role, argument string) []*process {
	t.Helper()
	return startWith(t, ranks, role, argument, twohosts.FreeAddress(t),
		func(int) *exec.Cmd { return exec.Command(os.Args[0]) })
}

// startWith starts the ranks of a job by commands.
func startWith(t testing.TB, ranks int, role, argument, address string,
	command func(rank int) *exec.Cmd) []*process {
	t.Helper()
	var all []*process
	limits := patience.Environ() // ranks agree on how long they wait for each other
	for rank := range ranks {
		all = append(all, startRank(t, rank, ranks, role, argument, address, limits,
			command(rank)))
	}
	return all
}

// startRank starts one of them.
func startRank(t testing.TB, rank, ranks int, role, argument, address, limits string,
	cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), limits, fmt.Sprintf("%s=%s %s %d %d %s", roleVariable, role,
		argument, rank, ranks, address))
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// expectEnd checks that a rank ends well and says something.
func (p *process) expectEnd(t *testing.T, says string) {
	t.Helper()
	if err := p.wait(); err != nil || !strings.Contains(p.out.String(), says) {
		t.Errorf("a rank ended with %v and not with %q; it said:\n%s", err, says, &p.out)
	}
}

// Ranks in processes of their own.
func TestProcesses(t *testing.T) {
	sizes := []int{1, 2, 3}
	if testing.Short() {
		sizes = []int{2}
	}
	for _, ranks := range sizes {
		for _, c := range []struct{ argument, says string }{
			{"hidden", "flat false"}, {"pairs", "flat "}, {"pairs-incoherent", "flat "},
			{"any-hidden", "flat false"}, {"any-pairs", "flat "},
		} {
			for rank, p := range start(t, ranks, "sum", c.argument) {
				p.expectEnd(t, fmt.Sprintf("rank %d of %d: %d, %s", rank, ranks,
					ranks*ranks*(ranks+1)/2, c.says))
			}
		}
	}
}

// A rank that computes serves the others all the same.
func TestTargetComputes(t *testing.T) {
	for _, p := range start(t, 3, "compute", "pairs") {
		p.expectEnd(t, "computed")
	}
}

// A table on two hosts, with and without processor atomics within them.
func TestSet(t *testing.T) {
	for _, argument := range []string{"hidden", "pairs", "pairs-incoherent"} {
		for _, p := range start(t, 3, "visited", argument) {
			p.expectEnd(t, "the set is right")
		}
	}
}

// A rank that is killed is an error for who touches its memory and for nobody else.
func TestLostRank(t *testing.T) {
	for _, c := range []struct {
		victim, ranks int
		how           string
	}{{2, 3, "hidden"}, {1, 3, "pairs"}, {0, 3, "hidden"}, {3, 4, "pairs-incoherent"},
		{1, 3, "any-hidden"}} {
		t.Run(fmt.Sprintf("rank %d of %d %s", c.victim, c.ranks, c.how), func(t *testing.T) {
			t.Parallel()
			all := start(t, c.ranks, "lose", fmt.Sprint(c.victim, ",", c.how))
			for rank, p := range all {
				if rank != c.victim {
					p.expectEnd(t, "continued without it")
				}
			}
			v := all[c.victim]
			_ = v.wait()
			s := v.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !s.Signaled() || s.Signal() != syscall.SIGKILL {
				t.Errorf("the victim was not killed: %v; it said:\n%s", v.cmd.ProcessState, &v.out)
			}
		})
	}
}

// A rank that is stopped for longer than a host may be out of reach is not lost, be it rank 0 or
// another one. When it goes on, so does the job.
func TestStoppedRank(t *testing.T) {
	for victim := range 2 {
		t.Run(fmt.Sprint("rank ", victim), func(t *testing.T) {
			t.Parallel()
			all := start(t, 3, "pause", fmt.Sprint(victim, ",hidden-silent"))
			for _, p := range all {
				p.expectEnd(t, "went on")
			}
		})
	}
}
