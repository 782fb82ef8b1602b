package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// measure does rounds on goroutine ranks.
func measure(t *testing.T, cfg Config, opts local.Options, rounds int, ranks ...int) *Bench {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		for _, n := range ranks {
			err := local.RunWith(opts, n, func(job rma.Job) error {
				return b.Round(context.Background(), job)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// Every implementation inserts what it is given in every workload: Round checks it.
// The samples come interleaved.
func TestRoundsOfAllImplementations(t *testing.T) {
	for _, keys := range []Keys{Random, Sequential} {
		cfg := Config{Impls: Impls(), Workloads: Workloads(), Keys: keys, Buckets: 1 << 12,
			From: 0.1, To: 0.5, Batch: 100, PeerElements: 1 << 10}
		b := measure(t, cfg, local.Options{}, 2, 1, 3)
		r := b.Report("test")
		impls := b.Config().Impls
		if want := len(impls) * len(Workloads()) * 2; len(r.Results) != want {
			t.Errorf("%d results, want %d", len(r.Results), want)
		}
		for i, s := range r.Samples[:len(impls)] {
			if s.Impl != impls[i] || s.Workload != Fill {
				t.Errorf("sample %d is %s %s, want %s fill", i, s.Impl, s.Workload, impls[i])
			}
		}
		for _, is := range r.Results {
			if is.samples != 2 || is.MopsMin <= 0 || is.Mops < is.MopsMin || is.MopsMax < is.Mops {
				t.Errorf("%+v: median, least and largest make no sense", is)
			}
			if is.Impl.peer() != (is.buckets == 1<<11) {
				t.Errorf("%s ran on %d buckets", is.Impl, is.buckets)
			}
		}
		if !strings.Contains(strings.Join(r.Notes, "\n"), "peers ran on a table of 2Ki buckets") {
			t.Errorf("notes %q do not tell the size of the peers", r.Notes)
		}
	}
}

// The numbers of operations are those of the workloads.
func TestOperations(t *testing.T) {
	cfg := Config{Impls: []Impl{Batch, Limit}, Workloads: Workloads(), Buckets: 1 << 14, To: 0.5}
	r := measure(t, cfg, local.Options{}, 1, 2).Report("test")
	want := map[Workload]uint64{Fill: 8192, Mixed: 16384, Read: 40960, Write: 10240,
		Find: 8192}
	for _, s := range r.Samples {
		if s.Operations != want[s.Workload] {
			t.Errorf("%s %s: %d operations, want %d", s.Impl, s.Workload, s.Operations,
				want[s.Workload])
		}
	}
}

// On hidden memory the one-sided path is measured, and what needs direct memory is
// left out with a note.
func TestOneSided(t *testing.T) {
	cfg := Config{Impls: []Impl{Scalar, CASLoop, Batch, BatchPortable, Limit}, Buckets: 1 << 12,
		To: 0.5, OneSided: true}
	r := measure(t, cfg, local.Options{Hidden: true}, 1, 2).Report("test")
	if len(r.Results) != 2 || len(r.Notes) != 3 {
		t.Errorf("%d results and notes %q, want scalar and batch, and three notes",
			len(r.Results), r.Notes)
	}
}

// Peers cannot be shared by processes.
func TestPeersNeedOneProcess(t *testing.T) {
	cfg := Config{Impls: []Impl{Batch, XSync}, Buckets: 1 << 12, To: 0.5, Processes: true}
	r := measure(t, cfg, local.Options{}, 1, 2).Report("test")
	if len(r.Results) != 1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "xsync") {
		t.Errorf("results %+v, notes %q: want batch, and a note on xsync", r.Results, r.Notes)
	}
}

// When the context ends in the second sample, the first remains.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := Config{Impls: []Impl{Scalar, Batch}, Buckets: 1 << 12, To: 0.5,
		Progress: func(Sample) { cancel() }}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = local.Run(2, func(job rma.Job) error { return b.Round(ctx, job) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted round returned %v", err)
	}
	if r := b.Report("test"); len(r.Results) != 1 {
		t.Errorf("%d results, want the one before the interruption", len(r.Results))
	}
}

func TestRefusals(t *testing.T) {
	good := Config{To: 0.5, Buckets: 1 << 12}
	for name, change := range map[string]func(*Config){
		"implementation": func(c *Config) { c.Impls = []Impl{"quick"} },
		"twice":          func(c *Config) { c.Impls = []Impl{Batch, Batch} },
		"workload":       func(c *Config) { c.Workloads = []Workload{"none"} },
		"same workload":  func(c *Config) { c.Workloads = []Workload{Fill, Fill} },
		"keys":           func(c *Config) { c.Keys = "even" },
		"order":          func(c *Config) { c.From = 0.5 },
		"load":           func(c *Config) { c.To = 1.1 },
		"small":          func(c *Config) { c.Buckets = 100 },
		"large":          func(c *Config) { c.Buckets = 1 << 50 },
		"chunk":          func(c *Config) { c.Chunk = 12 },
		"chunks":         func(c *Config) { c.Chunks = -1 },
		"batch":          func(c *Config) { c.Batch = -1 },
		"short element":  func(c *Config) { c.ElementBytes = 7 },
		"long element":   func(c *Config) { c.ElementBytes = 4097 },
		"no length":      func(c *Config) { c.ElementBytes = -1 },
		"limit":          func(c *Config) { c.ElementBytes, c.Impls = 16, []Impl{Limit} },
		"loop":           func(c *Config) { c.ElementBytes, c.Impls = 16, []Impl{CASLoop} },
	} {
		cfg := good
		if change(&cfg); cfg.Impls == nil {
			cfg.Impls = []Impl{Batch}
		}
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestJSON(t *testing.T) {
	cfg := Config{Impls: []Impl{Batch, Limit}, Buckets: 1 << 12, To: 0.5}
	var text bytes.Buffer
	if err := measure(t, cfg, local.Options{}, 1, 1).Report("test").WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Machine map[string]any
		Results []map[string]any
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"elementBytes", "impl", "loadFrom", "loadTo", "mops", "mopsMax", "mopsMin",
		"ranks", "ratioToCAS", "ratioToLimit", "ratioToScalar", "workload"}
	if len(got.Results) != 3 {
		t.Fatalf("%d results, want batch, limit, limit-reads", len(got.Results))
	}
	for _, r := range got.Results {
		if keys := slices.Sorted(maps.Keys(r)); !slices.Equal(keys, want) {
			t.Errorf("a result has the keys %v, want %v", keys, want)
		}
		if r["ratioToScalar"] != nil || r["ratioToCAS"] != nil || r["ratioToLimit"] == nil {
			t.Errorf("%v: scalar and cas-loop were not measured, limit was", r)
		}
	}
	for _, key := range []string{"cpu", "cores", "go", "hugePages", "command", "buckets",
		"tableBytes"} {
		if got.Machine[key] == nil || got.Machine[key] == "" {
			t.Errorf("the machine has no %s", key)
		}
	}
}

// benchLine is a line of the format of Go benchmarks: a name, a count, and pairs of
// value and unit.
var benchLine = regexp.MustCompile(`^Benchmark[A-Z]\S*(/\S+=\S+)+-\d+\t\d+(\t[0-9.e+-]+ \S+)+$`)

func checkBenchfmt(t *testing.T, text string, want int) {
	t.Helper()
	n := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "Benchmark") {
			n++
			if !benchLine.MatchString(line) {
				t.Errorf("%q is no line of a benchmark", line)
			}
		} else if name, _, found := strings.Cut(line, ": "); !found || strings.Contains(name, " ") {
			t.Errorf("%q is no key and value", line)
		}
	}
	if n != want {
		t.Errorf("%d lines of benchmarks, want %d", n, want)
	}
}

func TestBenchfmtAndText(t *testing.T) {
	cfg := Config{Impls: []Impl{Scalar, BatchPortable, XSync}, Buckets: 1 << 12, To: 0.5}
	r := measure(t, cfg, local.Options{}, 3, 1).Report("farhash bench set --test")
	var text bytes.Buffer
	if err := r.WriteBenchfmt(&text); err != nil {
		t.Fatal(err)
	}
	checkBenchfmt(t, text.String(), 9)
	text.Reset()
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"farhash bench set --test", "batch-portable", "0-0.5", "4Ki"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, text.String())
		}
	}
}

// A kernel that the machine lacks is left out with a note, and only that.
func TestMissingKernelIsNoted(t *testing.T) {
	b, err := New(Config{Impls: []Impl{Batch, BatchAVX2, BatchAVX512}, Buckets: 1 << 12, To: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	missing := 3 - len(set.Kernels())
	if kept := len(b.Config().Impls); kept != 3-missing || len(b.notes) != missing {
		t.Errorf("kept %d with notes %q; %v run here", kept, b.notes, set.Kernels())
	}
}
