package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/readsize"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// simulated does a case in a small table.
func simulateCase(t *testing.T, c indexCluster, of IndexTrialCase, records, each,
	batch int) *simulation {
	t.Helper()
	table, err := newSimulatedTable(context.Background(), c, of.config(), of.keys(0, records))
	if err != nil {
		t.Fatal(err)
	}
	s, err := table.simulate(context.Background(), of.lookups(), each, batch)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.close(); err != nil {
		t.Error(err)
	}
	return s
}

// TestIndexSimulatedThroughput: the card is the bottleneck, so that the requests and bytes
// that were counted say how long lookups take, and these follow the laws of readsize.
func TestIndexSimulatedThroughput(t *testing.T) {
	m := readsize.EDR()
	for _, of := range []IndexTrialCase{newTrialCase(LinearModel, 0.65),
		newTrialCase(LinearFixed, 0.5), newTrialCase(OrderedGuided, 0.8),
		newTrialCase(CuckooParallel, 0.8)} {
		const each = 150
		s := simulateCase(t, lpCluster(), of, 1<<15, each, each)
		requests, _, payload := s.stats.PerLookup()
		bound := 1e3 / (requests*1e9/m.MessagesPerSecond + payload*m.ByteNs)
		if got := s.mops(); got/bound < 0.96 || got/bound > 1.005 {
			t.Errorf("%s: %.2f million lookups/s, the card allows %.2f", of.Impl, got, bound)
		}
		want, err := newLawBook().expected(of.IndexCase)
		if err != nil {
			t.Fatal(err)
		}
		if want != nil && (math.Abs(requests-want.Requests) > 0.03 ||
			math.Abs(payload/want.Bytes-1) > 0.05) {
			t.Errorf("%s: %v requests and %v bytes, want %+v", of.Impl, requests, payload, want)
		}
		if s.stats.Lookups != 28*each {
			t.Errorf("%s: %d lookups", of.Impl, s.stats.Lookups)
		}
	}
}

// TestIndexSimulatedLatency: a lookup alone takes what LP's model says of a read.
func TestIndexSimulatedLatency(t *testing.T) {
	one := indexCluster{readsize.EDR(), 1}
	of := newTrialCase(LinearFixed, 0.25)
	of.ReadSlots = 100
	s := simulateCase(t, one, of, 1<<12, 50, 1)
	want := lpConfig().ReadNs(100)
	if len(s.ns) != 50 || math.Abs(s.ns[0]-want) > 10 || math.Abs(s.ns[49]-want) > 10 {
		t.Errorf("%d lookups, %v ns, want %.0f", len(s.ns), s.ns, want)
	}
	one.machine.LatencyNs, one.machine.ByteNs = 2900, 1
	s = simulateCase(t, one, of, 1<<12, 5, 1)
	if want := 2900 + 800.0; math.Abs(s.ns[0]-want) > 10 {
		t.Errorf("another machine: %v ns, want %.0f", s.ns[0], want)
	}
}

// TestIndexSimulatedReads: what lookups find comes from the memory of the simulated server,
// and the same run is the same.
func TestIndexSimulatedReads(t *testing.T) {
	of := newTrialCase(LinearModel, 0.5)
	ctx := context.Background()
	table, err := newSimulatedTable(ctx, lpCluster(), of.config(), of.keys(0, 1000))
	if err != nil {
		t.Fatal(err)
	}
	defer table.close()
	var rates [2]float64
	for i := range rates {
		s, err := table.simulate(ctx, of.lookups(), 20, 20)
		if err != nil {
			t.Fatal(err)
		}
		rates[i] = s.mops()
	}
	if rates[0] != rates[1] {
		t.Errorf("two runs differ: %v", rates)
	}
	for _, w := range table.server.windows {
		clear(w.Words(0))
	}
	if _, err := table.simulate(ctx, of.lookups(), 20, 20); err == nil ||
		!strings.Contains(err.Error(), "is wrong") {
		t.Errorf("values were found in memory that is empty: %v", err)
	}
}

// rateIndex does an experiment.
func rateIndex(t *testing.T, cfg IndexRatesConfig, ranks, rounds int) *IndexRateReport {
	t.Helper()
	r, err := NewIndexRates(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		if err := local.Run(ranks, func(job rma.Job) error {
			return r.Round(context.Background(), job)
		}); err != nil {
			t.Fatal(err)
		}
	}
	return r.Report("the command")
}

