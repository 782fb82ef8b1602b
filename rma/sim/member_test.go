package sim_test

import (
	"context"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// member is a rank with a window and a queue on it, and operations that wait.
type member struct {
	*sim.Job
	ctx context.Context
	w   rma.Window
	q   rma.Queue
}

// together runs fn on all ranks of a cluster, with a window of some words each. A rank
// that cannot have the window returns that error.
func together(opts sim.Options, words int, fn func(m *member) error) (sim.Report, error) {
	return sim.Run(opts, func(job rma.Job) error {
		m := &member{Job: job.(*sim.Job), ctx: context.Background()}
		var err error
		if m.w, err = job.NewWindow(m.ctx, rma.Spec{Name: "test", Words: words}); err != nil {
			return err
		}
		if m.q, err = job.NewQueue(64); err != nil {
			return err
		}
		return fn(m)
	})
}

// mustTogether is together where nothing may fail.
func mustTogether(t *testing.T, opts sim.Options, words int, fn func(m *member) error) sim.Report {
	t.Helper()
	r, err := together(opts, words, fn)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (m *member) finish(h rma.Handle) (uint64, error) {
	if err := m.q.Submit(); err != nil {
		return 0, err
	}
	if err := m.q.Wait(m.ctx, h); err != nil {
		return 0, err
	}
	return m.q.Value(h)
}

func (m *member) get(rank, off, words int) (rma.Buf, error) {
	buf := make(rma.Buf, words)
	_, err := m.finish(m.q.Get(buf, m.w, rank, off))
	return buf, err
}

func (m *member) put(rank, off int, words ...uint64) error {
	_, err := m.finish(m.q.Put(words, m.w, rank, off))
	return err
}

func (m *member) add(rank, off int, delta uint64) (uint64, error) {
	return m.finish(m.q.FetchAdd(m.w, rank, off, delta))
}

func (m *member) barrier() error { return m.Barrier(m.ctx) }

// preset is a cost that is known.
func preset(name string) sim.Cost {
	cost, err := sim.Preset(name)
	if err != nil {
		panic(err)
	}
	return cost
}
