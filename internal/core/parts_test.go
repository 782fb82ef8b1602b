package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// A reader reads the same words from memory and through a queue.
func TestReader(t *testing.T) {
	for _, options := range []local.Options{{}, {Hosts: 2}, {Hidden: true}} {
		err := local.RunWith(options, 4, func(job rma.Job) error {
			ctx := context.Background()
			w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 32})
			if err != nil {
				return err
			}
			cells, err := rma.NewCells(job, w)
			if err != nil {
				return err
			}
			for i := range w.Len() {
				if err := cells.Store(ctx, job.Rank(), i, uint64(job.Rank()*100+i)); err != nil {
					return err
				}
			}
			if err := job.Barrier(ctx); err != nil {
				return err
			}
			regions := core.NewRegions(w)
			r, err := core.NewReader(job, w, &regions, 8)
			if err != nil {
				return err
			}
			for rank := range job.Size() {
				words, err := r.Read(ctx, rank, 5, 3)
				first := uint64(rank*100 + 5)
				if err != nil || !slices.Equal(words, []uint64{first, first + 1, first + 2}) {
					return fmt.Errorf("rank %d has %v, %v", rank, words, err)
				}
			}
			ended, end := context.WithCancel(ctx)
			end()
			if _, err := r.Read(ended, 0, 0, 8); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("after the end of ctx: %v", err)
			}
			if words, err := r.Read(ctx, 1, 0, 1); err != nil || words[0] != 100 {
				return fmt.Errorf("after a read that was given up: %v, %v", words, err)
			}
			return errors.Join(r.Close(), job.Barrier(ctx), cells.Close())
		})
		if err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

// stats is statistics as tables have them.
type stats struct {
	Found, Lost uint64
	Kinds       [3]struct{ Calls, Waits uint64 }
	Queues      rma.Stats
}

// Counters add up what goroutines add at the same time.
func TestCounters(t *testing.T) {
	c := core.NewCounters[stats]()
	var group sync.WaitGroup
	for g := range uint64(8) {
		group.Go(func() {
			s := stats{Found: 1, Queues: rma.Stats{Retries: 2}}
			s.Kinds[1].Waits = g
			for range 100 {
				c.Add(g, &s)
				c.Count(g, 8, 3)
			}
		})
	}
	group.Wait()
	want := stats{Found: 800, Lost: 2400, Queues: rma.Stats{Retries: 1600}}
	want.Kinds[1].Waits = 2800
	if got := c.Sum(); got != want {
		t.Errorf("the sum is %+v, not %+v", got, want)
	}
	c.Reset()
	if got := c.Sum(); got != (stats{}) {
		t.Errorf("after Reset it is %+v", got)
	}
	defer func() {
		if fault, _ := recover().(string); !strings.Contains(fault, "uint64") {
			t.Errorf("counters of strings panic with %q", fault)
		}
	}()
	core.NewCounters[struct{ Name string }]()
}

// Faults keeps the first ten and counts the rest.
func TestFaults(t *testing.T) {
	f := core.Faults{Table: "test"}
	if f.Err() != nil {
		t.Errorf("without faults: %v", f.Err())
	}
	for i := range 12 {
		f.Add("bucket %d is broken", i)
	}
	lines := strings.Split(f.Err().Error(), "\n")
	if len(lines) != 11 || lines[9] != "test: bucket 9 is broken" ||
		lines[10] != "test: and 2 more faults" {
		t.Errorf("%q", lines)
	}
}

// counting are machines that need some steps, whose operations of one parity exclude each other.
type counting struct {
	machines []step
	ended    []int
	running  [2]int // by parity
	err      error
	fails    int
}

// step is an operation of two gets.
type step struct {
	c      *counting
	i      int
	window rma.Window
	buf    rma.Buf
	gets   int
	handle rma.Handle
}

func (c *counting) Start(machine, i int) rma.Op {
	m := &c.machines[machine]
	m.c, m.i, m.gets = c, i, 0
	if c.running[i%2]++; c.running[i%2] > 1 {
		c.err = errors.New("two operations that exclude each other are in flight")
	}
	return m
}

func (c *counting) Finish(_, i int) {
	c.running[i%2]--
	c.ended = append(c.ended, i)
}

func (c *counting) Turn(i int) (uint64, bool) { return uint64(i % 2), true }

func (m *step) Step(q rma.Queue) (rma.Handle, error) {
	if m.gets > 0 {
		if _, err := q.Value(m.handle); err != nil {
			return rma.NoHandle, err
		}
	}
	if m.i == m.c.fails {
		return rma.NoHandle, errors.New("as asked")
	}
	if m.gets++; m.gets > 2 {
		return rma.NoHandle, nil
	}
	m.handle = q.Get(m.buf, m.window, 0, 0)
	return m.handle, nil
}

