package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/rma/sim"
)

// TestLookupIsLeft: whoever has seen enough leaves the loop, after any number of values.
func TestLookupIsLeft(t *testing.T) {
	for _, s := range shapes {
		const copies = 4
		key := bytes.Repeat([]byte{7}, s.cfg.KeySize)
		var all []Record
		for i := range copies {
			all = append(all, Record{key, bytes.Repeat([]byte{byte(i)}, s.cfg.ValueSize)})
		}
		x := built(t, s.cfg, all)
		r, err := x.NewReader(Lookups{OneSided: true})
		must(t, err)
		for _, lookup := range []func([]byte) iter.Seq2[Value, error]{x.Lookup, r.Lookup} {
			for most := 1; most <= copies; most++ {
				seen := 0
				for _, err := range lookup(key) {
					must(t, err)
					if seen++; seen == most {
						break
					}
				}
				if seen != most {
					t.Errorf("%s: %d values before leaving, want %d", s.name, seen, most)
				}
			}
		}
		must(t, r.Close())
	}
}

// TestExtremes has the shortest and the longest keys and values, keys of zeros and ones, in
// every storage.
func TestExtremes(t *testing.T) {
	for _, storage := range []Storage{Auto, Inline, Heap} {
		for _, c := range []Config{
			{KeySize: 4}, {KeySize: 64}, {KeySize: 4, ValueSize: 4096},
			{KeySize: 64, ValueSize: 4096}, {KeySize: 4, ValueSize: 4096, Variable: true},
			{KeySize: 64, ValueSize: 4096, Variable: true}, {KeySize: 5, Variable: true},
			{KeySize: MaxKeySize, ValueSize: MaxValueSize},
			{KeySize: 1, VariableKeys: true}, {KeySize: MaxKeySize, VariableKeys: true},
			{KeySize: MaxKeySize, VariableKeys: true, ValueSize: MaxValueSize, Variable: true},
		} {
			c.Storage = storage
			if storage == Inline && (c.Variable || c.VariableKeys) {
				continue
			}
			name := fmt.Sprintf("%v/%d+%d,%v,%v", storage, c.KeySize, c.ValueSize, c.VariableKeys,
				c.Variable)
			t.Run(name, func(t *testing.T) { extremes(t, c) })
		}
	}
}

func extremes(t *testing.T, cfg Config) {
	var all []Record
	m := model{}
	for i, fill := range []byte{0, 0xff, 1, 2, 3} {
		key := bytes.Repeat([]byte{fill}, cfg.KeySize)
		if cfg.VariableKeys {
			key = key[:[]int{0, 1, cfg.KeySize}[i%3]]
		}
		sizes := []int{cfg.ValueSize, cfg.ValueSize}
		if cfg.Variable {
			sizes = []int{0, min(1, cfg.ValueSize), cfg.ValueSize}
		}
		for _, size := range sizes[i%2:] {
			value := bytes.Repeat([]byte{fill ^ 0x55}, size)
			all = append(all, Record{key, value})
			m[string(key)] = append(m[string(key)], string(value))
		}
	}
	keys := [][]byte{bytes.Repeat([]byte{9}, cfg.KeySize)}
	for key := range m {
		keys = append(keys, []byte(key))
	}
	for ranks := 1; ranks <= 3; ranks += 2 {
		must(t, withIndex(engines[0], ranks, cfg, all, func(x *Index) error {
			if err := x.checked(); err != nil {
				return err
			}
			for _, l := range append(ways, Lookups{}) {
				r, err := x.NewReader(l)
				if err == nil {
					err = errors.Join(m.verify(r, keys), r.Close())
				}
				if err != nil {
					return fmt.Errorf("%+v: %w", l, err)
				}
			}
			return nil
		}))
	}
}

// TestSparse: a load so low that no machine has room for the slots is an error, and not the
// end of the process.
func TestSparse(t *testing.T) {
	few := func(rank int) iter.Seq2[Record, error] { return words8(10, uint32(rank*10)) }
	for _, load := range []float64{math.SmallestNonzeroFloat64, 1e-30, 1e-11} {
		cfg := Config{KeySize: 4, ValueSize: 4, Load: load}
		fails(t, 3, same(cfg), few, "choose a higher Load")
		if got := cfg.PeakBytes(3, 30, 4); got < 1<<40 {
			t.Errorf("load %v: %d bytes are announced", load, got)
		}
	}
}

// TestLoadsDiffer: ranks whose loads differ by very little would have different homes for
// their keys.
func TestLoadsDiffer(t *testing.T) {
	few := func(rank int) iter.Seq2[Record, error] { return words8(10, uint32(rank*10)) }
	fails(t, 3, func(rank int) Config {
		load := 0.5
		for range rank / 2 {
			load = math.Nextafter(load, 1)
		}
		return Config{KeySize: 4, ValueSize: 4, Load: load}
	}, few, "differ")
}

