package lp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
	"github.com/farhash/farhash/eval/lp/baseline"
)

// LP 7 asks how two-sided linear probing compares with one-sided cuckoo hashing at high load. Here
// each worker of the client sends keys to a core of the server, one in a message, and that searches
// its own memory and sends the value back. A message is a put of a word, which is acknowledged: so
// a lookup takes two messages of each card in each direction.
//
// A core posts and sends messages besides, which takes time as well. So the time for a request at
// which both have the same throughput is found by simulating it.

var (
	// twoSidedLoads are the higher loads of LP Table 1.
	twoSidedLoads = []float64{0.5, 0.65, 0.8, 0.85, 0.9, 0.95}
	// twoSidedNs are times of a core for a request, without the search beyond the first line.
	twoSidedNs = []int64{250, 500, 1000, 2000}
)

const (
	// lineNs is what a core takes for each further line of 64 bytes, which it reads in order.
	lineNs   = 5
	slotLine = 64 / 8 // slots
	// idleNs is how long who finds no message waits before it looks again.
	idleNs = 50
	// evenEnough is how much throughputs differ at most that count as the same, and evenSteps how
	// many times are tried: a few are needed.
	evenEnough = 0.002
	evenSteps  = 20
	// twoSidedEach is how many lookups a worker does.
	twoSidedEach = 400
)

// twoSided is the experiment.
func twoSided() *experiment.Experiment {
	v := view.View{Name: "LPTwoSided", Across: "impl", Title: "LP 7: two-sided linear probing " +
		"beside one-sided cuckoo hashing, million lookups a second, simulated",
		Notes: `28 workers, and for two-sided 28 cores of the server, each of which takes so many ns
for a request and 5 ns for each further line that it searches. A key is sent in a message of its
own.`,
		Columns: []view.Column{{Unit: "sim-Mrecords/s", Head: " ", Digits: 1}},
		Plots: []view.Plot{{Title: "throughput, simulated", X: "load", Y: "sim-Mrecords/s",
			YName: "million lookups/s", LogY: true}}}
	return &experiment.Experiment{
		Name: "two-sided", Computed: true, Reproducible: true, Takes: "10 s",
		Short: "LP 7: two-sided linear probing beside one-sided cuckoo hashing, by load",
		Views: []view.View{v, {Name: "LPTwoSidedEven", Title: "Time of a core for a request at " +
			"which two-sided has the throughput of one-sided cuckoo hashing, simulated",
			Columns: []view.Column{{Unit: "lines", Head: "lines searched", Digits: 1},
				{Unit: "ns", Whole: true}, {Unit: "ratio", Head: "throughput", Digits: 3}}}},
		New: atLoads(func(ctx context.Context, loads []float64, each int,
			emit experiment.Emit) error {
			return simulateTwoSided(ctx, loads, simulatedWorkers, each, emit)
		}),
	}
}

// atLoads makes a runner that simulates so many lookups of each worker at some loads.
func atLoads(simulate func(ctx context.Context, loads []float64, each int,
	emit experiment.Emit) error) func(flags *pflag.FlagSet) experiment.Runner {
	return func(flags *pflag.FlagSet) experiment.Runner {
		loads := flags.Float64Slice("load", twoSidedLoads, "loads of the table")
		each := flags.Int("each", twoSidedEach, "lookups of each worker")
		return computed{func() error {
			err := experiment.InRange("each", *each, 1, 1<<20)
			for _, load := range *loads {
				err = errors.Join(err, experiment.InRange("load", load, 0.01, 0.95))
			}
			return err
		}, func(emit experiment.Emit) error {
			return simulate(context.Background(), *loads, *each, emit)
		}}
	}
}

