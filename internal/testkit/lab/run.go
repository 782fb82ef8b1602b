package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// run is one schedule as it runs. Ranks of the simulation take turns, so that they need
// no lock for it.
type run struct {
	table    *Table
	schedule schedule
	history  []Operation
	living   []bool // ranks that are not dead
	working  int    // ranks of them that have calls to make
	audited  bool
	counts   Summary
	order    int64 // calls and returns so far
}

// Run runs the schedule of a seed. The error says what went wrong, with the history
// of the key that shows it. Unless w is nil the engine writes a trace to it, and the
// whole history follows.
func (t *Table) Run(seed uint64, w io.Writer) (Summary, error) {
	r := &run{table: t, schedule: draw(seed)}
	if t.SleepNs > 0 {
		r.schedule.sleep(seed, t.SleepNs)
	}
	if w != nil {
		fmt.Fprintf(w, "%+v\n", r.schedule)
	}
	r.schedule.opts.Trace = w
	ranks := r.schedule.opts.Ranks
	r.living, r.working = make([]bool, ranks), ranks
	for rank := range r.living {
		r.living[rank] = true
	}
	report, err := sim.Run(r.schedule.opts, func(job rma.Job) error {
		return r.rank(job.(*sim.Job))
	})
	if w != nil {
		fmt.Fprint(w, Print(r.history))
	}
	r.counts.Schedules = 1
	r.counts.Engine = report
	if err == nil {
		err = r.linearizable()
	}
	if err != nil {
		err = fmt.Errorf("%s, schedule of seed %d: %w", t.Name, seed, err)
	}
	return r.counts, err
}

// rank is the function of a rank.
func (r *run) rank(job *sim.Job) error {
	working := true
	defer func() { // a rank that is killed comes here too
		r.living[job.Rank()] = false
		if working {
			r.working--
		}
	}()
	client, err := r.open(job)
	if err != nil || client == nil {
		return err
	}
	rng := job.Rand()
	for range r.schedule.calls {
		if r.schedule.pauseNs > 0 {
			job.Sleep(rng.Int64N(r.schedule.pauseNs))
		}
		if err := r.call(job, client.Draw(rng)); err != nil {
			return err
		}
	}
	working = false
	r.working--
	return r.finish(job, client)
}

// open makes the table. It returns nil where a fault has kept the ranks from that.
func (r *run) open(job *sim.Job) (Client, error) {
	rng := rand.New(rand.NewPCG(r.schedule.opts.Seed, 0x0be2))
	client, err := r.table.Open(context.Background(), job, rng)
	if err != nil && r.excused(err) {
		r.counts.Unopened++
		return nil, nil
	}
	if err != nil {
		err = fmt.Errorf("opening the table: %w", err)
	}
	return client, err
}

// excused reports whether err is what a planned fault may lead to.
func (r *run) excused(err error) bool {
	var lost *sim.LostError
	var gone *rma.RankError
	var failed *rma.PeerError
	return r.schedule.faulty() &&
		(errors.As(err, &lost) || errors.As(err, &gone) || errors.As(err, &failed))
}

// nextOrder numbers calls and returns.
func (r *run) nextOrder() int64 {
	r.order++
	return r.order
}

// call makes a call and keeps its operations.
func (r *run) call(job *sim.Job, call Call) error {
	answers := make([]any, len(call.Inputs))
	start, order := job.NowNs(), r.nextOrder() // others may run in between
	first := len(r.history)
	for _, input := range call.Inputs {
		r.history = append(r.history, Operation{Input: input, Rank: job.Rank(), CallNs: start,
			ReturnNs: Open, callOrder: order})
	}
	r.counts.Calls++
	err := call.Do(answers)
	end := job.NowNs() // a rank that dies in this has no answer
	order = r.nextOrder()
	for i, answer := range answers {
		if o := &r.history[first+i]; answer != nil {
			o.Answer, o.ReturnNs, o.returnOrder = answer, end, order
		} else if err == nil {
			return fmt.Errorf("rank %d got no answer and no error: %v", job.Rank(), o)
		}
	}
	if err == nil {
		return nil
	}
	r.counts.Failed++
	if !r.excused(err) {
		return fmt.Errorf("rank %d: %v: %w", job.Rank(), call.Inputs, err)
	}
	return nil
}

// finish waits until all ranks that live have made their calls. The lowest of them then
// audits; should it die of that, the next one does.
func (r *run) finish(job *sim.Job, client Client) error {
	for r.working > 0 {
		job.Sleep(pollNs)
	}
	job.Sleep(drainNs)
	for r.lowest() != job.Rank() && !r.audited {
		job.Sleep(pollNs)
	}
	if r.audited {
		return nil
	}
	err := r.audit(job, client)
	r.audited = true
	return err
}

func (r *run) audit(job *sim.Job, client Client) error {
	for _, call := range client.Audit() {
		if err := r.call(job, call); err != nil {
			return err
		}
	}
	return r.check(job, client)
}

const pollNs = 10_000

func (r *run) lowest() int {
	for rank, living := range r.living {
		if living {
			return rank
		}
	}
	return -1
}

// check has the table walked, where all memory is there.
func (r *run) check(job *sim.Job, client Client) error {
	if len(job.Failed()) > 0 && !r.schedule.opts.Faults.MemorySurvives {
		return nil
	}
	err := client.Check(context.Background(), r.history)
	if err != nil && !r.excused(err) {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}
