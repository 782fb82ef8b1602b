package sim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

const ms = 1_000_000

// lossy are options of a slow network on which messages are lost.
func lossy(ranks, every int) sim.Options {
	cost := sim.EDR()
	cost.LatencyNs = 10 * ms
	return sim.Options{Ranks: ranks, Seed: 7, Cost: cost, PatienceNs: ms,
		Faults: sim.Faults{LossEvery: every, ResendNs: 300 * ms}}
}

// A lost message takes ResendNs longer, and 2 and 4 times that if it is lost again. No operation is
// lost.
func TestLossDelays(t *testing.T) {
	const gets, every = 1000, 4
	run := func(every int) (r sim.Report, took []int64) {
		r = mustTogether(t, lossy(2, every), 1, func(m *member) error {
			for m.Rank() == 0 && len(took) < gets {
				begin := m.NowNs()
				if seen, err := m.add(1, 0, 1); err != nil || seen != uint64(len(took)) {
					t.Fatalf("addition %d: %d, %v", len(took), seen, err)
				}
				took = append(took, m.NowNs()-begin)
			}
			return nil
		})
		return r, took
	}
	sure, each := run(0)
	r, took := run(every)
	if n := 2*gets/(every-1) + 1; r.Resent < uint64(n*8/10) || r.Resent > uint64(n*12/10) ||
		r.Lost > 0 || sure.Resent > 0 || r.Messages != sure.Messages {
		t.Errorf("resent should be about %d: %v; without losses %v", n, r, sure)
	}
	count := map[int64]int{}
	for i, ns := range took {
		late := ns - each[i]
		if count[late/(300*ms)]++; late%(300*ms) > 2 { // of rounding
			t.Fatalf("a loss delays by %d ns", late)
		}
	}
	if count[0] < gets/2 || count[1] < gets/5 || count[3] <= count[2] { // 56, 21, 7 and 4 %
		t.Errorf("delays in units of ResendNs: %v", count)
	}
}

// What one rank sends to another arrives in order, and waits for what was lost; what it sends to
// others does not.
func TestLossKeepsOrder(t *testing.T) {
	const each = 30
	var done [3][]int64 // when the puts to a rank were done
	opts := lossy(3, 20)
	opts.JitterNs = ms
	r := mustTogether(t, opts, each, func(m *member) error {
		if m.Rank() > 0 {
			return nil
		}
		var handles [3][]rma.Handle
		for i := range each {
			for to := 1; to < 3; to++ {
				handles[to] = append(handles[to], m.q.Put(rma.Buf{1}, m.w, to, i))
			}
		}
		if err := m.q.Submit(); err != nil {
			return err
		}
		for left := 2 * each; left > 0; m.Sleep(ms / 100) {
			for to := range handles {
				for len(handles[to]) > 0 && m.q.Done(handles[to][0]) {
					done[to] = append(done[to], m.NowNs())
					handles[to] = handles[to][1:]
					left--
				}
				for _, later := range handles[to][min(1, len(handles[to])):] {
					if m.q.Done(later) && !m.q.Done(handles[to][0]) {
						t.Fatalf("a put to rank %d overtook another one", to)
					}
				}
			}
		}
		return nil
	})
	if r.Resent < 2 {
		t.Fatal("too little was lost: take another seed")
	}
	overtaken := false
	for i := range each - 1 {
		overtaken = overtaken || done[2][i+1] < done[1][i]-100*ms ||
			done[1][i+1] < done[2][i]-100*ms
	}
	late := func(at int64) bool { return at > 300*ms }
	if !overtaken || !slices.ContainsFunc(append(done[1], done[2]...), late) {
		t.Errorf("nothing waits for a loss, or puts to different ranks wait for one another: %v",
			done[1:])
	}
}

