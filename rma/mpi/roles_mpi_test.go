//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/remote"
	"github.com/farhash/farhash/rma/mpi/internal/guest"
)

// roles are what ranks may play.
var roles = map[string]func(string) error{
	"puppet":  puppet,
	"sum":     sum,
	"program": program,
	"passive": passive,
	"compute": compute,
	"joined":  joined,
	"late":    late,
	"roll":    roll,
	"fail":    fail,
	"die":     die,
	"rates":   rates,
	"views":   views,
	"tables":  tables,
	"comms":   comms,

	"shipAll":     shipAll,
	"shipCompute": shipCompute,
	"shipCancel":  shipCancel,
	"shipFull":    shipFull,
	"shipDie":     shipDie,
	"serves":      serves,
	"servesIn":    servesIn,
}

// inJob joins as an argument says, lets a function work and leaves.
func inJob(argument string, fn func(ctx context.Context, job rma.Job, w rma.Window) error) error {
	ctx, cancel := patience.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	var p overrides
	argument, little := strings.CutSuffix(argument, " with little memory")
	if little {
		p.store = smallStore
	}
	argument, p.carried = strings.CutSuffix(argument, " by messages")
	switch argument {
	case "hosts": // each rank on a host of its own
		p.host = fmt.Sprint(os.Getpid())
	case "pairs": // two hosts
		m, _, err := launch.Detect()
		if err != nil {
			return err
		}
		p.host = fmt.Sprint(m.Rank % 2)
	}
	cfg := Config{Hidden: argument == "hidden" || argument == "passive",
		Passive: argument == "passive"}
	job, err := joinAs(ctx, cfg, p)
	if err != nil {
		return err
	}
	w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 3001})
	if err == nil {
		err = fn(ctx, job, w)
	}
	return errors.Join(err, job.Close())
}

// sum has every rank add its number, counted from 1, at every rank, and prints a line.
func sum(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		cells, err := rma.NewCells(job, w)
		if err != nil {
			return err
		}
		for rank := range job.Size() {
			if _, err := cells.Add(ctx, rank, 0, uint64(job.Rank()+1)); err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		total, err := cells.Sum(ctx, 0)
		flat := core.Flat(w) != nil
		_, _ = os.Stdout.WriteString(fmt.Sprintf("rank %d of %d: %d, flat %v\n", job.Rank(),
			job.Size(), total, flat))
		return err
	})
}

// program initialises MPI itself at a level, has two jobs one after the other, and
// finalises it.
func program(argument string) error {
	if err := guest.Init(strings.Index("0123", argument)); err != nil {
		return err
	}
	for range 2 {
		if err := sum("hidden"); err != nil {
			return err
		}
		if err := sum(""); err != nil {
			return err
		}
	}
	Exclusive(func() {})
	return guest.Finalize()
}

// late is a job whose last rank initialises MPI and never joins.
func late(string) error {
	if _, err := Start(context.Background(), Config{Timeout: never}); err != nil {
		return err
	}
	if worldRank() > 0 {
		select {} // the launcher ends it, when the other has failed
	}
	_, err := Join(context.Background(), Config{Timeout: time.Millisecond})
	return err
}

// roll has ranks call the roll until each has heard of all others.
func roll(string) error {
	if err := guest.Init(2); err != nil {
		return err
	}
	stop, err := Start(context.Background(), Config{Timeout: never})
	if err != nil {
		return err
	}
	c := &company{}
	comm, err := c.split(0, worldRank())
	j := &member{rank: worldRank(), size: 3}
	for said := ""; err == nil && !strings.Contains(said, "all ranks have come"); {
		said = j.callRoll(comm)
	}
	return errors.Join(err, stop(), guest.Finalize())
}

// passive is a program that uses one thread only, and computes between two jobs.
func passive(argument string) error {
	if err := sum("passive"); err == nil || !strings.Contains(err.Error(), "not initialised") {
		return fmt.Errorf("before MPI is initialised: %v", err)
	}
	runtime.LockOSThread()
	if err := guest.Init(strings.Index("0123", argument)); err != nil {
		return err
	}
	for range 2 {
		if err := sum("passive"); err != nil {
			return err
		}
	}
	return guest.Finalize()
}