// Drive runs each operation once; those with the same turn one after the other.
func TestDrive(t *testing.T) {
	err := local.Run(1, func(job rma.Job) error {
		ctx := context.Background()
		w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 1})
		if err != nil {
			return err
		}
		q, err := job.NewQueue(8)
		if err != nil {
			return err
		}
		c := counting{machines: make([]step, 4), fails: -1}
		for i := range c.machines {
			c.machines[i].window = w
			if c.machines[i].buf, err = q.Alloc(1); err != nil {
				return err
			}
		}
		slots := core.NewSlots(len(c.machines))
		for _, at := range [][]int{nil, {3, 1, 4}, {7}, nil, {}} {
			c.ended = nil
			want := at
			for i := 0; at == nil && i < 20; i++ {
				want = append(want, i)
			}
			if err := slots.Drive(ctx, q, 20, at, 4, &c); err != nil {
				return err
			}
			slices.Sort(c.ended)
			want = slices.Sorted(slices.Values(want))
			if !slices.Equal(c.ended, want) || c.err != nil {
				return fmt.Errorf("%v were run, not %v; %w", c.ended, want, c.err)
			}
		}
		c.fails = 1
		if err := slots.Drive(ctx, q, 4, nil, 4, &c); err == nil || slots.Running(1) != 1 {
			return fmt.Errorf("a machine that fails gives %v and leaves %d", err, slots.Running(1))
		}
		return q.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// putOp is an operation that ends with a put that it does not wait for.
type putOp struct {
	window rma.Window
	buf    rma.Buf
}

func (p *putOp) Start(int, int) rma.Op { return p }

func (p *putOp) Finish(int, int) {}

func (p *putOp) Step(q rma.Queue) (rma.Handle, error) {
	q.Put(p.buf, p.window, 0, 0)
	return rma.NoHandle, nil
}

// When a single operation is done, so is what it does not wait for.
func TestDriveSubmits(t *testing.T) {
	err := local.Run(1, func(job rma.Job) error {
		ctx := context.Background()
		w, err := job.NewWindow(ctx, rma.Spec{Name: "test", Words: 1})
		if err != nil {
			return err
		}
		q, err := job.NewQueue(1)
		if err != nil {
			return err
		}
		slots := core.NewSlots(1)
		if err := slots.Drive(ctx, q, 1, nil, 1, &putOp{w, rma.Buf{42}}); err != nil {
			return err
		}
		if word := w.Words(0)[0]; word != 42 {
			err = fmt.Errorf("the put stored %d", word)
		}
		return errors.Join(err, q.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

// watchedJob makes queues that count what is in flight.
type watchedJob struct {
	rma.Job
	q *watchedQueue
}

type watchedQueue struct {
	rma.Queue
	inFlight, most int
}

func (j *watchedJob) NewQueue(depth int) (rma.Queue, error) {
	q, err := j.Job.NewQueue(depth + 1) // room for what is one too many
	j.q = &watchedQueue{Queue: q}
	return j.q, err
}

func (q *watchedQueue) Get(dst rma.Buf, w rma.Window, rank, off int) rma.Handle {
	q.inFlight++
	q.most = max(q.most, q.inFlight)
	return q.Queue.Get(dst, w, rank, off)
}

func (q *watchedQueue) Value(h rma.Handle) (uint64, error) {
	q.inFlight--
	return q.Queue.Value(h)
}

// A get that was given up ends before the buffer is used again.
func TestReaderWaits(t *testing.T) {
	onRanks(t, 1, func(job rma.Job, w rma.Window) error {
		watched := &watchedJob{Job: job}
		regions := core.NewRegions(w)
		r, err := core.NewReader(watched, w, &regions, 4)
		if err != nil {
			return err
		}
		ended, end := context.WithCancel(context.Background())
		end()
		if _, err := r.Read(ended, 0, 0, 4); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("after the end of ctx: %v", err)
		}
		if _, err := r.Read(context.Background(), 0, 4, 4); err != nil {
			return err
		}
		if watched.q.most != 1 || watched.q.inFlight != 0 {
			return fmt.Errorf("%d gets were in flight, %d are still", watched.q.most,
				watched.q.inFlight)
		}
		return r.Close()
	})
}

// What one rank finds broken is an error on all.
func TestCheckAll(t *testing.T) {
	err := local.Run(3, func(job rma.Job) error {
		broken := errors.New("broken")
		for _, at := range []int{-1, 2} {
			err := core.CheckAll(context.Background(), job, "test", func(context.Context) error {
				if job.Rank() == at {
					return broken
				}
				return nil
			})
			if (err != nil) != (at >= 0) || errors.Is(err, broken) != (job.Rank() == at) {
				return fmt.Errorf("with a fault on rank %d the error is %v", at, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
