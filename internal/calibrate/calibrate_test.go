package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"
)

// simulated measures a simulated cluster in virtual time.
func simulated(t *testing.T, cost sim.Cost, ranks int) *Result {
	t.Helper()
	var r *Result
	_, err := sim.Run(sim.Options{Ranks: ranks, Cost: cost, Seed: 1}, func(job rma.Job) error {
		one, err := Measure(context.Background(), job, Config{SegmentBytes: 1 << 16,
			Rounds: 4, NowNs: job.(*sim.Job).NowNs})
		if (one != nil) != (job.Rank() == 0) {
			t.Errorf("rank %d: %+v", job.Rank(), one)
		}
		if one != nil {
			r = one
		}
		return errors.Join(err, job.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMeasureCluster finds the parameters of simulated machines.
func TestMeasureCluster(t *testing.T) {
	slow := sim.EDR()
	slow.LatencyNs, slow.BytesPerNs, slow.MessagesPerSecond = 4000, 1, 5e6
	for name, cost := range map[string]sim.Cost{"edr": sim.EDR(), "slow": slow} {
		// Two cards, both of which send requests and answers.
		r := simulated(t, cost, 2)
		cpuNs := cost.PostNs + cost.SubmitNs + cost.TakeNs
		// A rank alone does not post fast enough for a fast card.
		rate := min(cost.MessagesPerSecond, 2e9/(cost.PostNs+cost.TakeNs))
		for _, p := range []struct {
			what              string
			got, want, within float64 // relative
		}{
			{"c", r.LatencyNs, 2*cost.LatencyNs + cpuNs, .05},
			{"alpha", r.ByteNs, 1 / cost.BytesPerNs, .02},
			{"l", r.LinkBytesPerSecond, 2 * cost.BytesPerNs * 1e9, .1},
			{"rho0", r.MessagesPerSecond, rate, .1},
		} {
			if math.Abs(p.got/p.want-1) > p.within {
				t.Errorf("%s: %s is %v, want %v", name, p.what, p.got, p.want)
			}
		}
		// Alone in flight, a read takes as long as the line says; what is in flight beside it
		// makes more of them.
		if alone := r.Rates[0]; math.Abs(alone.PerSecond*r.Points[0].Ns/2e9-1) > .1 ||
			alone.Bytes != 8 || alone.Flight != 1 {
			t.Errorf("%s: %+v where a read takes %v ns", name, alone, r.Points[0].Ns)
		}
		for i, rate := range r.Rates[1:] {
			before := r.Rates[i]
			if rate.Bytes == before.Bytes && (rate.Flight <= before.Flight ||
				rate.PerSecond < .99*before.PerSecond) {
				t.Errorf("%s: %+v after %+v", name, rate, before)
			}
		}
		if r.Ranks != 2 || r.HeaderBytes != 30 || len(r.Points) != len(lengths) ||
			len(r.Rates) != 16 || r.Shipped != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestMeasureNarrow: where bytes limit the rate of messages, it is of reads of one word.
func TestMeasureNarrow(t *testing.T) {
	cost := sim.EDR()
	cost.BytesPerNs = .01
	got := simulated(t, cost, 2).MessagesPerSecond
	// Each card sends a request and an answer for each read.
	if want := 2e9 * cost.BytesPerNs / float64(2*cost.HeaderBytes+8); math.Abs(got/want-1) > .05 {
		t.Errorf("%v messages a second, want %v", got, want)
	}
}

// TestMeasureSlow: where operations take long, less is measured, and what is left out is named.
func TestMeasureSlow(t *testing.T) {
	for _, c := range []struct {
		perReadNs      float64
		limit          time.Duration
		rounds         int
		least, missing int
	}{
		{10e6, time.Hour, 0, 16, 0}, {10e6, 4 * time.Minute, 0, 16, 0},
		{10e6, 20 * time.Second, 0, 0, 1}, {100e6, 4 * time.Minute, 1 << 8, 16, 0},
	} {
		cost := sim.EDR()
		cost.LatencyNs = c.perReadNs / 2
		var r *Result
		var tookNs int64
		_, err := sim.Run(sim.Options{Ranks: 2, Cost: cost, Seed: 1}, func(job rma.Job) error {
			now := func() int64 { return job.(*sim.Job).NowNs() + int64(time.Hour) }
			began := now()
			one, err := Measure(context.Background(), job, Config{SegmentBytes: 1<<14 + 8,
				Limit: c.limit, Rounds: c.rounds, NowNs: now})
			if one != nil {
				r, tookNs = one, now()-began
			}
			return errors.Join(err, job.Close())
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rates) < c.least || len(r.Missing) < c.missing ||
			len(r.Rates)+len(r.Missing) != 16 || tookNs > int64(c.limit) {
			t.Errorf("within %v: %d rates after %v, without %q", c.limit, len(r.Rates),
				time.Duration(tookNs), r.Missing)
		}
		if math.Abs(r.LatencyNs/c.perReadNs-1) > .05 {
			t.Errorf("within %v: %v ns for a read", c.limit, r.LatencyNs)
		}
		t.Logf("within %v: %v", c.limit, time.Duration(tookNs))
	}
}

// TestMeasureRates: rates are of all ranks together.
func TestMeasureRates(t *testing.T) {
	two, four := simulated(t, sim.EDR(), 2), simulated(t, sim.EDR(), 4)
	for what, v := range map[string][2]float64{
		"messages": {two.MessagesPerSecond, four.MessagesPerSecond},
		"bytes":    {two.LinkBytesPerSecond, four.LinkBytesPerSecond},
	} {
		if ratio := v[1] / v[0]; ratio < 1.5 || ratio > 2.2 {
			t.Errorf("%s a second: %v with 2 ranks, %v with 4", what, v[0], v[1])
		}
	}
	if math.Abs(four.LatencyNs/two.LatencyNs-1) > .01 {
		t.Errorf("latency %v with 2 ranks, %v with 4", two.LatencyNs, four.LatencyNs)
	}
}

// TestMeasureHere runs on the engine that every machine has.
func TestMeasureHere(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		options := local.Options{Hidden: true}
		err := local.RunWith(options, ranks, func(job rma.Job) error {
			r, err := Measure(context.Background(), job, Config{SegmentBytes: 1 << 17,
				Rounds: 2})
			if job.Rank() == 0 && err == nil && (r.check() != nil || r.Ranks != ranks) {
				t.Errorf("%d ranks: %+v", ranks, r)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestShipped: where the engine carries requests and there is another rank, they are measured.
func TestShipped(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		options := local.Options{Hidden: true, Carries: true}
		err := local.RunWith(options, ranks, func(job rma.Job) error {
			r, err := Measure(context.Background(), job, Config{SegmentBytes: 1 << 17,
				Rounds: 2})
			if err != nil || job.Rank() > 0 {
				return err
			}
			s := r.Shipped
			if ranks == 1 {
				if s != nil {
					t.Errorf("alone: %+v", s)
				}
				return nil
			}
			if len(s.Points) != len(shipLengths) || len(s.Rates) != len(shipLengths) ||
				!(s.LatencyNs > 0) || s.ByteNs < 0 || s.Auto == "" || s.MinBatch < 0 ||
				(s.MinBatch > 0) == strings.HasPrefix(s.Auto, "one-sided") {
				t.Errorf("%d ranks: %+v", ranks, s)
			}
			for i, p := range s.Points {
				if p.Bytes != shipLengths[i]*8 || !(p.Ns > 0) || s.Rates[i].Bytes != p.Bytes ||
					s.Rates[i].Flight != ShipFlight || !(s.Rates[i].PerSecond > 0) {
					t.Errorf("%d ranks: %+v and %+v", ranks, p, s.Rates[i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// recorder notes how large windows are.
type recorder struct {
	rma.Job
	words []int
}

func (r *recorder) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	r.words = append(r.words, spec.Words)
	return r.Job.NewWindow(ctx, spec)
}

func TestMemory(t *testing.T) {
	job := &recorder{Job: local.Single()}
	defer job.Close()
	cfg := Config{SegmentBytes: 1 << 17, Rounds: 1}
	if _, err := Measure(context.Background(), job, cfg); err != nil {
		t.Fatal(err)
	}
	if len(job.words) != 2 || job.words[0] != 1<<14 || job.words[1] != 1 {
		t.Errorf("windows of %v words", job.words)
	}
}

func TestMeasureRefuses(t *testing.T) {
	job := local.Single()
	defer job.Close()
	for _, bytes := range []int{-8, 8, 2*8192 - 8, 1<<20 + 4} {
		r, err := Measure(context.Background(), job, Config{SegmentBytes: bytes})
		if err == nil || r != nil || !strings.Contains(err.Error(), "segment") {
			t.Errorf("segments of %d bytes: %v, %v", bytes, r, err)
		}
	}
	for _, cfg := range []Config{{Rounds: -1}, {Limit: -1}} {
		if _, err := Measure(context.Background(), job, cfg); err == nil {
			t.Errorf("%+v", cfg)
		}
	}
	// A clock that stands still.
	r, err := Measure(context.Background(), job, Config{SegmentBytes: 1 << 16,
		Rounds: 1, NowNs: func() int64 { return 0 }})
	if err == nil || r != nil || !strings.Contains(err.Error(), "no measurement gives") {
		t.Errorf("%v, %v", r, err)
	}
	other := local.Single()
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Measure(context.Background(), other, Config{}); err == nil || r != nil {
		t.Errorf("on a job that is closed: %v, %v", r, err)
	}
}

// faulty is a job with queues that fail after some calls.
type faulty struct {
	rma.Job
	left int
}

var errPlanned = errors.New("planned")

func (f *faulty) fails() error {
	if f.left--; f.left == -1 {
		return errPlanned
	}
	return nil
}

func (f *faulty) NewQueue(depth int) (rma.Queue, error) {
	q, err := f.Job.NewQueue(depth)
	return faultyQueue{q, f}, err
}

type faultyQueue struct {
	rma.Queue
	job *faulty
}

func (q faultyQueue) Alloc(words int) (rma.Buf, error) {
	if err := q.job.fails(); err != nil {
		return nil, err
	}
	return q.Queue.Alloc(words)
}

func (q faultyQueue) Submit() error { return errors.Join(q.job.fails(), q.Queue.Submit()) }

func (q faultyQueue) Wait(ctx context.Context, h rma.Handle) error {
	return errors.Join(q.job.fails(), q.Queue.Wait(ctx, h))
}

// TestMeasureFails: whichever call of a queue fails, Measure fails.
func TestMeasureFails(t *testing.T) {
	job := &faulty{Job: local.Single()}
	defer job.Close()
	cfg := Config{SegmentBytes: 1 << 14, Rounds: 1}
	for calls := 0; ; calls += 1 + calls/16 {
		job.left = calls
		_, err := Measure(context.Background(), job, cfg)
		if job.left >= 0 { // none has failed
			if err != nil || calls < 1000 {
				t.Errorf("after %d calls: %v", calls, err)
			}
			return
		}
		if !errors.Is(err, errPlanned) {
			t.Errorf("call %d fails: %v", calls, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	cfg, err := Config{}.complete()
	if err != nil || cfg.SegmentBytes != DefaultSegmentBytes || cfg.Rounds != DefaultRounds ||
		cfg.Limit != DefaultLimit || cfg.NowNs == nil {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestFit(t *testing.T) {
	for what, c := range map[string]struct {
		points  []Point
		latency float64
		byte    float64
	}{
		"a line":       {[]Point{{8, 104}, {128, 164}, {8192, 4196}}, 100, .5},
		"a level":      {[]Point{{8, 70}, {128, 70}}, 70, 0},
		"a fall":       {[]Point{{8, 80}, {128, 80}, {512, 79.99999}}, 80, 0},
		"through zero": {[]Point{{100, 5}, {200, 100}}, 5, .95},
	} {
		latency, byteNs := fit(c.points)
		if math.Abs(latency-c.latency) > 1e-4*c.latency || math.Abs(byteNs-c.byte) > 1e-9 {
			t.Errorf("%s: %v and %v, want %v and %v", what, latency, byteNs, c.latency, c.byte)
		}
	}
	// What long reads take off the line must not tilt what short ones say.
	latency, _ := fit([]Point{{8, 104}, {128, 164}, {1024, 612}, {8192, 8000}})
	if math.Abs(latency-92.7) > 1 {
		t.Errorf("latency %v", latency)
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median %v, want %v", got, c.want)
		}
	}
}

// some is a result.
func some() *Result {
	return &Result{Engine: "local", Ranks: 2, Time: time.Date(2020, 8, 31, 9, 0, 0, 0, time.UTC),
		LatencyNs: 1290, ByteNs: .08, LinkBytesPerSecond: 12.5e9, MessagesPerSecond: 87.17e6,
		HeaderBytes: 30, Points: []Point{{8, 1290.6}}}
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "folder", "x.json")
	for _, ns := range []float64{1290, 1300} { // the second replaces the first
		r := some()
		r.LatencyNs = ns
		if err := r.Save(path); err != nil {
			t.Fatal(err)
		}
		if back, err := Load(path); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v, %v, want %+v", back, err, r)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are in the folder", entries, err)
	}
	if err := some().Save(filepath.Join(path, "below.json")); err == nil {
		t.Error("a file has become a folder")
	}
	if err := some().Save(filepath.Dir(path)); err == nil {
		t.Error("a folder has become a file")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "new")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are where nothing could be saved", entries, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	_, err := Load(path)
	if err == nil || !strings.Contains(err.Error(), "farhash calibrate makes") {
		t.Errorf("a file that is not there: %v", err)
	}
	for text, message := range map[string]string{
		"": "no result", "{": "no result", `{"latencyNs":"x"}`: "no result", "[]": "no result",
		"{}": "latencyNs is 0", `{"latencyNs":5,"byteNs":-1}`: "byteNs is -1",
		`{"latencyNs":5,"byteNs":0}`:                                   "linkBytesPerSecond is 0",
		`{"latencyNs":5,"linkBytesPerSecond":1}`:                       "messagesPerSecond is 0",
		`{"latencyNs":5,"linkBytesPerSecond":1,"messagesPerSecond":1}`: "headerBytes is 0",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Load(path); err == nil || r != nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, %v, want %q", text, r, err, message)
		}
	}
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("a folder is a result")
	}
}

func TestDefaultPath(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/x")
	t.Setenv("HOME", "/x")
	path, err := DefaultPath()
	if err != nil || !strings.HasSuffix(path, filepath.Join("farhash", "calibration.json")) ||
		!strings.HasPrefix(path, "/x") {
		t.Errorf("%s, %v", path, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if path, err := DefaultPath(); err == nil || path != "" {
		t.Errorf("%s without a home", path)
	}
}
