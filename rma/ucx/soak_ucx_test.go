//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/internal/testkit/netns"
	"github.com/farhash/farhash/internal/testkit/stream"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/rma"
)

// The soak: jobs of four ranks on two hosts work on tables of every kind, and some of the ranks
// are killed at random moments. The others get an rma.RankError and no other error, get
// right answers, continue with what is left, and end.

const (
	soakRanks = 4
	soakShort = 5   // jobs without the flag -soak
	soakAfter = 100 // calls after the loss
)

func init() { roles["soak"] = soaked }

// soakPlan is what a job of the soak does. It follows from the seed.
type soakPlan struct {
	seed    uint64
	access  rma.Access
	calls   int // of each rank, before those after the loss
	victims []soakVictim
}

// soakVictim is killed so long after it has begun a call.
type soakVictim struct {
	rank, call int
	delay      time.Duration
}

func drawSoak(seed uint64) soakPlan {
	rng := rand.New(rand.NewPCG(seed, 0x50a4))
	p := soakPlan{seed: seed, access: accesses[rng.IntN(len(accesses))], calls: 50 + rng.IntN(400)}
	for _, rank := range rng.Perm(soakRanks)[:[...]int{0, 1, 1, 1, 1, 1, 2, 2}[rng.IntN(8)]] {
		p.victims = append(p.victims, soakVictim{rank, rng.IntN(p.calls),
			time.Duration(rng.IntN(2000)) * time.Microsecond})
	}
	return p
}

// death is the end of a rank, if the plan has one for it.
func (p *soakPlan) death(rank int) (soakVictim, bool) {
	i := slices.IndexFunc(p.victims, func(v soakVictim) bool { return v.rank == rank })
	if i < 0 {
		return soakVictim{}, false
	}
	return p.victims[i], true
}

// soaked is the function of a rank. Files beside sign say how far each rank is.
func soaked(a *actor) error {
	debug.SetTraceback("all") // should it hang
	var seed uint64
	_, list, _ := strings.Cut(a.argument, ",")
	text, sign, _ := strings.Cut(list, ",")
	if _, err := fmt.Sscan(text, &seed); err != nil {
		return err
	}
	p := drawSoak(seed)
	s, err := stream.Open(a.ctx, a.job, stream.Options{Seed: seed, Access: p.access})
	if err == nil {
		err = a.job.Barrier(a.ctx)
	}
	if err != nil {
		return err
	}
	victim, dies := p.death(a.job.Rank())
	for call := 0; call < p.calls || dies; call++ {
		if dies && call == victim.call {
			time.AfterFunc(victim.delay, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		}
		if err := s.Step(); err != nil {
			return fmt.Errorf("call %d: %w", call, err)
		}
	}
	if len(p.victims) == 0 {
		err = errors.Join(s.Finish(a.ctx), a.job.Barrier(a.ctx))
	} else {
		err = a.mourn(&p, s, sign)
	}
	fmt.Println("right", s.Calls(), s.Inserted())
	return errors.Join(err, s.Close())
}

// mourn is what a rank does when others are dead.
func (a *actor) mourn(p *soakPlan, s *stream.Stream, sign string) error {
	if err := awaitSign(a.ctx, sign+"dead"); err != nil {
		return err
	}
	for call := range soakAfter {
		if err := s.Step(); err != nil {
			return fmt.Errorf("call %d after the loss: %w", call, err)
		}
	}
	for _, rank := range append(s.Lost(), a.job.Failed()...) {
		if _, dead := p.death(rank); !dead {
			return fmt.Errorf("rank %d is alive and was taken for lost", rank)
		}
	}
	if err := os.WriteFile(fmt.Sprint(sign, "worked", a.job.Rank()), nil, 0o600); err != nil {
		return err
	}
	if err := awaitSign(a.ctx, sign+"rest"); err != nil {
		return err
	}
	if err := s.Check(a.ctx); err != nil {
		return err
	}
	// Who leaves takes memory away that the others still walk.
	if err := os.WriteFile(fmt.Sprint(sign, "checked", a.job.Rank()), nil, 0o600); err != nil {
		return err
	}
	return awaitSign(a.ctx, sign+"end")
}

// awaitSign waits for a file.
func awaitSign(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
}

// soaker runs jobs.
type soaker struct {
	*testing.T
	how     string
	address string
	command func(rank int) *exec.Cmd
	jobs    int
	killed  int
	calls   int
}

// run runs the job of a seed, and fails the test where something is wrong.
func (s *soaker) run(seed uint64) {
	plan, folder := drawSoak(seed), s.TempDir()
	sign := filepath.Join(folder, "sign-")
	address := s.address
	if address == "" {
		address = twohosts.FreeAddress(s)
	}
	ranks := startWith(s, soakRanks, "soak", fmt.Sprintf("%s,%d,%s", s.how, seed, sign), address,
		s.command)
	for _, v := range plan.victims {
		_ = ranks[v.rank].wait()
	}
	s.tell(sign + "dead")
	s.await(ranks, &plan, sign+"worked")
	s.tell(sign + "rest")
	s.await(ranks, &plan, sign+"checked")
	s.tell(sign + "end")
	inserted := map[string]int{}
	for rank, r := range ranks {
		err := r.wait()
		said := r.out.String()
		if _, dead := plan.death(rank); dead {
			status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGKILL {
				s.Errorf("rank %d was to be killed, and ended with %v:\n%s", rank, err, said)
			}
			continue
		}
		_, list, right := strings.Cut(said, "right ")
		count, list, _ := strings.Cut(list, " [")
		calls := 0
		if _, scan := fmt.Sscan(count, &calls); err != nil || !right || scan != nil {
			s.Errorf("rank %d ended with %v:\n%s", rank, err, said)
		}
		s.calls += calls
		list, _, _ = strings.Cut(list, "]")
		for _, item := range strings.Fields(list) {
			if other, twice := inserted[item]; twice {
				s.Errorf("ranks %d and %d have both inserted item %s", other, rank, item)
			}
			inserted[item] = rank
		}
	}
	s.jobs++
	s.killed += len(plan.victims)
	if s.Failed() {
		s.Fatalf("%v\nagain: go test -tags ucx -run 'TestSoak$' ./rma/ucx -seed %d", plan, seed)
	}
}

// tell makes a file.
func (s *soaker) tell(path string) {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		s.Fatal(err)
	}
}