// simulateTwoSided does all loads.
func simulateTwoSided(ctx context.Context, loads []float64, workers, each int,
	emit experiment.Emit) error {
	for _, load := range loads {
		rate := func(impl string, rate float64) {
			emit(record.Record{Name: "LPTwoSided", N: workers * each, Keys: []record.Key{
				record.K("load", load), record.K("impl", impl)},
				Values: []record.Value{{Value: rate, Unit: "sim-Mrecords/s"}}})
		}
		var cuckoo float64
		for _, of := range []impl{cuckooParallel, linearModel} {
			is, err := oneSidedRate(ctx, newCase(of, load), workers, each)
			if err != nil {
				return err
			}
			if of == cuckooParallel {
				cuckoo = is
			}
			rate(string(of), is)
		}
		even, err := simulateServers(ctx, load, workers, each, cuckoo, rate)
		if err != nil {
			return err
		}
		is := record.Record{Name: "LPTwoSidedEven", N: workers * each,
			Keys:   []record.Key{record.K("load", load)},
			Values: []record.Value{{Value: even.lines, Unit: "lines"}}}
		if even.rate > 0 {
			is.Values = append(is.Values, record.Value{Value: even.ns, Unit: "ns"},
				record.Value{Value: even.rate / cuckoo, Unit: "ratio"})
		}
		emit(is)
	}
	return nil
}

// oneSidedRate is the throughput of a case.
func oneSidedRate(ctx context.Context, of lookupCase, workers, each int) (rate float64, err error) {
	t, err := newSimulatedTable(ctx, of.shape(), of.newKeys(0, int(of.load*simulatedBytes/8)))
	if err != nil {
		return 0, err
	}
	s, err := t.simulate(ctx, of.lookups(), workers, each, each)
	if err == nil {
		rate = float64(s.stats.Matches) / s.elapsedNs() * 1e3
	}
	return rate, errors.Join(err, t.close())
}

// even is where two-sided lookups have the throughput of one-sided ones.
type even struct {
	ns    float64 // of a core for a request
	rate  float64 // there, 0 if there is no such time
	lines float64 // of a search, in the mean
}

// simulateServers does all times of a core at a load, and finds the one with the throughput that
// one-sided lookups have.
func simulateServers(ctx context.Context, load float64, workers, each int, oneSided float64,
	rate func(impl string, rate float64)) (at even, err error) {
	of := newCase(linearModel, load)
	k := of.newKeys(0, int(load*simulatedBytes/8))
	job := local.Single()
	built, err := of.shape().build(ctx, job, &k)
	if err != nil {
		return at, errors.Join(err, job.Close())
	}
	defer func() { err = errors.Join(err, built.Close(), job.Close()) }()
	s := &servers{ctx: ctx, table: built.(baselineTable).Table, keys: &k, cores: workers,
		each: each}
	for _, ns := range twoSidedNs {
		is, err := s.simulate(ns)
		if err != nil {
			return at, err
		}
		rate(fmt.Sprintf("two-sided-%d-ns", ns), is)
	}
	at, err = s.meet(oneSided)
	at.lines = float64(s.lines) / float64(workers*each)
	return at, err
}

// meet finds the time at which two-sided lookups have a throughput. Without one the rate is 0.
func (s *servers) meet(wanted float64) (at even, err error) {
	// A core is busy for each request with this time, and with the rest of what it does.
	coreNs := func(rate float64) float64 { return float64(s.cores) / rate * 1e3 }
	ns := coreNs(wanted)
	for range evenSteps {
		at.ns = math.Round(max(0, ns))
		if at.rate, err = s.simulate(int64(at.ns)); err != nil {
			return at, err
		}
		if math.Abs(at.rate/wanted-1) < evenEnough {
			return at, nil
		}
		ns = at.ns + coreNs(wanted) - coreNs(at.rate)
	}
	at.rate = 0
	return at, nil
}

// simulate has the cores take a time for a request, and returns million lookups a second.
func (s *servers) simulate(requestNs int64) (rate float64, err error) {
	s.requestNs, s.beginNs, s.endNs, s.lines = requestNs, 0, 0, 0
	_, err = sim.Run(sim.Options{Ranks: 2 * s.cores, RanksPerHost: s.cores, Seed: 1,
		Cost: simulatedCost(), View: sim.ViewOwn, MaxTimeNs: sim.MaxNs, MaxSteps: math.MaxUint64,
		Context: s.ctx}, func(job rma.Job) error { return s.rank(job.(*sim.Job)) })
	if err != nil {
		return 0, fmt.Errorf("two-sided: %w", err)
	}
	return float64(s.cores*s.each) / float64(max(s.endNs-s.beginNs, 1)) * 1e3, nil
}

// servers is a simulated run: ranks below cores are workers of the client, and worker i has core i
// of the server for itself. One of them runs at a time.
type servers struct {
	ctx       context.Context
	table     *baseline.Table
	keys      *keys
	cores     int
	each      int
	requestNs int64

	beginNs, endNs int64 // when the last worker began, and ended
	lines          int   // searched
}

