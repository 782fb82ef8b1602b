//go:build mpi && cgo

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/testkit/patience"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi/internal/guest"
	"github.com/farhash/farhash/set"
)

// company is a program of four processes that has jobs of several communicators.
type company struct {
	ctx  context.Context
	rank int
	cfg  Config
	p    overrides

	shipped bool // batches were
}

const companySize = 4

// comms plays a company. The argument is a thread level, at 0 of which the engine is passive, or E,
// where the engine initialises MPI; and how windows are made.
func comms(argument string) error {
	ctx, cancel := patience.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	runtime.LockOSThread()
	level := strings.Index("0123", argument[:1])
	if level >= 0 {
		if err := guest.Init(level); err != nil {
			return err
		}
	}
	c := company{ctx: ctx, cfg: Config{Passive: level == 0, Hidden: argument[1:] == "hidden"}}
	if argument[1:] == "hosts" {
		c.p.host = fmt.Sprint(os.Getpid())
	}
	if _, err := JoinComm(ctx, 0, c.cfg); err == nil {
		return errors.New("a communicator was joined before Start")
	}
	stop, err := Start(ctx, c.cfg)
	if err != nil {
		return err
	}
	c.rank = worldRank()
	err = errors.Join(c.disjoint(), c.overlapping(), c.workers(), stop())
	if err == nil {
		fmt.Printf("all jobs were right, shipped %v\n", c.shipped)
	}
	if level < 0 {
		return err // stop has finalised MPI
	}
	return errors.Join(err, guest.Finalize())
}

// split is guest.Split while the engine does not call MPI.
func (c *company) split(color, key int) (comm int32, err error) {
	Exclusive(func() { comm, err = guest.Split(color, key) })
	return comm, err
}

// worker is a job of a communicator, with a window, and a set where batches can be shipped.
type worker struct {
	rma.Job
	comm  int32
	cells *rma.Cells
	set   *set.Set
}

func (c *company) join(comm int32) (*worker, error) {
	job, err := joinCommAs(c.ctx, comm, c.cfg, c.p)
	if err != nil {
		return nil, err
	}
	w, err := job.NewWindow(c.ctx, rma.Spec{Name: "test", Words: 100})
	if err != nil {
		return nil, err
	}
	m := &worker{Job: job, comm: comm}
	if _, serves := w.(rma.Server); serves {
		c.shipped = true
		m.set, err = set.New(c.ctx, job, set.Config{Buckets: 1 << 14, Access: rma.Shipped})
		if err != nil {
			return nil, err
		}
	}
	m.cells, err = rma.NewCells(job, w)
	return m, err
}

func (m *worker) close() (err error) {
	err = errors.Join(m.cells.Close(), m.Close(), m.Close())
	Exclusive(func() { err = errors.Join(err, guest.Forget(m.comm)) })
	return err
}

const (
	insertRounds = 10
	insertBatch  = 100
)

// batch is what a rank inserts in a round.
func (m *worker) batch(rank, round int) []uint64 {
	words := make([]uint64, insertBatch)
	for i := range words {
		words[i] = uint64(m.Size()<<40 | rank<<32 | round<<16 | i)
	}
	return words
}

// insert inserts a batch of words that no other rank inserts.
func (m *worker) insert(round int) error {
	if m.set == nil {
		return nil
	}
	results := make([]set.Result, insertBatch)
	err := m.set.FindOrPutBatch(m.batch(m.Rank(), round), results)
	return errors.Join(err, allAre(results, set.Inserted))
}

// inserted finds what another rank has inserted.
func (m *worker) inserted(ctx context.Context) error {
	if m.set == nil {
		return nil
	}
	if err := m.Barrier(ctx); err != nil {
		return err
	}
	results := make([]set.Result, insertBatch)
	for round := range insertRounds {
		err := m.set.ContainsBatch(m.batch((m.Rank()+1)%m.Size(), round), results)
		if err := errors.Join(err, allAre(results, set.Found)); err != nil {
			return err
		}
	}
	if s := m.set.Stats(); s.Queues.Ships == 0 {
		return fmt.Errorf("rank %d of %d has shipped nothing: %+v", m.Rank(), m.Size(), s)
	}
	return errors.Join(m.set.Check(ctx), m.set.Close())
}

func allAre(results []set.Result, want set.Result) error {
	for i, r := range results {
		if r != want {
			return fmt.Errorf("word %d: %v, want %v", i, r, want)
		}
	}
	return nil
}