// trialBounds are where the findings of simulations lie, in order, and thus how near to LP
// they come.
var trialBounds = map[IndexTrial][][2]float64{
	LPTable2:   {{0.15, 0.3}},
	LPFigure6:  {{0.82, 0.9}, {0.93, 1.02}},
	LPFigure7:  {{2.5, 3}, {1.9, 2.3}, {1.2, 1.4}, {0.3, 0.7}, {0.8, 0.95}},
	LPFigure9:  {{1.05, 1.15}, {2.6, 2.8}, {0.85, 2}, {1, 2.1}, {1.9, 2.1}, {0.85, 0.95}},
	LPFigure10: {{0.88, 0.96}, {0.93, 1}},
	LPFigure11: {{2.4, 2.9}, {32, 32}},
	LPFigure12: {{1, 1.7}, {0.98, 1.08}},
}

// TestIndexTrials: every case of every experiment is simulated and measured, what LP says in
// words holds as nearly as it should, and all of it is printed and drawn.
func TestIndexTrials(t *testing.T) {
	for _, trial := range IndexTrials() {
		cfg := IndexRatesConfig{Trial: trial, Workers: 14, Records: 1 << 13,
			Lookups: 2100}
		if invariant.Enabled {
			if trial != LPTable2 && trial != LPFigure9 {
				continue // they take long where every step is checked, and differ in cases alone
			}
			cfg.Records, cfg.Lookups = 1<<10, 80
		}
		runs := 1
		if trial == LPTable2 {
			runs = 2
		}
		r := rateIndex(t, cfg, 1+len(trial)%2, runs)
		if len(r.Rates) != len(trial.cases()) || len(r.Findings) != len(trialBounds[trial]) {
			t.Fatalf("%s: %d cases, %d findings", trial, len(r.Rates), len(r.Findings))
		}
		for i := range r.Rates {
			is := &r.Rates[i]
			if is.Simulated == nil || is.Here == nil || is.Here.Runs != runs || is.Requests < 1 ||
				!(is.Here.Mops > 0) || is.Simulated.Runs != 1 {
				t.Fatalf("%s: %+v", trial, is)
			}
			if (is.Here.Latency != nil) != (trial == LPFigure9) {
				t.Errorf("%s: latency %+v", trial, is.Here.Latency)
			}
			if p := is.paper().Mops; p > 0 && !invariant.Enabled &&
				math.Abs(is.Simulated.Mops/p-1) > 0.35 {
				t.Errorf("%s: %+v: %.1f million/s, LP has %v", trial, is.of, is.Simulated.Mops, p)
			}
		}
		for i, f := range r.Findings {
			bound := trialBounds[trial][i]
			if f.Simulated == nil || f.Here == nil && !strings.HasPrefix(f.What, "load from") &&
				!strings.HasPrefix(f.What, "bytes of") {
				t.Errorf("%s: nothing is found of %q: %+v", trial, f.What, f)
			} else if !invariant.Enabled && (*f.Simulated < bound[0] || *f.Simulated > bound[1]) {
				t.Errorf("%s: %s: %.3f, want %v; LP has %v", trial, f.What, *f.Simulated, bound,
					f.Paper)
			}
		}
		writeRates(t, r, runs)
	}
}

