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

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi/internal/guest"
)

// company is a program of four processes that has jobs of several communicators.
type company struct {
	ctx  context.Context
	rank int
	cfg  Config
	p    overrides
}

const companySize = 4

// comms plays a company. The argument is a thread level, at 0 of which the engine is passive, and
// how windows are made.
func comms(argument string) error {
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	runtime.LockOSThread()
	level := strings.Index("0123", argument[:1])
	if err := guest.Init(level); err != nil {
		return err
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
		fmt.Println("all jobs were right")
	}
	if os.Getenv(unfinalizedVariable) != "" {
		_, err2 := guest.Split(0, 0) // all have come here
		return errors.Join(err, err2)
	}
	return errors.Join(err, guest.Finalize())
}

// unfinalizedVariable has a program end without MPI_Finalize. That of MPICH 4.0 does not return on
// two hosts over TCP, in a program of MPI alone either. The launcher complains of such an end.
const unfinalizedVariable = "MPI_TEST_UNFINALIZED"

// split is guest.Split while the engine does not call MPI.
func (c *company) split(color, key int) (comm int32, err error) {
	Exclusive(func() { comm, err = guest.Split(color, key) })
	return comm, err
}

// member is a job of a communicator, with a window.
type member struct {
	rma.Job
	comm  int32
	cells *rma.Cells
}

func (c *company) join(comm int32) (*member, error) {
	job, err := joinCommAs(c.ctx, comm, c.cfg, c.p)
	if err != nil {
		return nil, err
	}
	w, err := job.NewWindow(c.ctx, rma.Spec{Name: "test", Words: 100})
	if err != nil {
		return nil, err
	}
	cells, err := rma.NewCells(job, w)
	return &member{job, comm, cells}, err
}

func (m *member) close() (err error) {
	err = errors.Join(m.cells.Close(), m.Close(), m.Close())
	Exclusive(func() { err = errors.Join(err, guest.Forget(m.comm)) })
	return err
}

// sum adds this rank's number, counted from 1, at every rank some times.
func (m *member) sum(ctx context.Context, times int) error {
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
		return fmt.Errorf("rank %d of %d: the sum is %d, want %d: %w", m.Rank(), n, got, want, err)
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
	return errors.Join(m.sum(c.ctx, 20+20*(c.rank/2)), m.close())
}

// overlapping has a job of all processes but the last, and one of all but the first, in use at the
// same time. The process that is in one alone leaves early.
func (c *company) overlapping() error {
	var members []*member
	for _, absent := range []int{companySize - 1, 0} {
		color := 0
		if c.rank == absent {
			color = -1
		}
		comm, err := c.split(color, c.rank)
		if err != nil || color < 0 {
			if err != nil {
				return err
			}
			continue
		}
		m, err := c.join(comm)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	for _, m := range members {
		if err := m.sum(c.ctx, 10); err != nil {
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

// workers has a job of all but process 0, which has messages from them meanwhile.
func (c *company) workers() error {
	color := min(c.rank, 1) - 1
	comm, err := c.split(color, -c.rank)
	if err != nil {
		return err
	}
	if color < 0 {
		total := 0
		for worker := 1; worker < companySize; worker++ {
			for range 5 {
				var number int
				Exclusive(func() { number, err = guest.Receive(worker) })
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
	return errors.Join(m.sum(c.ctx, 3), m.close())
}

// The same on two hosts, where two processes of each communicator share memory.
func TestCommunicatorsOfTwoHosts(t *testing.T) {
	l := twoHosts(t, ask().kind, 2)
	if ask().kind == mpich {
		l.env = append(l.env, unfinalizedVariable+"=1")
	}
	for _, how := range []string{"0", "0hidden", "2"} {
		t.Run(how, func(t *testing.T) {
			out, err := l.play(t, companySize, "comms:"+how, oscVariable+"="+oscChoice())
			finalized := ask().kind != mpich
			expect(t, out, err, finalized || err == nil, companySize, "all jobs were right")
		})
	}
}

// Jobs of disjoint and of overlapping communicators, and one of workers whose master has none.
func TestCommunicators(t *testing.T) {
	l := find(t, ask().kind)
	for _, how := range []string{"0", "0hosts", "0hidden", "2hosts", "3hidden"} {
		out, err := l.play(t, companySize, "comms:"+how, oscVariable+"="+oscChoice())
		expect(t, out, err, true, companySize, "all jobs were right")
	}
}
