package lp

import (
	"context"
	"slices"

	"github.com/farhash/farhash/index"
	"github.com/farhash/farhash/internal/readsize"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/lp/baseline"
)

// shape is what a table is like.
type shape struct {
	layout  layout
	load    float64
	storage index.Storage
	bucket  int // slots of a bucket of cuckoo; 0: 4
}

// maxLoad is the highest load that a table can have.
func (s shape) maxLoad() float64 {
	if s.layout == cuckoo {
		return baseline.MaxLoad(s.bucket)
	}
	return index.MaxLoad
}

// lookups say how a reader looks keys up.
type lookups struct {
	impl     impl
	slots    int // of every read of linear probing; 0: what the policy chooses
	clusters int // that a worker knows
	depth    int // in flight; 0: index.DefaultDepth
}

// table is an index or a baseline.
type table interface {
	reader(l lookups) (reader, error)
	bytes() uint64 // of a rank
	Close() error
}

// reader looks keys up, and counts what that takes.
type reader interface {
	one(key []byte, found func(i int, v index.Value)) error
	LookupBatch(keys []byte, found func(i int, v index.Value)) error
	Counts() index.Counts
	Close() error
}

// build makes a table of all records. Collective.
func (s shape) build(ctx context.Context, job rma.Job, k *keys) (table, error) {
	if s.layout == ordered {
		x, err := index.Build(ctx, job, index.Config{KeySize: k.keyBytes, ValueSize: k.valueBytes,
			Load: s.load, Storage: s.storage, Variable: k.short > 0 && !k.padded},
			k.stream(job.Rank(), job.Size()))
		return indexTable{x}, err
	}
	cfg := baseline.Config{KeyBytes: k.keyBytes, ValueBytes: k.valueBytes, Records: k.records,
		Load: s.load, Distinct: k.numbers == nil, Empty: make([]byte, k.keyBytes),
		Heap: s.storage == index.Heap ||
			s.storage == index.Auto && k.keyBytes+k.valueBytes > index.MaxInlineBytes}
	k.fillKey(cfg.Empty, uint64(k.records))
	if cfg.BucketSlots = s.bucket; s.layout == cuckoo && s.bucket == 0 {
		cfg.BucketSlots = 4
	}
	t, err := baseline.Build(ctx, job, cfg, k.stream(0, 1))
	return baselineTable{t}, err
}

type indexTable struct{ *index.Index }

func (t indexTable) bytes() uint64 { return t.Info().SegmentBytes }

func (t indexTable) reader(l lookups) (reader, error) {
	to := index.Lookups{Depth: l.depth, OneSided: !l.impl.kind().direct, Costs: lpCosts()}
	if l.impl == orderedAdaptive {
		to.GuideBytes = -1
	}
	r, err := t.NewReader(to)
	return indexReader{r}, err
}

// lpCosts are what a get costs by the model of LP 3.2, alone or not.
func lpCosts() rma.GetCosts {
	m := readsize.EDR()
	lineNs := m.LatencyNs + 64*m.ByteNs
	return rma.GetCosts{Ns: lineNs, ByteNs: m.ByteNs, EachNs: lineNs, EachByteNs: m.ByteNs}
}

type indexReader struct{ *index.Reader }

func (r indexReader) one(key []byte, found func(i int, v index.Value)) error {
	for v, err := range r.Lookup(key) {
		if err != nil {
			return err
		}
		found(0, v)
	}
	return nil
}

func (r indexReader) Counts() index.Counts { return r.Stats().Counts }

type baselineTable struct{ *baseline.Table }

func (t baselineTable) bytes() uint64 { return t.Bytes() }

func (t baselineTable) reader(l lookups) (reader, error) {
	to := baseline.Lookups{Policy: l.impl.kind().policy, FixedBytes: fixedBytes,
		Clusters: l.clusters, Depth: l.depth}
	if to.Depth == 0 {
		to.Depth = index.DefaultDepth
	}
	if l.slots > 0 {
		to.Policy, to.FixedBytes = baseline.Fixed, l.slots*(t.KeyBytes+t.ValueBytes)
	}
	r, err := t.NewReader(to)
	return baselineReader{r}, err
}

type baselineReader struct{ *baseline.Reader }

// one gives what it has found at its end, as an index does.
func (r baselineReader) one(key []byte, found func(i int, v index.Value)) error {
	var all []index.Value
	err := r.LookupBatch(key, func(_ int, v index.Value) { all = append(all, slices.Clone(v)) })
	for _, v := range all {
		found(0, v)
	}
	return err
}
