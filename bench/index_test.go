package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// TestIndexBench measures a little of everything, with memory that is directly addressable
// and without.
func TestIndexBench(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		var told int
		b, err := NewIndex(IndexConfig{Records: 1000, Lookups: 120, OneSided: hidden,
			Loads: []float64{0.6, 0.5}, Batches: []int{1, 100}, KeyBytes: 9, ValueBytes: 30,
			Progress: func(IndexSample) { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Report("").WritePlot(io.Discard, "png"); err == nil {
			t.Error("nothing was drawn")
		}
		for _, ranks := range []int{2, 1, 2} {
			if err := local.RunWith(local.Options{Hidden: hidden}, ranks, func(job rma.Job) error {
				return b.Round(context.Background(), job)
			}); err != nil {
				t.Fatal(err)
			}
		}
		impls := 11
		if hidden {
			impls = 8
		}
		samples := 2 * (3 + 2*impls) // of a round: loads, layouts, batches
		r := b.Report("the command")
		if told != 3*samples || len(r.Samples) != told || len(r.Results) != 2*samples {
			t.Errorf("%d samples, %d results, told of %d, want %d samples", len(r.Samples),
				len(r.Results), told, 3*samples)
		}
		for i := range r.Results {
			is := &r.Results[i]
			if is.Runs != is.Ranks || !(is.MopsMin > 0 && is.MopsMin <= is.Mops &&
				is.Mops <= is.MopsMax) || (is.Batch == 0) != (is.Work == IndexBuild) ||
				strings.Contains(is.Impl, "/") != (is.Work == IndexLookup) {
				t.Errorf("%+v", is)
			}
		}
		for _, s := range r.Samples {
			want := uint64(1000)
			if s.Work == IndexLookup {
				want = uint64(120 * s.Ranks)
			}
			if s.Operations != want || s.Elapsed <= 0 {
				t.Errorf("%+v", s)
			}
		}
		r.checkOutput(t)
	}
}

// checkOutput writes a report in all forms.
func (r *IndexReport) checkOutput(t *testing.T) {
	t.Helper()
	var text, object, lines, drawing bytes.Buffer
	for _, err := range []error{r.WriteText(&text), r.WriteJSON(&object), r.WriteBenchfmt(&lines),
		r.WritePlot(&drawing, "png")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"the command\n", " build ", "lookup    cuckoo/parallel   0.6",
		"1000 records with keys of 9 and values of 30 bytes"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	var o struct{ Results []map[string]any }
	if err := json.Unmarshal(object.Bytes(), &o); err != nil || len(o.Results) != len(r.Results) ||
		o.Results[0]["mops"] != r.Results[0].Mops {
		t.Errorf("%v: %s", err, &object)
	}
	if n := strings.Count(lines.String(), "\nBenchmarkIndex/work="); n != len(r.Samples) {
		t.Errorf("%d lines for %d samples", n, len(r.Samples))
	}
	if _, format, err := image.Decode(&drawing); err != nil || format != "png" {
		t.Errorf("the plot is %s, %v", format, err)
	}
}

// Results are medians, in the order of work, load, ranks and batch.
func TestIndexMedians(t *testing.T) {
	b, err := NewIndex(IndexConfig{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(of IndexPoint, mops ...uint64) {
		for _, m := range mops {
			b.samples = append(b.samples, IndexSample{of, m * 1e6, time.Second})
		}
	}
	add(IndexPoint{IndexLookup, OrderedDirect, 0.8, 2, 1024}, 8, 4, 9)
	add(IndexPoint{IndexLookup, OrderedDirect, 0.8, 2, 1}, 3)
	add(IndexPoint{IndexBuild, OrderedDirect, 0.8, 2, 0}, 5, 6)
	var got []float64
	for _, is := range b.Report("").Results {
		got = append(got, is.MopsMin, is.Mops, is.MopsMax)
	}
	if want := []float64{5, 5.5, 6, 3, 3, 3, 4, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A round that is interrupted keeps its samples.
func TestIndexInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	b, err := NewIndex(IndexConfig{Records: 100, Lookups: 10, Progress: func(IndexSample) {
		if n++; n == 3 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	job := local.Single()
	defer job.Close()
	if err := b.Round(ctx, job); err == nil || len(b.Report("").Samples) != 3 {
		t.Errorf("%v, %d samples", err, len(b.Report("").Samples))
	}
}

func TestIndexConfigs(t *testing.T) {
	for i, cfg := range []IndexConfig{
		{Impls: []IndexImpl{"ordered/quick"}}, {Impls: []IndexImpl{LinearFixed, LinearFixed}},
		{Impls: []IndexImpl{CuckooDirect}, OneSided: true}, {Loads: []float64{0}},
		{Loads: []float64{0.995}, Impls: []IndexImpl{CuckooParallel}}, {Loads: []float64{0.5, 0.5}},
		{Loads: []float64{index.MaxLoad + 0.001}}, {Batches: []int{0}}, {Batches: []int{1<<20 + 1}},
		{Batches: []int{2, 2}}, {Records: 1}, {Lookups: -1}, {KeyBytes: 3}, {KeyBytes: 65},
		{ValueBytes: 3}, {ValueBytes: 4097}, {KeyBytes: 64, Lookups: MaxIndexRecords},
	} {
		if _, err := NewIndex(cfg); err == nil {
			t.Errorf("%d: %+v was taken", i, cfg)
		}
	}
	given := []IndexImpl{CuckooParallel, OrderedGuided, OrderedDirect}
	b, err := NewIndex(IndexConfig{Impls: given, Loads: []float64{0.95}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []IndexImpl{OrderedDirect, OrderedGuided, CuckooParallel}; !slices.Equal(
		b.Config().Impls, want) || given[0] != CuckooParallel {
		t.Errorf("%v, want %v; given %v", b.Config().Impls, want, given)
	}
}
