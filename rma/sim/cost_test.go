package sim_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/sim"
	"github.com/farhash/farhash/set"
)

// timed is how long an operation of a rank takes, in ns, from its posting until its
// result is taken.
func timed(m *member, post func() rma.Handle) (float64, error) {
	begin := m.NowNs()
	const times = 100 // so that fractions of a nanosecond count
	for range times {
		if _, err := m.finish(post()); err != nil {
			return 0, err
		}
	}
	return float64(m.NowNs()-begin) / times, nil
}

// On an idle network an operation takes what the formula says.
func TestFormula(t *testing.T) {
	for _, name := range sim.Presets() {
		cost, err := sim.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		cost.AtomicNs = 100
		processor := cost.PostNs + cost.SubmitNs + cost.TakeNs
		opts := sim.Options{Ranks: 3, RanksPerHost: 2, Cost: cost}
		mustTogether(t, opts, 4096, func(m *member) error {
			if m.Rank() != 0 {
				return nil
			}
			buf := make(rma.Buf, 4096)
			for _, c := range []struct {
				name   string
				want   float64
				onHost float64
				post   func(rank int) rma.Handle
			}{
				{"get of a word", 2*cost.LatencyNs + 8/cost.BytesPerNs,
					2*cost.HostLatencyNs + 8/cost.HostBytesPerNs,
					func(rank int) rma.Handle { return m.q.Get(buf[:1], m.w, rank, 5) }},
				{"get of 32 KiB", 2*cost.LatencyNs + 32768/cost.BytesPerNs,
					2*cost.HostLatencyNs + 32768/cost.HostBytesPerNs,
					func(rank int) rma.Handle { return m.q.Get(buf, m.w, rank, 0) }},
				{"put of 1 KiB", 2*cost.LatencyNs + 1024/cost.BytesPerNs,
					2*cost.HostLatencyNs + 1024/cost.HostBytesPerNs,
					func(rank int) rma.Handle { return m.q.Put(buf[:128], m.w, rank, 0) }},
				{"compare-and-swap", 2*cost.LatencyNs + 24/cost.BytesPerNs + 100,
					2*cost.HostLatencyNs + 24/cost.HostBytesPerNs + 100,
					func(rank int) rma.Handle { return m.q.CompareAndSwap(m.w, rank, 0, 0, 1) }},
			} {
				for rank, want := range map[int]float64{1: c.onHost, 2: c.want} {
					got, err := timed(m, func() rma.Handle { return c.post(rank) })
					if want += processor; err != nil || math.Abs(got-want) > 0.011 {
						t.Errorf("%s: a %s of rank %d took %.2f ns, %v, want %.2f",
							name, c.name, rank, got, err, want)
					}
				}
			}
			return nil
		})
	}
}

// LP's constants: c and alpha of a read, as LP 3.2 has them.
func TestEDRIsThatOfLP(t *testing.T) {
	mustTogether(t, sim.Options{Ranks: 2, Cost: sim.EDR()}, 64, func(m *member) error {
		if m.Rank() != 0 {
			return nil
		}
		buf := make(rma.Buf, 64)
		for _, words := range []int{1, 23, 64} {
			got, err := timed(m, func() rma.Handle { return m.q.Get(buf[:words], m.w, 1, 0) })
			if want := 1290 + 0.08*8*float64(words); err != nil || math.Abs(got-want) > 0.011 {
				t.Errorf("a read of %d words took %.2f ns, %v, want %.2f", words, got, err, want)
			}
		}
		return nil
	})
}

// rate is how many gets a second the ranks of the first host make of the ranks of another one.
func rate(t *testing.T, cost sim.Cost, perHost, words int) float64 {
	const each, depth = 200, 50
	opts := sim.Options{Ranks: 2 * perHost, RanksPerHost: perHost, Cost: cost}
	begin, end := int64(math.MaxInt64), int64(0)
	mustTogether(t, opts, words, func(m *member) error {
		if err := m.barrier(); err != nil || m.Rank() >= perHost {
			return err
		}
		begin = min(begin, m.NowNs())
		buf := make(rma.Buf, words)
		for range each / depth {
			var handles []rma.Handle
			for range depth {
				handles = append(handles, m.q.Get(buf, m.w, perHost+m.Rank(), 0))
			}
			for _, h := range handles {
				if _, err := m.finish(h); err != nil {
					return err
				}
			}
		}
		end = max(end, m.NowNs())
		return nil
	})
	return float64(each*perHost) / float64(end-begin) * 1e9
}