// end is sent in place of a number, after the last answer.
const end = 1<<32 - 1

// mailbox is the words that a rank gets from another one, a word for each request in flight, and
// the queue that answers. A word is the number of a request and a key, or a value.
type mailbox struct {
	in   []uint64
	seen [simulatedDepth]uint64 // numbers
	q    rma.Queue
	w    rma.Window
	peer int
	out  [simulatedDepth]rma.Buf
	sent [simulatedDepth]rma.Handle
}

func (s *servers) open(job *sim.Job) (*mailbox, error) {
	w, err := job.NewWindow(s.ctx, rma.Spec{Name: "lp: requests", Words: simulatedDepth})
	if err != nil {
		return nil, err
	}
	b := &mailbox{in: w.Words(job.Rank()), w: w, peer: (job.Rank() + s.cores) % (2 * s.cores)}
	b.q, err = job.NewQueue(simulatedDepth)
	for i := range b.out {
		if b.sent[i] = rma.NoHandle; err == nil {
			b.out[i], err = b.q.Alloc(1)
		}
	}
	return b, err
}

// send sends a word, after the one before in its place has come.
func (b *mailbox) send(ctx context.Context, place int, number uint64, word uint32) error {
	if h := b.sent[place]; h != rma.NoHandle {
		if err := b.q.Wait(ctx, h); err != nil {
			return err
		}
		if _, err := b.q.Value(h); err != nil {
			return err
		}
	}
	b.out[place][0] = number<<32 | uint64(word)
	b.sent[place] = b.q.Put(b.out[place], b.w, b.peer, place)
	return b.q.Submit()
}

// receive returns a word that has come, with its number, or 0 if there is none.
func (b *mailbox) receive(place int) (number uint64, word uint32) {
	if number = b.in[place] >> 32; number == b.seen[place] {
		return 0, 0
	}
	b.seen[place] = number
	return number, uint32(b.in[place])
}

func (s *servers) rank(job *sim.Job) error {
	b, err := s.open(job)
	if err == nil {
		err = job.Barrier(s.ctx)
	}
	if err == nil && job.Rank() < s.cores {
		err = s.work(job, b)
	} else if err == nil {
		err = s.serve(job, b)
	}
	return errors.Join(err, job.Barrier(s.ctx), job.Close())
}

// work looks keys up.
func (s *servers) work(job *sim.Job, b *mailbox) error {
	sample, _, want := s.keys.sample(job.Rank(), s.each)
	s.beginNs = max(s.beginNs, job.NowNs())
	asked, done, stamps := 0, 0, uint64(0)
	ask := func(place int) error {
		if asked == s.each {
			return nil
		}
		asked++
		return b.send(s.ctx, place, uint64(asked), binary.LittleEndian.Uint32(sample[4*asked-4:]))
	}
	for place := range b.in {
		if err := ask(place); err != nil {
			return err
		}
	}
	for done < s.each {
		before := done
		for place := range b.in {
			number, value := b.receive(place)
			if number == 0 {
				continue
			}
			done, stamps = done+1, stamps+uint64(value)
			if err := ask(place); err != nil {
				return err
			}
		}
		if done == before {
			job.Sleep(idleNs)
		}
	}
	s.endNs = max(s.endNs, job.NowNs())
	if stamps != want {
		return fmt.Errorf("the values of %d keys are wrong", s.each)
	}
	return b.send(s.ctx, 0, end, 0)
}

// serve answers requests.
func (s *servers) serve(job *sim.Job, b *mailbox) error {
	var key [4]byte
	for {
		idle := true
		for place := range b.in {
			number, word := b.receive(place)
			switch number {
			case 0:
				continue
			case end:
				return nil
			}
			idle = false
			binary.LittleEndian.PutUint32(key[:], word)
			value := uint32(0)
			slots := s.table.Search(key[:], func(v index.Value) { value = uint32(stampOf(v)) })
			lines := (slots + slotLine - 1) / slotLine
			s.lines += lines
			job.Compute(s.requestNs + lineNs*int64(lines-1))
			if err := b.send(s.ctx, place, number, value); err != nil {
				return err
			}
		}
		if idle {
			job.Sleep(idleNs)
		}
	}
}
