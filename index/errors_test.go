package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// says fails unless an error contains a text.
func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v; want %q in it", err, want)
	}
}

func TestRefusedConfigs(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{KeySize: 3}, "KeySize must be 4 to 4096, not 3"},
		{Config{KeySize: 4097}, "KeySize must be 4 to 4096, not 4097"},
		{Config{VariableKeys: true}, "KeySize must be 1 to 4096, not 0"},
		{Config{KeySize: 8, Storage: Inline, VariableKeys: true}, "need a heap"},
		{Config{KeySize: 8, ValueSize: -1}, "ValueSize must be 0 to 4096, not -1"},
		{Config{KeySize: 8, ValueSize: 4097}, "not 4097"},
		{Config{KeySize: 8, Storage: -1}, "Storage must be"},
		{Config{KeySize: 8, Storage: Inline, Variable: true}, "need a heap"},
		{Config{KeySize: 8, Storage: Hybrid + 1}, "Storage must be"},
		{Config{KeySize: 8, Storage: Hybrid}, "records of different sizes"},
		{Config{KeySize: 8, Variable: true, Storage: Hybrid, InlineBytes: 255}, "InlineBytes must"},
		{Config{KeySize: 8, Variable: true, Storage: Hybrid, InlineBytes: -1}, "InlineBytes must"},
		{Config{KeySize: 8, Variable: true, InlineBytes: 9}, "InlineBytes must"},
		{Config{KeySize: 8, MaxCopies: -1}, "MaxCopies must be"},
		{Config{KeySize: 8, Load: 1}, "at most 0.99, not 1"},
		{Config{KeySize: 8, Load: -0.5}, "Load must be above 0"},
	} {
		for ranks := 1; ranks <= 2; ranks++ {
			err := withIndex(engines[0], ranks, c.cfg, nil, func(*Index) error { return nil })
			says(t, err, c.want)
		}
		if c.cfg.PeakBytes(2, 1000, 8) != 0 {
			t.Errorf("PeakBytes of %+v is not 0", c.cfg)
		}
	}
}

// fails expects that building fails on every rank, on one with the error wanted and on the
// others with one that says who has failed, and on none with an index.
func fails(t *testing.T, ranks int, cfg func(rank int) Config,
	records func(rank int) iter.Seq2[Record, error], want string) {
	t.Helper()
	for _, e := range engines[:2] {
		errs := make([]error, ranks)
		must(t, e.Run(ranks, func(job rma.Job) error {
			rank := job.Rank()
			x, err := Build(context.Background(), job, cfg(rank), records(rank))
			if errs[rank] = err; err == nil {
				return errors.Join(fmt.Errorf("rank %d got an index", rank), x.Close())
			}
			// The ranks are in step: they can go on with something else.
			return job.Barrier(context.Background())
		}))
		reported := 0
		for rank, err := range errs {
			var peer *rma.PeerError
			switch {
			case strings.Contains(err.Error(), want):
				reported++
			case !errors.As(err, &peer):
				t.Errorf("%s: rank %d got %v", e.Name, rank, err)
			}
		}
		if reported == 0 {
			t.Errorf("%s: nobody said %q: %v", e.Name, want, errs)
		}
	}
}

// same is a function that gives every rank the same.
func same(cfg Config) func(int) Config { return func(int) Config { return cfg } }

// shares divides records among three ranks.
func shares(all []Record) func(rank int) iter.Seq2[Record, error] {
	return func(rank int) iter.Seq2[Record, error] { return each(all, rank, 3) }
}

func TestBuildErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	words := Config{KeySize: 4, ValueSize: 4}
	all := records(rng, words, 5000, 3)
	// one rank's records end with something wrong, after blocks have gone out
	ending := func(r Record, err error) func(rank int) iter.Seq2[Record, error] {
		return func(rank int) iter.Seq2[Record, error] {
			return func(yield func(Record, error) bool) {
				for r := range each(all, rank, 3) {
					if !yield(r, nil) {
						return
					}
				}
				if rank == 1 {
					yield(r, err)
				}
			}
		}
	}
	planned := errors.New("the source is broken as planned")
	fails(t, 3, same(words), ending(Record{}, planned), planned.Error())
	fails(t, 3, same(words), ending(Record{make([]byte, 5), make([]byte, 4)}, nil),
		"a key of 5 bytes; this index has keys of 4")
	fails(t, 3, same(words), ending(Record{make([]byte, 4), make([]byte, 3)}, nil),
		"a value of 3 bytes; this index has values of 4")
	variable := Config{KeySize: 4, ValueSize: 6, Variable: true}
	fails(t, 3, same(variable), ending(Record{make([]byte, 4), make([]byte, 7)}, nil),
		"a value of 7 bytes; this index has values of at most 6")
	strings := Config{KeySize: 6, VariableKeys: true, ValueSize: 4}
	fails(t, 3, same(strings), ending(Record{make([]byte, 7), make([]byte, 4)}, nil),
		"a key of 7 bytes; this index has keys of at most 6")
	fails(t, 3, func(rank int) Config {
		return Config{KeySize: 4, ValueSize: 4, Load: 0.5 + float64(rank/2)/4}
	}, shares(all), "loads in millionths differ")
}