// writeRates prints and draws a report.
func writeRates(t *testing.T, r *IndexRateReport, runs int) {
	t.Helper()
	var text, object, lines, drawing bytes.Buffer
	for _, err := range []error{r.WriteText(&text), r.WriteJSON(&object),
		r.WriteBenchfmt(&lines), r.WritePlot(&drawing, "png")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(text.String(), "\n"); n < len(r.Rates)+len(r.Findings)+8 ||
		!strings.Contains(text.String(), "the command\n") ||
		!strings.Contains(text.String(), "in LP's words") {
		t.Errorf("%s: %d lines:\n%s", r.Trial, n, &text)
	}
	var o struct {
		Trial    IndexTrial
		Rates    []struct{ Simulated, Here map[string]any }
		Findings []map[string]any
	}
	if err := json.Unmarshal(object.Bytes(), &o); err != nil || o.Trial != r.Trial ||
		len(o.Rates) != len(r.Rates) || len(o.Findings) != len(r.Findings) ||
		o.Rates[0].Simulated["mops"] != r.Rates[0].Simulated.Mops {
		t.Errorf("%v: %s", err, &object)
	}
	if n := strings.Count(lines.String(), "\nBenchmarkIndexRate/trial="); n != runs*len(r.Rates) {
		t.Errorf("%s: %d lines of benchmarks", r.Trial, n)
	}
	if _, format, err := image.Decode(&drawing); err != nil || format != "png" {
		t.Errorf("the plot is %s, %v", format, err)
	}
}

// TestIndexRatesInterrupted: a report that is not complete is printed all the same.
func TestIndexRatesInterrupted(t *testing.T) {
	for _, trial := range []IndexTrial{LPFigure7, LPFigure9} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		r, err := NewIndexRates(IndexRatesConfig{Trial: trial, Records: 1000, Lookups: 140,
			Progress: func(_ IndexTrialCase, simulated bool, mops float64) {
				if n++; n == 4 { // linear probing at the first load is simulated, one measured
					cancel()
				}
				if simulated != (n < 4) || !(mops > 0) {
					t.Errorf("%d: simulated %t, %v million/s", n, simulated, mops)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Report("").WritePlot(io.Discard, "png"); err == nil {
			t.Error("nothing was drawn")
		}
		job := local.Single()
		defer job.Close()
		if err := r.Round(ctx, job); err == nil {
			t.Error("it was not interrupted")
		}
		report := r.Report("the command")
		var text, drawing bytes.Buffer
		for _, err := range []error{report.WriteText(&text), report.WriteJSON(io.Discard),
			report.WriteBenchfmt(io.Discard), report.WritePlot(&drawing, "svg")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(report.Rates) != 3 || !strings.Contains(text.String(), "linear/model") ||
			report.Findings[0].Here != nil {
			t.Errorf("%d rates, %+v:\n%s", len(report.Rates), report.Findings, &text)
		}
	}
}

func TestIndexRatesRefuse(t *testing.T) {
	for _, cfg := range []IndexRatesConfig{{}, {Trial: "figure8"}, {Trial: LPTable2, Records: 63},
		{Trial: LPTable2, Records: MaxIndexRecords + 1}, {Trial: LPTable2, Lookups: -1},
		{Trial: LPTable2, Simulated: 27}, {Trial: LPTable2, Simulated: MaxIndexRecords + 1},
		{Trial: LPTable2, Workers: -1}, {Trial: LPTable2, Workers: 1025}} {
		if _, err := NewIndexRates(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// TestIndexHints: LP Fig. 13, by LP Eq. 10 and what LP says of it.
func TestIndexHints(t *testing.T) {
	h, err := NewIndexHints("the command")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range lpHints {
		for _, of := range h.Hints {
			if less := of.at(says.x) - of.Oblivious; sameLoad(of.Load, says.load) &&
				(less > 0) != (says.less > 0) || (less < 0) != (says.less < 0) &&
				sameLoad(of.Load, says.load) {
				t.Errorf("load %v, x = %d: %d slots, not %s", of.Load, says.x, of.at(says.x),
					says.says)
			}
		}
	}
	of := h.Hints[1] // load 0.65
	for x := hintFrom; x <= hintTo; x++ {
		want := 23
		switch {
		case x >= -22 && x <= -13:
			want = -x // up to the cluster
		case x >= -12 && x <= 9:
			want = 11 - x // through the cluster
		}
		if got := of.at(x); got != want {
			t.Errorf("x = %d: %d slots, want %d", x, got, want)
		}
	}
	var text, object, drawing bytes.Buffer
	for _, err := range []error{h.WriteText(&text), h.WriteJSON(&object),
		h.WriteBenchfmt(io.Discard), h.WritePlot(&drawing, "png")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(text.String(), "\n"); n != 4+1+51+2+len(lpHints) {
		t.Errorf("%d lines:\n%s", n, &text)
	}
	if !json.Valid(object.Bytes()) || drawing.Len() == 0 {
		t.Errorf("%s", &object)
	}
}