// With many ranks the card of their host is the limit, by its messages or its bytes.
func TestCardIsTheLimit(t *testing.T) {
	for _, c := range []struct {
		cost  sim.Cost
		words int
		want  float64
	}{
		{sim.EDR(), 1, 87.17e6},
		{sim.EDR(), 512, 12.5e9 / (4096 + 30)},
		{preset("tcp"), 1, 190e3},
		{preset("tcp"), 4096, 1.25e9 / (32768 + 30)},
	} {
		got := rate(t, c.cost, 28, c.words)
		if got > 1.001*c.want || got < 0.85*c.want {
			t.Errorf("%.0f gets of %d words a second by 28 ranks, want up to %.0f",
				got, c.words, c.want)
		}
		if one := rate(t, c.cost, 1, c.words); one > 1.001*c.want {
			t.Errorf("%.0f gets of %d words a second by one rank, more than the card's %.0f",
				one, c.words, c.want)
		}
	}
}

// A card receives one message after the other.
func TestManyPutsToOne(t *testing.T) {
	const ranks, words = 11, 4096
	took := int64(0)
	mustTogether(t, sim.Options{Ranks: ranks, Cost: sim.EDR()}, words, func(m *member) error {
		if err := m.barrier(); err != nil || m.Rank() == 0 {
			return err
		}
		begin := m.NowNs()
		err := m.put(0, 0, make([]uint64, words)...)
		took = max(took, m.NowNs()-begin)
		return err
	})
	each := int64(math.Round((8*words + 30) / 12.5))
	if least := (ranks - 1) * each; took < least || took > least+2000 {
		t.Errorf("%d puts of %d ns each to one rank took %d ns", ranks-1, each, took)
	}
}

// A collective call takes as many rounds of messages as there are bits in the number of hosts.
func TestBarrierTakesItsRounds(t *testing.T) {
	for hosts, rounds := range map[int]int64{1: 0, 2: 1, 3: 2, 8: 3, 9: 4} {
		cost := sim.EDR()
		opts := sim.Options{Ranks: 2 * hosts, RanksPerHost: 2, Cost: cost}
		mustTogether(t, opts, 1, func(m *member) error {
			begin := m.NowNs()
			err := m.barrier()
			want := rounds*int64(cost.LatencyNs) + 2*int64(cost.HostLatencyNs)
			if took := m.NowNs() - begin; took != want {
				t.Errorf("on %d hosts a barrier took %d ns, want %d", hosts, took, want)
			}
			return err
		})
	}
}

// What others do does not take a rank's time: neither long sleeps nor many short ones.
func TestOthersDoNotDelay(t *testing.T) {
	opts := sim.Options{Ranks: 3, Cost: sim.EDR()}
	mustTogether(t, opts, 1, func(m *member) error {
		for m.Rank() == 0 && m.NowNs() < 500_000 {
			m.Sleep(7777)
		}
		for m.Rank() == 1 && m.NowNs() < 500_000 {
			m.Sleep(7)
		}
		if m.Rank() < 2 {
			return nil
		}
		got, err := timed(m, func() rma.Handle { return m.q.Get(make(rma.Buf, 1), m.w, 1, 0) })
		if want := 1290 + 0.64; math.Abs(got-want) > 0.011 {
			t.Errorf("a get took %.2f ns, want %.2f", got, want)
		}
		return err
	})
}

