//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/rma"
)

// roles are what ranks may play.
var roles = map[string]func(string) error{
	"puppet":  puppet,
	"sum":     sum,
	"program": program,
	"compute": compute,
	"joined":  joined,
	"fail":    fail,
	"rates":   rates,
	"views":   views,
}

// inJob joins as an argument says, lets a function work and leaves.
func inJob(argument string, fn func(ctx context.Context, job rma.Job, w rma.Window) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	var p pretence
	if argument == "hosts" { // each rank on a host of its own
		p.host = fmt.Sprint(os.Getpid())
	}
	job, err := joinAs(ctx, Config{Hidden: argument == "hidden"}, p)
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
		flat := rma.Flat(w) != nil
		_, _ = os.Stdout.WriteString(fmt.Sprintf("rank %d of %d: %d, flat %v\n", job.Rank(),
			job.Size(), total, flat))
		return err
	})
}

// program initialises MPI itself at a level, has two jobs one after the other, and
// finalises it.
func program(argument string) error {
	finalise, err := asProgram(strings.Index("0123", argument))
	if err != nil {
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
	return finalise()
}

// views prints how many segments a rank sees as memory, after a look at what is there.
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

// compute has the last rank work without a call of the engine until the others, on other
// hosts, have swapped and added in its memory.
func compute(string) error {
	return inJob("hosts", func(ctx context.Context, job rma.Job, w rma.Window) error {
		last := job.Size() - 1
		if job.Rank() == last {
			words := w.Words(last)
			for int(atomic.LoadUint64(&words[0])) < 10*last {
				spun++
			}
			return job.Barrier(ctx)
		}
		q, err := job.NewQueue(2)
		if err != nil {
			return err
		}
		for range 10 {
			if _, err := result(ctx, q, q.FetchAdd(w, last, 0, 1)); err != nil {
				return err
			}
		}
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

var spun int

// joined counts the calls that batches of gets and puts become.
func joined(argument string) error {
	return inJob(argument, func(ctx context.Context, job rma.Job, w rma.Window) error {
		const batch, words = 60, 5
		queue, err := job.NewQueue(2 * batch)
		if err != nil {
			return err
		}
		q := queue.(*Queue)
		buf, err := q.Alloc(batch * words)
		if err != nil {
			return err
		}
		for i := range buf {
			buf[i] = uint64(job.Rank()<<20 | i)
		}
		target := (job.Rank() + 1) % job.Size()
		at := func(i int) int { return (batch - 1 - i) * 50 }
		var handles []rma.Handle
		for i := range batch {
			handles = append(handles, q.Put(buf[i*words:(i+1)*words], w, target, at(i)))
		}
		if err := finishAll(ctx, q, handles); err != nil {
			return err
		}
		puts := q.calls()
		clear(buf)
		handles = handles[:0]
		for i := range batch {
			handles = append(handles, q.Get(buf[i*words:(i+1)*words], w, target, at(i)))
		}
		if err := finishAll(ctx, q, handles); err != nil {
			return err
		}
		for i, got := range buf {
			if got != uint64(job.Rank()<<20|i) {
				return fmt.Errorf("word %d is %#x", i, got)
			}
		}
		fmt.Printf("%d puts in %d calls, %d gets in %d\n", batch, puts, batch, q.calls()-puts)
		return errors.Join(q.Close(), job.Barrier(ctx))
	})
}

func finishAll(ctx context.Context, q rma.Queue, handles []rma.Handle) error {
	if err := q.Submit(); err != nil {
		return err
	}
	for _, h := range handles {
		if _, err := result(ctx, q, h); err != nil {
			return err
		}
	}
	return nil
}

// fail has rank 0 give up while the others wait for it.
func fail(argument string) error {
	job, err := Join(context.Background(), Config{Hidden: argument == "hidden"})
	if err != nil {
		return err
	}
	abandon := job.(interface{ Abandon() error }).Abandon
	if job.Rank() == 0 {
		return errors.Join(errors.New("gave up"), abandon())
	}
	if err := job.Barrier(context.Background()); err != nil {
		return errors.Join(err, abandon())
	}
	return job.Close()
}

// expect checks that ranks end well or not, and what they say.
func expect(t *testing.T, out string, err error, ok bool, times int, parts ...string) {
	t.Helper()
	if (err == nil) != ok {
		t.Fatalf("the job ended with %v; it said:\n%s", err, out)
	}
	for _, part := range parts {
		if n := strings.Count(out, part); n < 1 || times > 0 && n != times {
			t.Errorf("the job said %q %d times, want %d (0: at least once); it said:\n%s",
				part, n, times, out)
		}
	}
}

// A job that leaves MPI to the engine, as most do: it ends with exit code 0.
func TestJob(t *testing.T) {
	l := find(t, ask().kind)
	for _, c := range []struct{ how, says string }{
		{"", ": 40, flat true"}, {"hidden", ": 40, flat false"}, {"hosts", ": 40, flat false"},
	} {
		out, err := l.play(t, 4, "sum:"+c.how)
		expect(t, out, err, true, 4, " of 4"+c.says)
	}
	out, err := l.play(t, 1, "sum:hidden")
	expect(t, out, err, true, 1, "rank 0 of 1: 1, flat false")
}

// A program that has initialised MPI itself, at each thread level.
func TestProgramInitialises(t *testing.T) {
	l := find(t, ask().kind)
	for level, name := range levels {
		out, err := l.play(t, 2, fmt.Sprint("program:", level), oscVariable+"="+oscChoice)
		if level < 2 {
			expect(t, out, err, false, 0, "runs at MPI_THREAD_"+name,
				"initialise it with MPI_Init_thread and MPI_THREAD_SERIALIZED or more")
			continue
		}
		expect(t, out, err, true, 2, "rank 0 of 2: 6, flat false", "rank 0 of 2: 6, flat true",
			"rank 1 of 2: 6, flat false", "rank 1 of 2: 6, flat true")
	}
}

func TestTargetComputes(t *testing.T) {
	out, err := find(t, ask().kind).play(t, 2, "compute")
	expect(t, out, err, true, 0)
}

func TestJoined(t *testing.T) {
	for _, how := range []string{"hidden", "hosts"} {
		out, err := find(t, ask().kind).play(t, 2, "joined:"+how)
		expect(t, out, err, true, 2, "60 puts in 1 calls, 60 gets in 1")
	}
}

// The launcher of another MPI starts processes that do not find each other.
func TestWrongLibrary(t *testing.T) {
	other, says := mpich, "mpich has started 2 ranks"
	if ask().kind == mpich {
		other, says = openMPI, "openmpi has started 2 ranks"
	}
	out, err := find(t, other).play(t, 2, "sum")
	expect(t, out, err, false, 0, says, "sees 1", "start the program with the mpi")
}

// A rank that fails ends the job, and its message is seen.
func TestAbandon(t *testing.T) {
	for _, how := range []string{"", "hidden"} {
		out, err := find(t, ask().kind).play(t, 3, "fail:"+how)
		expect(t, out, err, false, 0, "gave up")
	}
}

// A default of the library that does not work is found at the start.
func TestLitmus(t *testing.T) {
	if l := ask(); l.kind != openMPI || l.major != 4 {
		t.Skipf("%s has no default that is known not to work", l.text)
	}
	out, err := find(t, openMPI).play(t, 2, "sum:hidden", oscVariable+"=rdma")
	if err == nil {
		t.Skip("osc/rdma works with this version")
	}
	expect(t, out, err, false, 0, "set OMPI_MCA_osc="+oscChoice)
}

func TestParseLibrary(t *testing.T) {
	for _, c := range []struct {
		said string
		want library
	}{
		{"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", library{"Open MPI v4.1.4",
			openMPI, 4}},
		{"MPICH Version:\t4.0.2\nMPICH Release date:\tThu", library{"MPICH Version: 4.0.2",
			mpich, 4}},
		{"Fast MPI 12", library{"Fast MPI 12", "MPI", 12}},
		{"", library{"", "MPI", 0}},
	} {
		if got := parseLibrary(c.said); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.said, got, c.want)
		}
	}
}