// The seed decides what is lost, and without losses a run is as if there were no such option.
func TestLossIsReplayed(t *testing.T) {
	run := func(seed uint64, every int, resend int64) sim.Report {
		opts := sim.Random(4, 3)
		opts.Seed, opts.Faults.LossEvery, opts.Faults.ResendNs = seed, every, resend
		return mustTogether(t, opts, 4, program)
	}
	if a, b := run(1, 3, 0), run(1, 3, 0); a != b || a.Resent == 0 {
		t.Errorf("two runs with one seed: %v; %v", a, b)
	}
	if a, b := run(1, 3, 0), run(2, 3, 0); a.Trace == b.Trace {
		t.Errorf("two seeds: %v; %v", a, b)
	}
	if a, b := run(1, 0, 0), run(1, 0, 5*ms); a != b || a.Resent > 0 {
		t.Errorf("nothing is lost: %v; %v", a, b)
	}
}

// A message that would be sent again over a link that is cut fails with its operation.
func TestLossOverCutLink(t *testing.T) {
	opts := lossy(2, 2)
	opts.View = sim.ViewOwn
	opts.Faults.Cuts = []sim.Cut{{A: 0, B: 1, FromNs: 40 * ms}}
	const n = 20
	failed := 0
	mustTogether(t, opts, 1, func(m *member) error {
		if m.Rank() > 0 {
			m.Sleep(5000 * ms)
			if done := int(m.w.Words(1)[0]); done == 0 || done > n*3/4 || done < n-failed {
				t.Errorf("of %d additions %d failed, and %d were done", n, failed, done)
			}
			return nil
		}
		var handles []rma.Handle
		for range n {
			handles = append(handles, m.q.FetchAdd(m.w, 1, 0, 1))
		}
		for _, h := range handles {
			var why *sim.LostError
			if _, err := m.finish(h); errors.As(err, &why) {
				failed++
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	if failed < n/2 || failed == n {
		t.Errorf("%d of %d failed", failed, n)
	}
}

func TestLossEveryIsChecked(t *testing.T) {
	for _, f := range []sim.Faults{{LossEvery: 1}, {LossEvery: -1}, {ResendNs: -1}} {
		_, err := sim.Run(sim.Options{Ranks: 1, Faults: f}, func(rma.Job) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "LossEvery") &&
			!strings.Contains(err.Error(), "ResendNs") {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// Operations of a batch that use different connections do not wait for one another's losses: the
// batch takes as long as the slowest of them, and not as long as the slowest of each round.
func TestLossInBatch(t *testing.T) {
	const others, chain = 64, 10
	run := func(patience int64) (batch, slowest int64) {
		opts := lossy(1+others, 50)
		opts.PatienceNs = patience
		_, err := sim.Run(opts, func(job rma.Job) error {
			w, err := job.NewWindow(t.Context(), rma.Spec{Name: "words", Words: 1})
			if err != nil || job.Rank() > 0 {
				return err
			}
			q, err := job.NewQueue(others)
			if err != nil {
				return err
			}
			begin, next := job.(*sim.Job).NowNs(), 0
			err = rma.RunAll(t.Context(), q, others, func(int) rma.Op {
				if next++; next > others {
					return nil
				}
				return &adder{w: w, rank: next, left: chain}
			})
			batch = (job.(*sim.Job).NowNs() - begin) / ms
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank := 1; rank <= others; rank++ {
			opts.Seed++
			alone := int64(0)
			mustTogether(t, opts, 1, func(m *member) error {
				begin := m.NowNs()
				for range chain {
					if m.Rank() > 0 {
						break
					}
					if _, err := m.add(1, 0, 1); err != nil {
						return err
					}
				}
				alone = max(alone, (m.NowNs()-begin)/ms)
				return nil
			})
			slowest = max(slowest, alone)
		}
		return batch, slowest
	}
	batch, slowest := run(ms)
	if batch > slowest+400 { // a loss more or less is chance
		t.Errorf("the batch takes %d ms, and one operation %d at most", batch, slowest)
	}
	if impatient, _ := run(0); impatient < batch+400 {
		t.Errorf("without patience %d ms, with it %d", impatient, batch)
	}
}
