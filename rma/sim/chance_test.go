package sim_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
)

// busy has a rank do a bit of everything at random places.
func busy(m *member) error {
	rng := m.Rand()
	for range 20 {
		rank, off := rng.IntN(m.Size()), rng.IntN(8)
		_, err := m.get(rank, off, 8)
		if err == nil {
			err = m.put(rank, off, 1, 2, 3)
		}
		if err == nil {
			_, err = m.add(rank, off, 1)
		}
		if err != nil {
			return err
		}
	}
	return m.barrier()
}

// The seed decides everything: the events, the order of the ranks' steps and the result.
func TestSeedDecides(t *testing.T) {
	run := func(seed uint64) (r sim.Report, trace string) {
		var log bytes.Buffer
		opts := sim.Random(5, seed)
		opts.Trace = &log
		opts.Faults.KillEvery = 100
		r, err := together(opts, 16, busy)
		return r, fmt.Sprint(log.String(), r, err)
	}
	seen := map[uint64]uint64{}
	replay.Seeds(t, 30, func(t *testing.T, seed uint64) {
		first, trace := run(seed)
		if again, traceAgain := run(seed); again != first || traceAgain != trace {
			t.Errorf("%+v at first and %+v again; the traces are equal: %v", first, again,
				trace == traceAgain)
		}
		if other, ok := seen[first.Trace]; ok {
			t.Errorf("seeds %d and %d have the same trace", seed, other)
		}
		seen[first.Trace] = seed
	})
}

// Ranks that do the same at the same time do not always come in the same order.
func TestOrderIsLeftToChance(t *testing.T) {
	firsts := map[int]int{}
	for seed := range uint64(100) {
		mustTogether(t, sim.Options{Ranks: 3, Seed: seed}, 1, func(m *member) error {
			if m.Rank() == 0 {
				return nil
			}
			seen, err := m.add(0, 0, 1)
			if seen == 0 {
				firsts[m.Rank()]++
			}
			return err
		})
	}
	if firsts[1] < 20 || firsts[2] < 20 {
		t.Errorf("of ranks 1 and 2, as far from rank 0, these were first: %v", firsts)
	}
}

// wide is how many words the ranks of tear put and get at once.
const wide = 12

// tear has rank 0 put rows of equal words and the others read rows, and counts the
// rows that are of two puts.
func tear(t *testing.T, opts sim.Options) (torn int) {
	mustTogether(t, opts, wide, func(m *member) error {
		for i := range uint64(30) {
			if m.Rank() == 0 {
				if err := m.put(1, 0, slices.Repeat([]uint64{i<<32 | i}, wide)...); err != nil {
					return err
				}
				continue
			}
			row, err := m.get(1, 0, wide)
			if err != nil {
				return err
			}
			for _, word := range row {
				if word>>32 != word&0xffffffff {
					t.Errorf("word %x is of two puts", word)
				}
			}
			if slices.Min(row) != slices.Max(row) {
				torn++
			}
		}
		return nil
	})
	return torn
}

func TestTearing(t *testing.T) {
	replay.Seeds(t, 5, func(t *testing.T, seed uint64) {
		if torn := tear(t, sim.Options{Ranks: 3, Seed: seed, TearNs: 2000}); torn == 0 {
			t.Error("no get was torn")
		}
		opts := sim.Options{Ranks: 3, Seed: seed, JitterNs: 5000}
		if torn := tear(t, opts); torn > 0 {
			t.Errorf("%d gets were torn without TearNs", torn)
		}
	})
}

// Operations of one queue on different words overtake each other where there is jitter, and
// complete so; those on one word do not.
func TestOvertaking(t *testing.T) {
	overtook := 0
	replay.Seeds(t, 20, func(t *testing.T, seed uint64) {
		opts := sim.Options{Ranks: 2, Seed: seed, JitterNs: 5000}
		mustTogether(t, opts, 2, func(m *member) error {
			if m.Rank() == 1 {
				return nil
			}
			a := m.q.FetchAdd(m.w, 1, 0, 1)
			b := m.q.FetchAdd(m.w, 1, 1, 1)
			c := m.q.FetchAdd(m.w, 1, 0, 1)
			if err := m.q.Submit(); err != nil {
				return err
			}
			for !m.q.Done(a) && !m.q.Done(b) && !m.q.Done(c) {
			}
			if !m.q.Done(a) {
				overtook++
			}
			for i, h := range []rma.Handle{a, b, c} {
				seen, err := m.finish(h)
				if want := []uint64{0, 0, 1}[i]; err != nil || seen != want {
					return fmt.Errorf("addition %d saw %d, %v, want %d", i, seen, err, want)
				}
			}
			return nil
		})
	})
	if !t.Failed() && overtook == 0 {
		t.Error("the first operation was always done first")
	}
}