// sum adds this rank's number, counted from 1, at every rank some times.
func (m *worker) sum(ctx context.Context, times int) error {
	for range times {
		for rank := range m.Size() {
			if _, err := m.cells.Add(ctx, rank, 0, uint64(m.Rank()+1)); err != nil {
				return err
			}
		}
	}
	if err := m.Barrier(ctx); err != nil {
		return err
	}
	got, err := m.cells.Sum(ctx, 0)
	n := uint64(m.Size())
	if want := uint64(times) * n * n * (n + 1) / 2; got != want || err != nil {
		return fmt.Errorf("rank %d of %d: the sum is %d, want %d: %v", m.Rank(), n, got, want, err)
	}
	return m.Barrier(ctx)
}

// disjoint has two jobs of two processes each at the same time.
func (c *company) disjoint() error {
	comm, err := c.split(c.rank/2, -c.rank)
	if err != nil {
		return err
	}
	m, err := c.join(comm)
	if err != nil {
		return err
	}
	if want := 1 - c.rank%2; m.Rank() != want || m.Size() != 2 {
		return fmt.Errorf("process %d is rank %d of %d, want %d of 2", c.rank, m.Rank(), m.Size(),
			want)
	}
	for round := range insertRounds {
		err = errors.Join(err, m.insert(round))
	}
	return errors.Join(err, m.inserted(c.ctx), m.sum(c.ctx, 20+20*(c.rank/2)), m.close())
}

// overlapping has a job of all processes but the last, and one of all but the first, in use at the
// same time. Processes that are in both insert into their sets in different orders, and so wait for
// each other in different jobs. The process that is in one alone leaves early.
func (c *company) overlapping() error {
	var comms []int32
	for _, absent := range []int{companySize - 1, 0} {
		color := 0
		if c.rank == absent {
			color = -1
		}
		comm, err := c.split(color, c.rank)
		if err != nil {
			return err
		}
		if color >= 0 {
			comms = append(comms, comm)
		}
	}
	var members []*worker
	for _, comm := range comms {
		m, err := c.join(comm)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	for round := range insertRounds {
		for i := range members {
			if err := members[(i+c.rank)%len(members)].insert(round); err != nil {
				return err
			}
		}
	}
	for _, m := range members {
		if err := errors.Join(m.inserted(c.ctx), m.sum(c.ctx, 10)); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := m.close(); err != nil {
			return err
		}
	}
	return nil
}

// workers has a job of all but process 0, which gets messages from them during it.
func (c *company) workers() error {
	color := min(c.rank, 1) - 1
	comm, err := c.split(color, -c.rank)
	if err != nil {
		return err
	}
	if color < 0 {
		total := 0
		for process := 1; process < companySize; process++ {
			for range 5 {
				var number int
				Exclusive(func() { number, err = guest.Receive(process) })
				if err != nil {
					return err
				}
				total += number
			}
		}
		if total != 5*6 {
			return fmt.Errorf("the workers have sent %d", total)
		}
		return nil
	}
	m, err := c.join(comm)
	if err != nil {
		return err
	}
	if want := companySize - 1 - c.rank; m.Rank() != want || m.Size() != companySize-1 {
		return fmt.Errorf("worker %d is rank %d of %d", c.rank, m.Rank(), m.Size())
	}
	for round := range insertRounds {
		if err := m.insert(round); err != nil {
			return err
		}
	}
	for range 5 {
		for rank := range m.Size() {
			if _, err := m.cells.Add(c.ctx, rank, 1, 1); err != nil {
				return err
			}
		}
		Exclusive(func() { err = guest.Send(c.rank, 0) })
		if err != nil {
			return err
		}
	}
	return errors.Join(m.inserted(c.ctx), m.sum(c.ctx, 3), m.close())
}

// The same on two hosts, where two processes of each communicator share memory.
func TestCommunicatorsOfTwoHosts(t *testing.T) {
	l := twoHosts(t, ask().kind, 2)
	play := func(how string, shipped bool) {
		t.Run(how, func(t *testing.T) {
			out, err := l.play(t, companySize, "comms:"+how, oscVariable+"="+oscChoice())
			expect(t, out, err, true, companySize,
				fmt.Sprint("all jobs were right, shipped ", shipped))
		})
	}
	for _, how := range []string{"0", "0hidden", "2"} {
		play(how, false)
	}
	play("E", true)
	play("Ehidden", true)
	play("3", true) // Open MPI 4 makes no windows there: all goes by messages
}

// Jobs of disjoint and of overlapping communicators, and one of workers whose master has none.
func TestCommunicators(t *testing.T) {
	l := find(t, ask().kind)
	play := func(how string, shipped bool) {
		out, err := l.play(t, companySize, "comms:"+how, oscVariable+"="+oscChoice())
		expect(t, out, err, true, companySize,
			fmt.Sprint("all jobs were right, shipped ", shipped))
	}
	for _, how := range []string{"0", "0hosts", "0hidden", "2hosts"} {
		play(how, false)
	}
	for _, how := range []string{"Ehosts", "3hidden"} {
		play(how, true)
	}
}
