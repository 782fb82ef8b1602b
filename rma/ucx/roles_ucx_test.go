//go:build ucx && cgo

package ucx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
	"github.com/farhash/farhash/set"
)

// roles are what ranks may play.
var roles = map[string]func(a *actor) error{
	"sum":     sum,
	"compute": compute,
	"visited": visited,
	"lose":    lose,
	"pause":   pause,
	"cutOff":  cutOff,
	"rates":   rates,
	"ships":   ships,

	"shipAll":     shipToAll,
	"shipCompute": shipCompute,
	"shipLose":    shipLose,
}

// sum has every rank add its number, counted from 1, at every rank, and prints a line.
func sum(a *actor) error {
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	for rank := range a.job.Size() {
		if _, err := cells.Add(a.ctx, rank, 0, uint64(a.job.Rank()+1)); err != nil {
			return err
		}
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	total, err := cells.Sum(a.ctx, 0)
	fmt.Printf("rank %d of %d: %d, flat %v\n", a.job.Rank(), a.job.Size(), total,
		core.Flat(a.w) != nil)
	return err
}

// compute has the last rank work without a call of the engine until the others have added in
// its memory.
func compute(a *actor) error {
	last := a.job.Size() - 1
	if a.job.Rank() == last {
		word := &a.w.Words(last)[0]
		for spun := 0; int(atomic.LoadUint64(word)) < 100*last; spun++ {
		}
	} else if q, err := a.job.NewQueue(2); err != nil {
		return err
	} else {
		for range 100 {
			if _, err := remote.Result(a.ctx, q, q.FetchAdd(a.w, last, 0, 1)); err != nil {
				return err
			}
		}
		_ = q.Close()
	}
	fmt.Println("computed")
	return a.job.Barrier(a.ctx)
}

// visited has all ranks put the same words in a set: one of them inserts each.
func visited(a *actor) error {
	const words = 3000
	s, err := set.New(a.ctx, a.job, set.Config{Buckets: 4 * words})
	if err != nil {
		return err
	}
	batch, results := make([]uint64, words), make([]set.Result, words)
	for i := range batch {
		batch[i] = uint64(i+1) * 0x9e3779b97f4a7c15 >> 1
	}
	if err := s.FindOrPutBatch(batch, results); err != nil {
		return err
	}
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	inserted := 0
	for i, r := range results {
		if r == set.Inserted {
			inserted++
		} else if r != set.Found {
			return fmt.Errorf("word %d: %v", i, r)
		}
	}
	if _, err := cells.Add(a.ctx, 0, 0, uint64(inserted)); err != nil {
		return err
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	total, err := cells.Load(a.ctx, 0, 0)
	if err != nil || total != words {
		return fmt.Errorf("%d words were inserted, want %d: %v", total, words, err)
	}
	fmt.Println("the set is right")
	return errors.Join(a.job.Barrier(a.ctx), s.Close())
}

// lose has a rank end while all use each other's memory, and the others continue.
func lose(a *actor) error {
	var victim int
	if _, err := fmt.Sscan(strings.Split(a.argument, ",")[0], &victim); err != nil {
		return err
	}
	words := 1 << 33
	switch reserves := rma.Reserves(a.job); {
	case !reserves && strings.Contains(transports, "verbs"): // all memory of a window is pinned
		words = 1 << 12
	case !reserves:
		return errors.New("windows take all their memory at once")
	}
	reserved, err := a.job.NewWindow(a.ctx, rma.Spec{Name: "reserved", Words: words,
		Reserve: true})
	if err != nil {
		return err
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	q, err := a.job.NewQueue(80)
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		if round == 20 && a.job.Rank() == victim {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				return err
			}
			select {}
		}
		lost, err := a.round(q)
		if err != nil || lost >= 0 && lost != victim {
			return fmt.Errorf("rank %d is lost, and %d should be: %v", lost, victim, err)
		}
		if lost == victim {
			break
		}
	}
	for range 20 { // the other ranks continue
		if lost, err := a.round(q); err != nil || lost != victim {
			return fmt.Errorf("afterwards rank %d is lost, and %d should be: %v", lost, victim, err)
		}
	}
	if failed := a.job.Failed(); !slices.Equal(failed, []int{victim}) {
		return fmt.Errorf("ranks %v failed, and %d should have", failed, victim)
	}
	var gone *rma.RankError
	if err := a.job.Barrier(a.ctx); !errors.As(err, &gone) || gone.Rank != victim {
		return fmt.Errorf("a barrier without rank %d: %v", victim, err)
	}
	if err := a.part(victim); err != nil {
		return err
	}
	if err := a.commit(reserved, words/2, victim); err != nil {
		return err
	}
	fmt.Println("continued without it")
	return q.Close()
}

// pause has rank 2 stop another one, and have it go on after more than the time for which a host
// may be out of reach. A rank that stopped itself after a barrier might stop before it had told
// the others that all have come. All use each other's memory before and after.
func pause(a *actor) error {
	var victim int
	if _, err := fmt.Sscan(strings.Split(a.argument, ",")[0], &victim); err != nil {
		return err
	}
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	if _, err := cells.Add(a.ctx, a.job.Rank(), 0, uint64(os.Getpid())); err != nil {
		return err
	}
	if err := a.job.Barrier(a.ctx); err != nil {
		return err
	}
	pid, err := cells.Load(a.ctx, victim, 0)
	if err := errors.Join(err, a.job.Barrier(a.ctx)); err != nil {
		return err
	}
	if a.job.Rank() == 2 {
		err = errors.Join(syscall.Kill(int(pid), syscall.SIGSTOP), awaitStop(a.ctx, int(pid)))
		time.Sleep(4 * shortSilence) // what the others must survive
		err = errors.Join(err, syscall.Kill(int(pid), syscall.SIGCONT))
	}
	if err := errors.Join(err, a.job.Barrier(a.ctx)); err != nil {
		return err
	}
	q, err := a.job.NewQueue(80)
	if err != nil {
		return err
	}
	if lost, err := a.round(q); err != nil || lost >= 0 {
		return fmt.Errorf("rank %d is lost: %v", lost, err)
	}
	if failed := a.job.Failed(); len(failed) > 0 {
		return fmt.Errorf("ranks %v have failed", failed)
	}
	fmt.Println("went on")
	return errors.Join(q.Close(), a.job.Barrier(a.ctx))
}

// awaitStop waits until a process is stopped.
func awaitStop(ctx context.Context, pid int) error {
	for ctx.Err() == nil {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		if _, state, _ := strings.Cut(string(text), ") "); strings.HasPrefix(state, "T") {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// severWhenStopped has rank 0 lose a rank by mistake: when the process of that is stopped it ends
// the connection, as when the network is down for too long.
func (a *actor) severWhenStopped(rank, pid int) {
	if a.job.Rank() == 0 && awaitStop(a.ctx, pid) == nil {
		a.job.(*member).tree.Sever(rank)
	}
}

// commit has a rank take a word of all ranks that are left, and of the one that is lost where that
// needs no owner, as where all memory was taken at once.
func (a *actor) commit(w rma.Window, off, victim int) error {
	for rank := range a.job.Size() {
		err := w.(rma.Committer).Commit(rank, off, 1)
		var gone *rma.RankError
		switch needed := rma.Reserves(a.job) && w.Words(rank) == nil && rank == victim; {
		case needed && (!errors.As(err, &gone) || gone.Rank != victim):
			return fmt.Errorf("memory of rank %d, which is lost: %v", rank, err)
		case !needed && err != nil:
			return err
		}
	}
	return nil
}

// part has the ranks that are left wait for each other, as they have no barrier without rank 0:
// each writes to all others, and reads its own memory.
func (a *actor) part(victim int) error {
	const arrived = 3000
	cells, err := rma.NewCells(a.job, a.w)
	if err != nil {
		return err
	}
	for rank := range a.job.Size() {
		if rank == victim {
			continue
		}
		if _, err := cells.Add(a.ctx, rank, arrived, 1); err != nil {
			return err
		}
	}
	pace := backoff.Backoff{Job: a.job}
	for {
		word, err := cells.Load(a.ctx, a.job.Rank(), arrived)
		if err != nil || int(word) == a.job.Size()-1 {
			return err
		}
		pace.Pause()
	}
}

// round uses the memory of all ranks in every way, many operations at once, and prints which
// rank is lost, or -1.
func (a *actor) round(q rma.Queue) (lost int, err error) {
	lost = -1
	var handles []rma.Handle
	var targets []int
	buf, err := q.Alloc(8)
	if err != nil {
		return lost, err
	}
	for rank := range a.job.Size() {
		for i := range 4 {
			at := 100*a.job.Rank() + 10*i
			handles = append(handles, q.FetchAdd(a.w, rank, i, 1), q.Put(buf, a.w, rank, at+50),
				q.CompareAndSwap(a.w, rank, at, 0, 1), q.Get(buf, a.w, rank, at+8))
			if a.w.Words(rank) == nil {
				handles = append(handles, q.(rma.Carrier).Ship(buf, buf, a.w, rank))
			}
		}
		for len(targets) < len(handles) {
			targets = append(targets, rank)
		}
	}
	if err := q.Submit(); err != nil {
		return lost, err
	}
	for i, h := range handles {
		if err := q.Wait(a.ctx, h); err != nil {
			return lost, err
		}
		_, err := q.Value(h)
		var gone *rma.RankError
		if errors.As(err, &gone) && gone.Rank == targets[i] {
			lost = gone.Rank
		} else if err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// cutOff has ranks use each other's memory until the other host is lost. The argument ends
// with the beginning of the name of a file that a rank makes when it is at work.
func cutOff(a *actor) error {
	q, err := a.job.NewQueue(80)
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		lost, err := a.round(q)
		if round == 0 && err == nil {
			_, sign, _ := strings.Cut(a.argument, ",")
			err = os.WriteFile(fmt.Sprint(sign, a.job.Rank()), nil, 0o600)
		}
		if err != nil {
			return err
		}
		if lost >= 0 && lost/2 == a.job.Rank()/2 {
			return fmt.Errorf("rank %d of this host is lost", lost)
		}
		if lost >= 0 {
			break
		}
	}
	var gone *rma.RankError
	if err := a.job.Barrier(a.ctx); !errors.As(err, &gone) || gone.Rank/2 == a.job.Rank()/2 {
		return fmt.Errorf("a barrier without the other host: %v", err)
	}
	// The other rank of this host may still be at work: to it this one would be lost as well.
	_, sign, _ := strings.Cut(a.argument, ",")
	if err := os.WriteFile(fmt.Sprint(sign, "-end", a.job.Rank()), nil, 0o600); err != nil {
		return err
	}
	for clock := patience.NewClock(); clock.Elapsed() < hangGuard/6; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(fmt.Sprint(sign, "-end", a.job.Rank()^1)); err == nil {
			break
		}
	}
	fmt.Printf("rank %d was cut off\n", a.job.Rank())
	return q.Close()
}