// servesIn is a program that has initialised MPI itself, at a level or for one thread.
func servesIn(argument string) error {
	how, level := "hosts", strings.Index("0123", argument)
	if argument == "passive" {
		how, level = argument, 0
	}
	runtime.LockOSThread()
	if err := guest.Init(level); err != nil {
		return err
	}
	return errors.Join(serves(how), guest.Finalize())
}

// views prints how many segments a rank sees as memory, after it has examined them.
func views(string) error {
	return inJob("", func(ctx context.Context, job rma.Job, w rma.Window) error {
		atomic.StoreUint64(&w.Words(job.Rank())[1], 7)
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		seen := 0
		for rank := range job.Size() {
			if words := w.Words(rank); words != nil && atomic.LoadUint64(&words[1]) == 7 {
				seen++
			}
		}
		_, _ = os.Stdout.WriteString(fmt.Sprintf("rank %d sees %d segments\n", job.Rank(), seen))
		return job.Barrier(ctx)
	})
}

// compute has the last rank work in Go, or in C, without a call of the engine until the
// others, on other hosts, have added in its memory.
func compute(language string) error {
	return inJob("hosts", func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		if job.Rank() == last {
			word := &w.Words(last)[0]
			if language == "C" {
				guest.Compute(word, uint64(10*last))
			}
			for int(atomic.LoadUint64(word)) < 10*last {
				spun++
			}
			return job.Barrier(ctx)
		}
		q, err := job.NewQueue(2)
		if err != nil {
			return err
		}
		for range 10 {
			if _, err := remote.Result(ctx, q, q.FetchAdd(w, last, 0, 1)); err != nil {
				return err
			}
		}
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

var spun int

// joined counts the calls that batches of puts and gets become.
func joined(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		const puts, gets, words = 60, 4096, 5
		made, err := job.NewQueue(gets)
		if err != nil {
			return err
		}
		q := made.(*queue)
		buf, err := q.Alloc(gets * words)
		if err != nil {
			return err
		}
		target := (job.Rank() + 1) % job.Size()
		value := func(i, word int) uint64 { return uint64(job.Rank()<<20 | i<<4 | word) }
		at := func(i int) int { return (puts - 1 - i) * 50 }
		line := func(i int) rma.Buf { return buf[i*words : (i+1)*words] }
		var handles []rma.Handle
		for i := range puts {
			for word := range words {
				line(i)[word] = value(i, word)
			}
			handles = append(handles, q.Put(line(i), w, target, at(i)))
		}
		if err := finishAll(ctx, q, handles); err != nil {
			return err
		}
		calls := q.calls()
		clear(buf)
		handles = handles[:0]
		for i := range gets {
			handles = append(handles, q.Get(line(i), w, target, at(i*7%puts)))
		}
		if err := finishAll(ctx, q, handles); err != nil {
			return err
		}
		for i := range gets {
			for word, got := range line(i) {
				if want := value(i*7%puts, word); got != want {
					return fmt.Errorf("word %d of get %d is %#x, want %#x", word, i, got, want)
				}
			}
		}
		fmt.Printf("%d puts in %d calls, %d gets in %d\n", puts, calls, gets, q.calls()-calls)
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

// die has the last rank killed while the others wait for it or use its memory.
func die(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		cells, err := rma.NewCells(job, w)
		if err != nil {
			return err
		}
		last := job.Size() - 1
		for {
			n, err := cells.Add(ctx, last, 0, 1)
			if err != nil {
				return err
			}
			if n > 100 && job.Rank() == last {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			if n > 100 && job.Rank() == 0 {
				return job.Barrier(ctx)
			}
		}
	})
}

func finishAll(ctx context.Context, q rma.Queue, handles []rma.Handle) error {
	if err := q.Submit(); err != nil {
		return err
	}
	for _, h := range handles {
		if _, err := remote.Result(ctx, q, h); err != nil {
			return err
		}
	}
	return nil
}

// fail has rank 0 give up while the others wait for it. It says so first: the launcher ends
// the job with the first rank that fails, which may be another.
func fail(argument string) error {
	job, err := Join(context.Background(), Config{Hidden: argument == "hidden"})
	if err != nil {
		return err
	}
	abandon := job.(interface{ Abandon() error }).Abandon
	if job.Rank() == 0 {
		fmt.Fprintln(os.Stderr, "gave up")
		return errors.Join(errors.New("rank 0 has failed"), abandon())
	}
	if err := job.Barrier(context.Background()); err != nil {
		return errors.Join(err, abandon())
	}
	return job.Close()
}
