package sim_test

import (
	"errors"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// A link that is cut holds messages, or loses the request or the response.
func TestCutLink(t *testing.T) {
	const from = 100_000
	latency := int64(sim.EDR().LatencyNs)
	for _, c := range []struct {
		name     string
		cut      sim.Cut
		retryNs  int64
		lost     bool
		happened uint64
		least    int64 // ns that the addition takes
	}{
		{"held", sim.Cut{A: 1, B: 0, FromNs: 50_000, ToNs: from + 9000}, 20_000, false, 1, 9000},
		{"request lost", sim.Cut{A: 0, B: 1, FromNs: 50_000, ToNs: from + 90_000}, 20_000,
			true, 0, 20_000},
		{"response lost", sim.Cut{A: 0, B: 1, FromNs: from + latency, ToNs: 0}, 20_000,
			true, 1, latency + 20_000},
		{"response held", sim.Cut{A: 0, B: 1, FromNs: from + latency, ToNs: from + 9000}, 20_000,
			false, 1, 9000},
		{"another link", sim.Cut{A: 0, B: 2, FromNs: 0, ToNs: 0}, 20_000, false, 1, 0},
		{"another time", sim.Cut{A: 0, B: 1, FromNs: 50_000, ToNs: from}, 20_000, false, 1, 0},
	} {
		opts := sim.Options{Ranks: 3, View: sim.ViewOwn, Faults: sim.Faults{
			Cuts: []sim.Cut{c.cut}, RetryNs: c.retryNs}}
		r := mustTogether(t, opts, 1, func(m *member) error {
			m.Sleep(from - m.NowNs())
			if m.Rank() == 1 {
				m.Sleep(500_000)
				if got := m.w.Words(1)[0]; got != c.happened {
					t.Errorf("%s: the word is %d, want %d", c.name, got, c.happened)
				}
			}
			if m.Rank() != 0 {
				return nil
			}
			begin := m.NowNs()
			_, err := m.add(1, 0, 1)
			took := m.NowNs() - begin
			var lost *sim.LostError
			var dead *rma.RankError
			if errors.As(err, &lost) != c.lost || c.lost && lost.Died || !c.lost && err != nil ||
				errors.As(err, &dead) {
				t.Errorf("%s: %v", c.name, err)
			}
			if took < c.least || took > c.least+2000 {
				t.Errorf("%s: it took %d ns, want %d or a little more", c.name, took, c.least)
			}
			return nil
		})
		if (r.Lost > 0) != c.lost {
			t.Errorf("%s: %d lost", c.name, r.Lost)
		}
	}
}

// An operation that was lost holds up none of those on its word that follow when the link is back.
func TestLinkIsBack(t *testing.T) {
	const back = 100_000
	opts := sim.Options{Ranks: 2, Faults: sim.Faults{RetryNs: 1000,
		Cuts: []sim.Cut{{A: 0, B: 1, ToNs: back}}}}
	mustTogether(t, opts, 1, func(m *member) error {
		if m.Rank() == 1 {
			return nil
		}
		var lost *sim.LostError
		if _, err := m.add(1, 0, 1); !errors.As(err, &lost) {
			t.Errorf("an addition over a link that is cut: %v", err)
		}
		m.Sleep(back)
		seen, err := m.add(1, 0, 1)
		if seen != 0 {
			t.Errorf("an addition that was lost has added %d", seen)
		}
		return err
	})
}

// An operation that was lost does not disturb the one that is made in its place.
func TestLostOperationIsForgotten(t *testing.T) {
	cost := sim.EDR()
	cost.AtomicNs = 1_000_000
	opts := sim.Options{Ranks: 3, Cost: cost, Faults: sim.Faults{RetryNs: 1000,
		Cuts: []sim.Cut{{A: 0, B: 1, FromNs: 100_001}}}}
	mustTogether(t, opts, 1, func(m *member) error {
		if m.Rank() != 0 {
			return nil
		}
		m.Sleep(100_000 - m.NowNs() - int64(cost.PostNs+cost.SubmitNs))
		m.q.FetchAdd(m.w, 1, 0, 1) // leaves just before the link is cut
		if err := m.q.Submit(); err != nil {
			return err
		}
		lost := m.q.FetchAdd(m.w, 1, 0, 1)  // was to follow it, and is lost
		first := m.q.FetchAdd(m.w, 2, 0, 1) // is done a little later than the one that left
		var why *sim.LostError
		if _, err := m.finish(lost); !errors.As(err, &why) {
			t.Errorf("an addition over a link that is cut: %v", err)
		}
		second := m.q.Put(rma.Buf{7}, m.w, 2, 0) // in the place of the one lost
		_, err := m.finish(second)
		if err != nil {
			return err
		}
		seen, err := m.finish(first)
		if err != nil || seen != 0 {
			t.Errorf("an addition before a put saw %d, %v", seen, err)
		}
		return err
	})
}