// TestFailureIsShared: a rank whose records are wrong stops the others, whose streams have no
// end.
func TestFailureIsShared(t *testing.T) {
	endless := func(rank int) iter.Seq2[Record, error] {
		return func(yield func(Record, error) bool) {
			n := 0
			for r := range words8(math.MaxInt32, 1) {
				if n++; rank == 1 && n > 1000 {
					r.Key = nil
				}
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	fails(t, 3, same(Config{KeySize: 4, ValueSize: 4}), endless, "a key of 0 bytes")
}

func TestTooManyCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	cfg := Config{KeySize: 4, ValueSize: 4, MaxCopies: 3}
	all := records(rng, cfg, 3000, 3)
	must(t, withIndex(engines[0], 2, cfg, all, (*Index).checked))
	for range 4 {
		all = append(all, Record{[]byte("four"), []byte("same")})
	}
	fails(t, 3, same(cfg), shares(all), "a key has 4 records, and this index takes 3 of one; "+
		"raise MaxCopies, or leave it at 0")
}

// checked is Check as withIndex wants it.
func (x *Index) checked() error { return x.Check(context.Background()) }

func TestHeapOffsets(t *testing.T) {
	defer func(most uint64) { offset4Words = most }(offset4Words)
	rng := rand.New(rand.NewPCG(11, 12))
	cfg := Config{KeySize: 8, ValueSize: 56}
	all := records(rng, cfg, 900, 3)
	m := modelOf(all)
	keys := m.keys(rng)
	hybrid := Config{KeySize: 8, ValueSize: 56, Variable: true, Storage: Hybrid, InlineBytes: 7}
	for _, c := range []struct {
		most uint64
		cfg  Config
		want int
	}{{1000, cfg, 8}, {8 * 900, cfg, 4}, {1000, hybrid, 8}, {8 * 900, hybrid, 4}} {
		offset4Words, cfg = c.most, c.cfg
		must(t, withIndex(engines[0], 2, cfg, all, func(x *Index) error {
			if got := x.t.OffsetBytes; got != c.want {
				return fmt.Errorf("offsets have %d bytes, want %d", got, c.want)
			}
			r, err := x.NewReader(Lookups{OneSided: true})
			if err != nil {
				return err
			}
			defer r.Close()
			return errors.Join(x.checked(), m.verify(x.Reader, keys),
				m.verify(r, keys))
		}))
	}
}

// TestNoMarker: when records have all keys that may mark empty slots, an inline table cannot
// be built, and one with a heap can. One free key is enough.
func TestNoMarker(t *testing.T) {
	cfg := Config{KeySize: 5, ValueSize: 1}
	var all []Record
	for i := range uint32(markers) {
		key := make([]byte, 5)
		markerKey(i, key)
		if markerNumber(key) != i {
			t.Fatalf("marker %d is %x, which has number %d", i, key, markerNumber(key))
		}
		all = append(all, Record{key, []byte{1}})
	}
	fails(t, 3, same(cfg), shares(all), "choose Heap, which needs none")
	free := all[40000].Key
	rest := append(all[:40000:40000], all[40001:]...)
	must(t, withIndex(engines[0], 3, cfg, rest, func(x *Index) error {
		if !bytes.Equal(x.t.Marker, free) {
			return fmt.Errorf("marker %x, want %x", x.t.Marker, free)
		}
		for range x.Lookup(free) {
			return errors.New("the key that marks empty slots was found")
		}
		return x.checked()
	}))
	heap := Config{KeySize: 5, ValueSize: 1, Storage: Heap}
	must(t, withIndex(engines[0], 3, heap, all, (*Index).checked))
}

// TestMemory: a build takes not more than was announced, and one that is allowed less than
// it needs fails, while records come in or after.
func TestMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, s := range shapes {
		cfg := s.cfg
		for _, n := range []int{1, 1500} {
			all := records(rng, cfg, n, 1)
			mean := 0.0
			for _, r := range all {
				mean += float64(len(r.Value)) / float64(n)
			}
			for _, ranks := range []int{1, 3} {
				announced := cfg.PeakBytes(ranks, uint64(n), mean)
				limited := cfg
				limited.MaxMemoryBytes = announced
				must(t, withIndex(engines[0], ranks, limited, all, func(x *Index) error {
					if got := x.Info().PeakBytes; got > announced || got == 0 {
						return fmt.Errorf("%s: %d bytes, %d announced", s.name, got, announced)
					}
					return nil
				}))
			}
		}
	}
	cfg := Config{KeySize: 4, ValueSize: 4, MaxMemoryBytes: 1 << 20}
	many := func(rank int) iter.Seq2[Record, error] { return words8(200_000, uint32(rank*200_000)) }
	fails(t, 3, same(cfg), many, "building takes")
	few := func(rank int) iter.Seq2[Record, error] { return words8(10_000, uint32(rank*10_000)) }
	cfg.MaxMemoryBytes, cfg.Load = 8<<20, 0.01
	fails(t, 3, same(cfg), few, "building takes")
}

func TestRefusedLookups(t *testing.T) {
	job := local.Single()
	defer job.Close()
	x, err := Build(context.Background(), job, Config{KeySize: 4, ValueSize: 4}, words8(10, 1))
	must(t, err)
	for _, c := range []struct {
		l    Lookups
		want string
	}{
		{Lookups{Depth: -1}, "Depth must be"},
		{Lookups{OneSided: true, Costs: rma.GetCosts{Ns: 1, ByteNs: -1}}, "negative"},
	} {
		_, err := x.NewReader(c.l)
		says(t, err, c.want)
	}
	for _, err := range x.Lookup([]byte("12345")) {
		says(t, err, "a key of 5 bytes; this index has keys of 4")
	}
	says(t, x.LookupBatch([]byte("12345"), nil), "this index has keys of 4")
	says(t, x.LookupKeys([][]byte{[]byte("1234"), nil}, nil), "a key of 0 bytes")
	_, _, err = x.Get(nil, nil)
	says(t, err, "a key of 0 bytes")
	strings, err := Build(context.Background(), job, Config{KeySize: 4, VariableKeys: true},
		words8(0, 1))
	must(t, err)
	says(t, strings.LookupBatch([]byte("1234"), nil), "use LookupKeys")
	says(t, strings.LookupKeys([][]byte{[]byte("12345")}, nil), "keys of at most 4")
	must(t, strings.Close(), x.Close())
	for _, err := range x.Lookup([]byte("1234")) {
		if !errors.Is(err, errClosed) {
			t.Error(err)
		}
	}
	if err := x.LookupBatch(nil, nil); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if _, err := x.NewReader(Lookups{}); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if err := x.checked(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}
