package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma/local"
)

// Every implementation inserts the elements that it is given in every workload: Round
// checks it. The lengths are those with keys of their own kind, and one that does not
// fill its last word.
func TestRoundsOfElements(t *testing.T) {
	for _, size := range []int{8, 16, 20, 32, 64} {
		for _, keys := range []Keys{Random, Sequential} {
			cfg := Config{Workloads: Workloads(), Keys: keys, ElementBytes: size, Buckets: 1 << 11,
				From: 0.1, To: 0.7, Batch: 100, PeerElements: 1 << 10}
			r := measure(t, cfg, local.Options{}, 1, 3).Report("test")
			if want := len(ElementImpls()) * len(Workloads()); len(r.Results) != want {
				t.Errorf("%d results, want %d", len(r.Results), want)
			}
			for _, is := range r.Results {
				if is.ElementBytes != size || is.Mops <= 0 || is.RatioToScalar == nil ||
					is.RatioToLimit != nil {
					t.Errorf("%d bytes: %+v", size, is)
				}
			}
		}
	}
}

// Elements have their length, and differ if their words do.
func TestElementsOfWords(t *testing.T) {
	words := []uint64{0, 1, 2, 1 << 62, mask63}
	for _, size := range []int{8, 9, 16, 20, 4096} {
		for _, keys := range []Keys{Random, Sequential} {
			s := shape{size, keys}
			all := s.elements([]byte("x"), words)[1:]
			if len(all) != size*len(words) {
				t.Fatalf("%d elements of %d bytes have %d", len(words), size, len(all))
			}
			seen := map[string]bool{}
			for element := range slices.Chunk(all, size) {
				seen[string(element)] = true
				blank := !slices.ContainsFunc(element[8:], func(b byte) bool { return b != 0 })
				if size > 9 && blank != (keys == Sequential) {
					t.Errorf("%s: % x", keys, element[:min(size, 32)])
				}
			}
			if len(seen) != len(words) {
				t.Errorf("%d bytes, %s: %d distinct elements of %d words", size, keys, len(seen),
					len(words))
			}
		}
	}
}

// Elements reach other ranks through queues as well.
func TestElementsOneSided(t *testing.T) {
	cfg := Config{Impls: []Impl{Scalar, Batch}, ElementBytes: 16, Buckets: 1 << 10, To: 0.5,
		OneSided: true}
	if r := measure(t, cfg, local.Options{Hidden: true}, 1, 2).Report("test"); len(r.Results) != 2 {
		t.Errorf("%d results, want scalar and batch", len(r.Results))
	}
}

// The memory of a table includes that of the elements in whole words.
func TestTableBytes(t *testing.T) {
	for size, want := range map[int]uint64{0: 8 << 10, 16: 8<<10 + 16<<9, 20: 8<<10 + 24<<9} {
		cfg := Config{ElementBytes: size, Buckets: 1 << 10, To: 0.5}
		b, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := b.Report("test")
		if r.Machine.TableBytes != want {
			t.Errorf("%d bytes: %d bytes of memory, want %d", size, r.Machine.TableBytes, want)
		}
	}
	var words, elements Config
	words.To, elements.To, elements.ElementBytes = 1, 1, 4096
	most := elements.affordableBuckets()
	if all := words.affordableBuckets(); most*64 > all && most > minBuckets {
		t.Errorf("memory affords %d buckets with 4096 bytes each and %d without", most, all)
	}
}

// The elements are named in everything that is written.
func TestElementsOutput(t *testing.T) {
	cfg := Config{Impls: []Impl{Scalar, Batch}, ElementBytes: 24, Buckets: 1 << 10, To: 0.5}
	r := measure(t, cfg, local.Options{}, 2, 1).Report("test")
	var text bytes.Buffer
	if err := r.WriteBenchfmt(&text); err != nil {
		t.Fatal(err)
	}
	checkBenchfmt(t, text.String(), 4)
	if !strings.Contains(text.String(), "BenchmarkElements/bytes=24/impl=scalar/") {
		t.Errorf("no benchmark of elements:\n%s", text.String())
	}
	text.Reset()
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]bool{"20 KiB with the elements": true, "/ scalar": true,
		"/ cas-loop": false, "/ limit": false} {
		if strings.Contains(text.String(), what) != want {
			t.Errorf("the table says %q: %v, want %v\n%s", what, !want, want, text.String())
		}
	}
	text.Reset()
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Results []struct {
			ElementBytes int
			RatioToLimit *float64
		}
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil || len(got.Results) != 2 ||
		got.Results[0].ElementBytes != 24 || got.Results[0].RatioToLimit != nil {
		t.Errorf("JSON has %+v, %v", got, err)
	}
	checkPlots(t, r, 1, "find-or-put of 24 bytes")
}

// Operations done in parts are those that were readied, each once.
func TestParts(t *testing.T) {
	const n = 500
	job := local.Single()
	defer job.Close()
	for _, size := range []int{0, 16, 20} {
		impls := ElementImpls()
		if size == 0 {
			impls = []Impl{Scalar, CASLoop, Batch, XSync}
		}
		for _, impl := range impls {
			r := run{bench: &Bench{}, job: job, impl: impl, cfg: Config{Buckets: minBuckets,
				Batch: 64, ElementBytes: size, Keys: Random}, stream: newStream(Random, 0, 1, n)}
			if err := r.open(context.Background(), n); err != nil {
				t.Fatal(err)
			}
			words := make([]uint64, n)
			r.stream.plan(n, 0)
			r.stream.fill(words)
			r.table.ready(words, n)
			for _, part := range [][2]int{{0, 100}, {100, 128}, {128, n}} {
				if err := r.table.run(part[0], part[1]); err != nil {
					t.Fatal(err)
				}
			}
			if got := r.table.inserted(); got != n {
				t.Errorf("%s of %d bytes: %d inserts, want %d", impl, size, got, n)
			}
			if err := r.table.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a workload leaves to one rank of many may be nothing.
func TestMoreRanksThanElements(t *testing.T) {
	cfg := Config{Impls: []Impl{Batch}, Workloads: Workloads(), ElementBytes: 16,
		Buckets: minBuckets, To: 0.005}
	b := measure(t, cfg, local.Options{}, 1, 8)
	for _, s := range b.Report("test").Samples {
		if s.Workload == Find && s.Operations != 5 {
			t.Errorf("%d finds, want 5", s.Operations)
		}
	}
}