// await waits until all ranks that live have made a file each, or one of them has ended.
func (s *soaker) await(ranks []*process, plan *soakPlan, sign string) {
	for rank, r := range ranks {
		if _, dead := plan.death(rank); dead {
			continue
		}
		path := fmt.Sprint(sign, rank)
		for ended := false; !ended; {
			if _, err := os.Stat(path); err == nil {
				break
			}
			select {
			case <-r.ended:
				ended = true
			case <-time.After(time.Millisecond):
			}
		}
	}
}

func (s *soaker) String() string {
	return fmt.Sprintf("%d jobs of %d ranks, %d ranks killed, %d calls answered", s.jobs, soakRanks,
		s.killed, s.calls)
}

// A few jobs; with -soak as many as there is time for, with seeds that nobody has had.
func TestSoak(t *testing.T) {
	s := &soaker{T: t, how: "pairs-patient",
		command: func(int) *exec.Cmd { return exec.Command(os.Args[0]) }}
	if hosts, err := netns.New(); err != nil {
		fmt.Println("rma/ucx: the hosts are pretended, on loopback: ", err)
	} else {
		t.Cleanup(hosts.Close)
		s.how, s.address = "hosts-patient", hosts.Address(0)+":29500"
		s.command = func(rank int) *exec.Cmd { return hosts.Command(rank/2, os.Args[0]) }
	}
	long, begin := lab.SoakFor(), time.Now()
	if seed := lab.ReplaySeed(); seed != 0 {
		t.Log(drawSoak(seed))
		s.run(seed)
	} else if long == 0 {
		for seed := range uint64(soakShort) {
			s.run(seed + 1)
		}
	} else {
		s.goOn(begin, long)
	}
	t.Log(s)
}

// goOn runs jobs for so long, or until it is interrupted.
func (s *soaker) goOn(begin time.Time, long time.Duration) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	printed, seed := begin, uint64(begin.UnixNano())
	for ; time.Since(begin) < long && ctx.Err() == nil; seed++ {
		s.run(seed)
		if time.Since(printed) > time.Minute {
			printed = time.Now()
			fmt.Printf("rma/ucx, %s: after %v: %v, seed %d\n", s.how,
				time.Since(begin).Round(time.Second), s, seed)
		}
	}
	fmt.Printf("rma/ucx, %s: %v\n", s.how, s)
}