// A get's buffer is not to be read before it is done, nor a put's to be changed.
func TestBuffersInFlight(t *testing.T) {
	mustTogether(t, sim.Options{Ranks: 2}, 1, func(m *member) error {
		if m.Rank() == 1 {
			return nil
		}
		buf := rma.Buf{7}
		h := m.q.Get(buf, m.w, 1, 0)
		if err := m.q.Submit(); err != nil {
			return err
		}
		if buf[0] == 7 || buf[0] == 0 {
			t.Errorf("the buffer of a get in flight holds %d, as if it were done or unused", buf[0])
		}
		if _, err := m.finish(h); err != nil || buf[0] != 0 {
			t.Errorf("a get of 0 brought %d, %v", buf[0], err)
		}
		h = m.q.Put(buf, m.w, 1, 0)
		if err := m.q.Submit(); err != nil {
			return err
		}
		buf[0] = 9 // too early
		if _, err := m.finish(h); err != nil {
			return err
		}
		if got, err := m.get(1, 0, 1); err != nil || got[0] != 9 {
			t.Errorf("a put whose buffer was changed in flight wrote %d, %v, want 9", got[0], err)
		}
		return nil
	})
}

// Where atomics are not coherent with CPUs, what the owner writes while one is under
// way is lost; the engine's atomics lose nothing to each other.
func TestIncoherentAtomics(t *testing.T) {
	for _, incoherent := range []bool{false, true} {
		lost := uint64(0)
		replay.Seeds(t, 5, func(t *testing.T, seed uint64) {
			const rounds = 50
			opts := sim.Options{Ranks: 3, Seed: seed, View: sim.ViewOwn, Incoherent: incoherent,
				JitterNs: 3000}
			mustTogether(t, opts, 2, func(m *member) error {
				if got := m.w.CPUAtomicsCoherent(); got == incoherent {
					t.Errorf("incoherent %v: CPUAtomicsCoherent is %v", incoherent, got)
				}
				for range rounds {
					if m.Rank() == 0 {
						m.w.Words(0)[0]++ // nothing else happens here
						m.Sleep(1000)
					} else if _, err := m.add(0, 0, 1); err != nil {
						return err
					} else if _, err := m.add(0, 1, 1); err != nil {
						return err
					}
				}
				if err := m.barrier(); err != nil || m.Rank() > 0 {
					return err
				}
				words := m.w.Words(0)
				if words[1] != 2*rounds {
					t.Errorf("%d additions came to %d", 2*rounds, words[1])
				}
				lost += 3*rounds - words[0]
				return nil
			})
		})
		if !t.Failed() && (lost > 0) != incoherent {
			t.Errorf("incoherent %v: %d additions were lost", incoherent, lost)
		}
	}
}

// A window shows what View says.
func TestViews(t *testing.T) {
	for view, want := range map[sim.View]string{sim.ViewNone: "[false false false]",
		sim.ViewOwn: "[false true false]", sim.ViewHost: "[true true false]",
		sim.ViewAll: "[true true true]"} {
		opts := sim.Options{Ranks: 3, RanksPerHost: 2, View: view}
		mustTogether(t, opts, 4, func(m *member) error {
			var seen []bool
			for rank := range m.Size() {
				seen = append(seen, len(m.w.Words(rank)) == 4)
			}
			if m.Rank() == 1 && fmt.Sprint(seen) != want {
				t.Errorf("view %d: rank 1 sees %v, want %v", view, seen, want)
			}
			if flat := len(core.Flat(m.w)); (flat == 12) != (view == sim.ViewAll) {
				t.Errorf("view %d: a flat view of %d words", view, flat)
			}
			return nil
		})
	}
}

// Ranks that make different collective calls all get the same error.
func TestDifferentCollectiveCalls(t *testing.T) {
	for _, spec := range []rma.Spec{{Name: "window", Words: 5}, {}} {
		texts := make([]string, 3)
		mustTogether(t, sim.Options{Ranks: 3}, 1, func(m *member) error {
			var err error
			if m.Rank() == 2 {
				_, err = m.NewWindow(m.ctx, spec)
			} else {
				err = m.barrier()
			}
			texts[m.Rank()] = fmt.Sprint(err)
			return m.barrier() // they are still in step
		})
		want := fmt.Sprintf("rank 0 calls Barrier, rank 2 makes window %q", spec.Name)
		if !strings.Contains(texts[0], want) || texts[1] != texts[0] || texts[2] != texts[0] {
			t.Errorf("%q, want %s", texts, want)
		}
	}
}