// TestContextEnds: a build whose context ends while records come in is over.
func TestContextEnds(t *testing.T) {
	for _, e := range engines[:1] {
		for ranks := 1; ranks <= 2; ranks++ {
			ctx, cancel := context.WithCancel(context.Background())
			err := e.Run(ranks, func(job rma.Job) error {
				endless := func(yield func(Record, error) bool) {
					var key [4]byte
					for i := uint32(0); i < 1<<22; i++ {
						if i == 5000 {
							cancel()
						}
						binary.LittleEndian.PutUint32(key[:], i)
						if !yield(Record{key[:], key[:]}, nil) {
							return
						}
					}
					t.Error("all records were asked for")
				}
				x, err := Build(ctx, job, Config{KeySize: 4, ValueSize: 4}, endless)
				if err == nil {
					return x.Close()
				}
				return err
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%d ranks: %v", ranks, err)
			}
			cancel()
		}
	}
}

// TestSizesOfAFile: sizes that are asked for are those of the file, or it is refused.
func TestSizesOfAFile(t *testing.T) {
	ctx := context.Background()
	job := local.Single()
	defer job.Close()
	path := filepath.Join(t.TempDir(), "index")
	x, err := Build(ctx, job, Config{KeySize: 4, ValueSize: 4}, words8(10, 1))
	must(t, err)
	must(t, x.Save(ctx, path), x.Close())
	for _, c := range []struct {
		cfg  Config
		good bool
	}{
		{Config{}, true}, {Config{KeySize: 4, ValueSize: 4}, true}, {Config{ValueSize: 4}, true},
		{Config{KeySize: 8, ValueSize: 4}, false}, {Config{ValueSize: 8}, false},
		{Config{Variable: true}, false}, {Config{VariableKeys: true}, false},
		{Config{KeySize: 4, VariableKeys: true, ValueSize: 4}, false},
	} {
		x, err := Load(ctx, job, path, c.cfg)
		if (err == nil) != c.good {
			t.Errorf("%+v: %v", c.cfg, err)
		}
		if err == nil {
			must(t, x.Close())
		}
	}
}

// TestReaderAfterLoss: when a rank is gone, a new reader still finds what the others have.
func TestReaderAfterLoss(t *testing.T) {
	const lost, deathNs = 1, 1_000_000_000
	opts := sim.Options{Ranks: 3, Seed: 1}
	opts.Faults.Kills = []sim.Kill{{Rank: lost, AtNs: deathNs}}
	lookups := 0
	_, err := sim.Run(opts, func(job rma.Job) error {
		ctx := context.Background()
		x, err := Build(ctx, job, Config{KeySize: 4, ValueSize: 4},
			words8(50, uint32(job.Rank()*50)))
		if err != nil {
			return err
		}
		if job.Rank() == lost {
			job.(*sim.Job).Sleep(2 * deathNs)
		}
		_ = job.Barrier(ctx) // which fails when the rank is gone
		r, err := x.NewReader(Lookups{})
		if err != nil {
			return err
		}
		for i := range 150 {
			key := binary.LittleEndian.AppendUint32(nil, keyNumber(i, 0))
			rank, _ := place(hashKey(key), 3)
			matches := 0
			err := r.LookupBatch(key, func(int, Value) { matches++ })
			if (err != nil) != (rank == lost) || err == nil && matches != 1 {
				return fmt.Errorf("key %d of rank %d: %d matches, %v", i, rank, matches, err)
			}
			lookups++
		}
		return r.Close()
	})
	must(t, err)
	if lookups != 300 {
		t.Errorf("%d keys were looked up, want 300", lookups)
	}
}

// TestClosedReader: a reader that was closed says so, also over direct memory.
func TestClosedReader(t *testing.T) {
	x := built(t, Config{KeySize: 4, ValueSize: 4}, nil)
	for _, oneSided := range []bool{false, true} {
		r, err := x.NewReader(Lookups{OneSided: oneSided})
		must(t, err)
		must(t, r.Close())
		if err := r.LookupBatch(make([]byte, 4), nil); !errors.Is(err, errClosed) {
			t.Errorf("one-sided %v: %v", oneSided, err)
		}
	}
	must(t, x.LookupBatch(make([]byte, 4), nil))
}

// TestExchangeBytes: what records are exchanged in does not grow with the ranks, except where the
// longest record has to fit.
func TestExchangeBytes(t *testing.T) {
	for _, cfg := range []Config{{KeySize: 4}, {KeySize: 8, ValueSize: 8},
		{KeySize: 40, ValueSize: 800, Variable: true},
		{KeySize: 4096, ValueSize: 4096, Variable: true, VariableKeys: true}} {
		f := formOf(&cfg)
		for _, ranks := range []int{2, 3, 64, 1000, 1024, 10_000, 100_000} {
			longest, limit := f.maxWords(), uint64(25<<20)
			if need := uint64(3*ranks+1) * uint64(longest+1) * 8; ranks*longest > 1<<20 {
				limit = need
			}
			got, block := exchangeBytes(&f, ranks), blockWords(&f, ranks)
			if got > limit || block < longest {
				t.Errorf("%+v, %d ranks: %d bytes of at most %d, blocks of %d words, records of %d",
					cfg, ranks, got, limit, block, longest)
			}
		}
	}
}

// TestSmallBlocks: records of all lengths arrive where a block has room for the longest alone.
func TestSmallBlocks(t *testing.T) {
	defer func(words int) { inboxWords = words }(inboxWords)
	inboxWords = 1
	rng := rand.New(rand.NewPCG(15, 16))
	for _, s := range shapes {
		all := records(rng, s.cfg, 300, 2)
		must(t, withIndex(engines[0], 3, s.cfg, all, func(x *Index) error {
			got, err := x.Len(t.Context())
			if err == nil && got != uint64(len(all)) {
				err = fmt.Errorf("%s: %d records of %d", s.name, got, len(all))
			}
			return errors.Join(err, x.checked())
		}))
	}
}
