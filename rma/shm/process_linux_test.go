package shm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/lab"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
)

// Processes join, make windows, pass barriers and leave.
func TestProcesses(t *testing.T) {
	dir := lab.TempFolder(t)
	ranks := startRanks(t, dir, "processes", 3)
	all(ranks, "join", "join")
	for range 3 {
		all(ranks, "window 100", "window")
		expectNames(t, dir)
		for i, p := range ranks {
			p.tell("add 1")
			p.expect(fmt.Sprint(i))
		}
		all(ranks, "barrier", "barrier")
		all(ranks, "failed", "[]")
	}
	ranks[2].tell("close")
	ranks[2].expect("close")
	all(ranks[:2], "barrier", "error rma: rank 2 has left the job")
	all(ranks[:2], "failed", "[]")
	for _, p := range ranks {
		p.end()
	}
	expectNames(t, dir)
}

// The death of a rank stops no rank that uses its memory, and a rank that waits for it
// gets an error.
func TestDeath(t *testing.T) {
	for victim := range 3 {
		dir := lab.TempFolder(t)
		ranks := startRanks(t, dir, "death", 3)
		all(ranks, "join", "join")
		all(ranks, "window 100000", "window")
		dying := ranks[victim]
		living := slices.Delete(slices.Clone(ranks), victim, victim+1)
		dying.tell("work 3") // of three deaths it sees none
		dying.expect("working")
		all(living, "work 1", "working")
		dying.kill()
		for _, p := range living {
			p.expect("work")
		}
		all(living, "failed", fmt.Sprintf("[%d]", victim))
		living[0].tell(fmt.Sprint("add ", victim))
		before := living[0].answer()
		living[1].tell(fmt.Sprint("add ", victim))
		if after := living[1].answer(); len(after) < 4 || after == before {
			t.Errorf("counts on the dead rank's segment: %q, then %q", before, after)
		}
		gone := fmt.Sprintf("rank %d has died", victim)
		all(living, "barrier", gone)
		all(living, "window 10", gone)
		for _, p := range living {
			p.end()
		}
		expectNames(t, dir)
	}
}

// The others wait in a barrier or for a window when a rank is killed.
func TestDeathWhileWaiting(t *testing.T) {
	for _, line := range []string{"barrier", "window 10"} {
		dir := lab.TempFolder(t)
		ranks := startRanks(t, dir, "waiting", 3)
		all(ranks, "join", "join")
		for _, p := range ranks[:2] {
			p.tell(line)
		}
		ranks[2].kill()
		for _, p := range ranks[:2] {
			p.expect("rank 2 has died")
			p.end()
		}
		expectNames(t, dir)
	}
}

// A rank is killed while the job starts: those that have joined get an error, do not wait
// for the timeout, and leave nothing unless it was rank 0.
func TestDeathWhileJoining(t *testing.T) {
	for victim := range 2 {
		dir := lab.TempFolder(t)
		ranks := startRanks(t, dir, "meeting", 3)[:2] // rank 2 never joins
		for _, p := range ranks {
			p.tell("join")
		}
		watch, _ := awaitFile(t, filePath(dir, "meeting", "ctl"))
		joined := func(rank int) bool {
			state := &watch.segments()[rank*direct.LineWords]
			return atomic.LoadUint64(state) == uint64(direct.Joined)
		}
		for !joined(0) || !joined(1) {
			time.Sleep(time.Millisecond)
		}
		ranks[victim].kill()
		p := ranks[1-victim]
		p.expect(fmt.Sprintf("rank %d has died", victim))
		p.end()
		if err := errors.Join(watch.Close(), RemoveJob(dir, "meeting")); err != nil {
			t.Error(err)
		}
		expectNames(t, dir)
	}
}

// Killed at any moment, a job leaves nothing that the start of another one or
// RemoveJob does not remove, and nothing at all after its windows are made.
func TestKillAtAnyMoment(t *testing.T) {
	const rounds, size = 60, 2
	dir := lab.TempFolder(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	leftovers := 0
	for round := range rounds {
		job := fmt.Sprint("killed", round%7)
		ranks := startRanks(t, dir, job, size)
		for _, p := range ranks {
			p.tell("churn")
		}
		for _, p := range ranks {
			p.expect("churning")
		}
		if round%3 > 0 {
			for _, p := range ranks {
				p.expect("joined")
			}
		}
		spin(rng.IntN(1 << 20)) // into some moment of what they do
		rng.Shuffle(size, func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		for _, p := range ranks {
			p.kill()
		}
		left := names(t, dir)
		leftovers += len(left)
		if len(left) > 1 {
			t.Fatalf("seed %d, round %d: %q was left", seed, round, left)
		}
		if round%2 == 0 {
			if err := RemoveJob(dir, "another"); err != nil {
				t.Error(err)
			}
			expectNames(t, dir, left...)
			if err := RemoveJob(dir, job); err != nil {
				t.Error(err)
			}
		} else {
			next := Config{Size: 2, Job: fmt.Sprint("killed", (round+round/2)%7), Dir: dir}
			mustTogether(t, next, func(*member) error { return nil })
		}
		if expectNames(t, dir); t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	t.Logf("%d of %d jobs left something", leftovers, rounds)
}

var spun int

// spin does nothing for a while.
func spin(rounds int) {
	for i := range rounds {
		spun += i
	}
}

// Killed after its window is made, a job leaves nothing.
func TestKillAfterWindow(t *testing.T) {
	dir := lab.TempFolder(t)
	ranks := startRanks(t, dir, "after", 3)
	all(ranks, "join", "join")
	all(ranks, "window 1000", "window")
	for _, p := range ranks {
		p.kill()
	}
	expectNames(t, dir)
}

// Rank 0 is killed between naming a window and taking the name back. The others get an
// error, and the next start removes it.
func TestKillWhileWindowIsNamed(t *testing.T) {
	dir := lab.TempFolder(t)
	first := startRank(t, dir, "named", 0, 2)
	first.tell("join")
	job, err := Join(t.Context(), Config{Rank: 1, Size: 2, Job: "named", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	first.expect("join")
	first.tell("window 1000")
	j := job.(*member)
	spec := rma.Spec{Name: "test", Words: 1000}
	if f := inSteps(t, j, spec, first.kill); f != nil {
		t.Error("a window was made with a dead rank")
	}
	var gone *rma.RankError
	if err := j.Barrier(t.Context()); !errors.As(err, &gone) || gone.Rank != 0 || gone.Left {
		t.Errorf("Barrier: %v", err)
	}
	expectNames(t, dir, filepath.Base(j.windowPath(0)))
	mustTogether(t, Config{Size: 2, Job: "next", Dir: dir}, func(*member) error { return nil })
	expectNames(t, dir)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