// Stalls are rare, long and counted.
func TestStalls(t *testing.T) {
	run := func(every int) sim.Report {
		opts := sim.Options{Ranks: 2, Seed: 1, StallEvery: every, StallNs: 1_000_000}
		return mustTogether(t, opts, 1, func(m *member) error {
			for range 100 {
				if _, err := m.get(1, 0, 1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	few, many, none := run(100), run(10), run(0)
	if none.Stalls != 0 || few.Stalls == 0 || many.Stalls < 5*few.Stalls ||
		many.TimeNs < none.TimeNs+10_000_000 || many.TimeNs > int64(many.Stalls)*1_000_000 {
		t.Errorf("none: %v; few: %v; many: %v", none, few, many)
	}
}

// An atomic keeps the card of its target busy.
func TestAtomicsQueueAtTheirTarget(t *testing.T) {
	cost := sim.EDR()
	cost.AtomicNs = 500
	const ranks, each = 8, 50
	r := mustTogether(t, sim.Options{Ranks: ranks, Cost: cost}, 1, func(m *member) error {
		for range each {
			if _, err := m.add(0, 0, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if least := int64(ranks * each * 500); r.TimeNs < least || r.TimeNs > least+20_000 {
		t.Errorf("%d atomics of 500 ns took %d ns", ranks*each, r.TimeNs)
	}
}

// A slow rank computes and is reached more slowly.
func TestSlowRank(t *testing.T) {
	opts := sim.Options{Ranks: 3, Faults: sim.Faults{Slow: []sim.Slow{{Rank: 2, Factor: 10}}}}
	took := map[string]float64{}
	mustTogether(t, opts, 1, func(m *member) error {
		begin := m.NowNs()
		m.Compute(1000)
		took[fmt.Sprint("computing on ", m.Rank())] = float64(m.NowNs() - begin)
		if err := m.barrier(); err != nil || m.Rank() != 0 {
			return err
		}
		for _, rank := range []int{1, 2} {
			buf := make(rma.Buf, 1)
			got, err := timed(m, func() rma.Handle { return m.q.Get(buf, m.w, rank, 0) })
			if err != nil {
				return err
			}
			took[fmt.Sprint("get of ", rank)] = got
		}
		return nil
	})
	latency := sim.EDR().LatencyNs
	if took["computing on 1"] != 1000 || took["computing on 2"] != 10_000 ||
		math.Abs(took["get of 2"]-took["get of 1"]-2*9*latency) > 0.011 {
		t.Errorf("with rank 2 ten times slower and a latency of %v: %v", latency, took)
	}
}

func TestPresetNames(t *testing.T) {
	if _, err := sim.Preset("carrier pigeon"); err == nil ||
		!strings.Contains(err.Error(), "das5, edr, ndr, roce, tcp") {
		t.Errorf("a network that there is not: %v", err)
	}
}

// The preset DAS5 with find-or-put comes to the throughputs of OP Table 1: C = M = 32, half
// of the calls insert.
func TestDAS5ComesToTheThroughputOfOP(t *testing.T) {
	for _, c := range []struct {
		machines, perMachine int
		want                 float64 // million operations a second
	}{{2, 16, 10.17}, {48, 1, 11.73}} {
		const each = 100
		ranks, total := c.machines*c.perMachine, int64(0)
		opts := sim.Options{Ranks: ranks, RanksPerHost: c.perMachine, Cost: sim.DAS5(), Seed: 1}
		_, err := sim.Run(opts, func(job rma.Job) error {
			ctx, j := context.Background(), job.(*sim.Job)
			s, err := set.New(ctx, job, set.Config{Buckets: uint64(ranks) * each * 8, Chunk: 32,
				Chunks: 32, Depth: 1})
			if err != nil {
				return err
			}
			rng, word := j.Rand(), uint64(0)
			begin := j.NowNs()
			for i := range each {
				if i%2 == 0 {
					word = rng.Uint64() >> 1
				}
				if _, err := s.FindOrPut(word); err != nil {
					return err
				}
			}
			total += j.NowNs() - begin
			return job.Barrier(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := float64(ranks*ranks*each) / float64(total) * 1e3
		if math.Abs(got/c.want-1) > 0.15 {
			t.Errorf("%d machines with %d processes: %.2f million operations a second, OP has %.2f",
				c.machines, c.perMachine, got, c.want)
		}
	}
}

// What a job says that gets cost is about what they take: alone, and many in flight.
func TestGetCosts(t *testing.T) {
	for _, name := range sim.Presets() {
		cost, err := sim.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		mustTogether(t, sim.Options{Ranks: 2, Cost: cost}, 4096, func(m *member) error {
			if m.Rank() != 0 {
				return nil
			}
			buf, says := make(rma.Buf, 4096), m.Job.GetCosts()
			for _, bytes := range []int{64, 4096} {
				alone, err := timed(m, func() rma.Handle {
					return m.q.Get(buf[:bytes/8], m.w, 1, 0)
				})
				if err != nil {
					return err
				}
				many, err := inFlight(m, buf[:bytes/8])
				if err != nil {
					return err
				}
				more := float64(bytes - 64)
				for _, c := range []struct {
					what      string
					got, want float64
				}{{"alone", alone, says.Ns + more*says.ByteNs},
					{"in flight", many, says.EachNs + more*says.EachByteNs}} {
					if math.Abs(c.got-c.want) > 0.3*c.want {
						t.Errorf("%s: gets of %d bytes %s take %.1f ns, and %.1f by GetCosts",
							name, bytes, c.what, c.got, c.want)
					}
				}
			}
			return nil
		})
	}
}

// oneGet is a get as a step machine.
type oneGet struct {
	m      *member
	buf    rma.Buf
	handle rma.Handle
	posted bool
}

func (g *oneGet) Step(q rma.Queue) (rma.Handle, error) {
	if g.posted = !g.posted; g.posted {
		g.handle = q.Get(g.buf, g.m.w, 1, 0)
		return g.handle, nil
	}
	_, err := q.Value(g.handle)
	return rma.NoHandle, err
}

// inFlight is how long each of many gets takes of which 64 are in flight.
func inFlight(m *member, buf rma.Buf) (float64, error) {
	const gets, depth = 4096, 64
	var ops [depth]oneGet
	begin, left := m.NowNs(), gets
	err := rma.RunAll(context.Background(), m.q, depth, func(slot int) rma.Op {
		if left--; left < 0 {
			return nil
		}
		ops[slot] = oneGet{m: m, buf: buf}
		return &ops[slot]
	})
	return float64(m.NowNs()-begin) / gets, err
}
