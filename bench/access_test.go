package bench

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/ship"
)

// travelling is a job whose ranks are on hosts of their own, and whose batches can travel.
var travelling = local.Options{Hidden: true, Carries: true}

// Accesses are measured in turns, and compared with one-sided operations.
func TestCacheAccesses(t *testing.T) {
	cfg := smallCache
	cfg.Accesses = []ship.Access{ship.OneSided, ship.Shipped}
	cfg.Modes, cfg.Keys = []cache.Mode{cache.LockFree, cache.Fine}, []CacheKeys{ZipfKeys}
	cfg.Batches = []int{60}
	b := measureCache(t, cfg, travelling, 2, 3)
	r := b.Report("test")
	if len(r.Results) != 2*2*3 || len(r.Samples) != 2*len(r.Results) || b.Wrong() != 0 {
		t.Fatalf("%d results of %d samples, %d wrong", len(r.Results), len(r.Samples), b.Wrong())
	}
	for i, is := range r.Results {
		shipped := is.Access == "shipped"
		if shipped == (i%2 == 0) || shipped != (is.RatioToOneSided != nil) {
			t.Errorf("result %d: %+v", i, is)
		}
		if shipped && *is.RatioToOneSided != is.Kops/r.Results[i-1].Kops {
			t.Errorf("%v of one-sided, %v and %v kop/s", *is.RatioToOneSided, is.Kops,
				r.Results[i-1].Kops)
		}
	}
	for i := range r.Samples {
		s := &r.Samples[i]
		if ships := s.Stats.Queues.Ships; (ships > 0) != (s.Access == ship.Shipped) {
			t.Errorf("%s, %s: %d batches have travelled", s.Variant(), s.Workload, ships)
		}
	}
	var text, lines, svg bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteBenchfmt(&lines),
		r.WritePlot(&svg, "svg")); err != nil {
		t.Fatal(err)
	}
	for what, has := range map[string]bool{
		"the table":  strings.Contains(text.String(), "lock-free, shipped"),
		"benchfmt":   strings.Contains(lines.String(), "/ranks=3/access=one-sided-"),
		"the legend": strings.Count(svg.String(), ">fine, shipped, batches of 60<") == 1,
	} {
		if !has {
			t.Errorf("%s does not tell accesses apart", what)
		}
	}
}

// Maps of both kinds of access are measured in turns, and compared.
func TestKVAccesses(t *testing.T) {
	cfg := smallKV
	cfg.Impls, cfg.Batches = []KVImpl{KVOneSided, KVShipped}, []int{50}
	cfg.Workloads = []KVWorkload{YCSBB, YCSBA}
	b, err := NewKV(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = local.RunWith(travelling, 3, func(job rma.Job) error {
		return b.Round(context.Background(), job)
	})
	if err != nil {
		t.Fatal(err)
	}
	r := b.Report("test")
	if len(r.Results) != 4 || b.Wrong() != 0 || r.Machine.Buckets == 0 {
		t.Fatalf("%d results, %d wrong, %d slots", len(r.Results), b.Wrong(), r.Machine.Buckets)
	}
	for i := range r.Samples {
		if s := &r.Samples[i]; (s.Ships > 0) != (s.Impl == KVShipped) {
			t.Errorf("%s, workload %s: %d requests", s.Impl, s.Workload, s.Ships)
		}
	}
	for i := 0; i < 4; i += 2 {
		one, shipped := r.Results[i], r.Results[i+1]
		if one.RatioToOneSided != nil || shipped.Impl != KVShipped ||
			*shipped.RatioToOneSided != shipped.Kops/one.Kops {
			t.Errorf("%+v\n%+v", one, shipped)
		}
	}
}
